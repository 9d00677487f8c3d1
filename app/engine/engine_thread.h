// The engine's thread: requests in, snapshots out. Everything but the requests, the messages and the exchange
// belongs to the thread alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/faces.h"
#include "app/engine/session.h"
#include "app/input/source.h"

namespace convlens::engine {

struct WantedValues {
    std::uint64_t generation = 0;
    int tensor = -1;
    std::vector<std::int64_t> offsets;
};

// What was asked for since the thread looked last; of one kind the newest stands.
struct Requests {
    std::optional<std::string> model, input;
    input::FramePtr frame;
    int input_steps = 0;
    std::optional<network::Mode> mode;
    std::optional<std::shared_ptr<network::Allocator>> allocator;
    std::optional<int> side_limit;
    std::vector<std::pair<std::string, std::string>> algorithms;  // layer, algorithm; one entry a layer
    std::optional<std::string> measure;
    std::uint64_t measure_number = 0;
    std::optional<Selection> selection;
    std::optional<WantedValues> wanted;
    std::optional<bool> paused;
    int steps = 0;
    int passes = 0;  // of run_passes
    bool reset_times = false;
    double input_at_ms = 0;  // of the newest request that changes what is computed; 0: none
};

struct Engine::Impl {
    explicit Impl(const EngineOptions& engine_options);
    ~Impl();

    // Any thread.
    template <class Edit>
    std::uint64_t post(const Edit& edit) {
        std::uint64_t ticket = 0;
        {
            const std::lock_guard lock(mutex);
            edit(pending);
            ticket = ++posted;
        }
        changed.notify_all();
        return ticket;
    }
    bool run_passes(int passes, double timeout_ms);
    void say(Message::Kind kind, const std::string& text);

    // The engine's thread.
    void loop();
    void turn(bool asked, Requests& requests);  // of the loop: what was asked for, and at most one pass
    bool must_run() const;
    Session* current() const { return next != nullptr ? next.get() : session.get(); }
    void take_up(Requests& requests);
    void take_up_network(Requests& requests);
    void take_up_algorithms(const Requests& requests);
    struct Change;
    bool apply(Change& change);
    void plan(const Change& change);
    void pin_selection();
    bool pass();  // true: it was published
    void run(Session& running, int arena);
    void first_pass();
    void poll_source();
    void take_error();
    void find_faces();
    void measure();
    std::shared_ptr<Snapshot> describe(Session& shown);
    void count_pass(const Session& passed);  // after each pass, before its snapshot
    void interpret(Session& shown);
    void publish_again();
    void publish_progress(double progress);
    std::string input_text() const;
    void notify() const;
    std::uint64_t taken_up() const;

    const EngineOptions options;
    const std::shared_ptr<Context> context_owner;
    Context& context;
    ArenaExchange exchange;

    mutable std::mutex mutex;
    std::condition_variable changed;  // requests for the thread
    std::condition_variable done;     // requests taken up, passes finished
    Requests pending;
    std::uint64_t posted = 0, taken = 0, finished = 0;
    bool stopping = false;
    bool busy = false;  // must_run() at the end of the last turn
    int passes_left = 0;
    bool passes_failed = false;
    std::vector<Message> messages;
    std::uint64_t measures_posted = 0;
    std::atomic<std::uint64_t> measures_cancelled{0};  // this one and all before

    // The thread's own.
    std::shared_ptr<const network::Model> waiting_model;  // until there is a picture too
    input::FramePtr waiting_frame;                        // until there is a model too
    SessionOptions first_options;
    std::unique_ptr<input::Source> source;  // null: frames come by set_frame
    std::unique_ptr<Session> session;       // published
    std::unique_ptr<Session> next;          // planned; replaces `session` with its first pass
    Selection selection;                    // of `session`
    bool paused = false;
    bool broken = false;       // the last pass failed: not again before something changes
    bool refresh_due = false;  // paused, and what is shown no longer fits what was asked for
    int passes_due = 0, steps_due = 0;
    std::uint64_t pass_number = 0;
    double changed_at_ms = 0;  // of a request that no pass has shown yet; 0: none
    double input_at_ms = 0, input_to_result_ms = 0;
    std::uint64_t shown_requests = 0;
    std::optional<std::string> measure_due;
    std::uint64_t measure_number = 0;
    bool measuring = false;
    std::optional<DeviceHealth> health;
    double health_read_ms = -1e9;
    double measure_shown_ms = 0, measure_start_ms = 0;
    Outputs outputs;
    std::uint64_t outputs_generation = 0, outputs_version = 0;
    // Rises when a pass was over other data or by another plan than the one before.
    std::uint64_t values_number = 0, values_generation = 0, values_version = 0;
    std::shared_ptr<const network::Model> faces_model;  // that `faces` was asked for
    std::unique_ptr<FaceFinder> faces;                  // null: this model finds none
    input::FramePtr faces_frame;
    std::vector<FoundBox> found_faces;
    std::thread thread;
};

}  // namespace convlens::engine
