// The engine: its own thread that takes the newest frame, runs the network, and publishes snapshots.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/arena_exchange.h"
#include "app/engine/snapshot.h"

namespace convlens::engine {

struct EngineOptions {
    // Where networks run; used by the engine's thread alone from now on. Null: the processor, with these
    // threads.
    std::shared_ptr<Context> context;
    int threads = 0;
    int nice = 10;
    int arenas = 2;
    std::shared_ptr<network::Allocator> allocator;  // null: plain memory of the context
    std::uint64_t seed = 1;
    bool stepped = false;  // --sync: a pass runs only when asked for by run_passes()
    std::function<void()>
        on_published;  // engine's thread: a new snapshot or message is there (wakes a window)
};

class Engine {
  public:
    explicit Engine(const EngineOptions& options);
    ~Engine();  // cancels a running measurement and joins

    // Every change is a request that the thread takes up before its next pass; requests of one kind that are
    // overtaken are dropped, newest wins. A request that fails leaves everything as it was and posts a
    // message.
    void open_model(const std::string& path);
    void open_input(const std::string& source);
    void set_frame(input::FramePtr frame);
    void step_input(int direction);  // folder: next, previous picture
    void set_mode(network::Mode mode);
    // Other memory for activations, from the next plan on, which is made at once; null: plain memory.
    void set_allocator(std::shared_ptr<network::Allocator> allocator);
    void set_algorithm(const std::string& layer,
                       const std::string& algorithm);  // layer "*": all; algorithm "auto"
    void measure_layer(const std::string& layer);      // the finder on this layer
    void cancel_measure();
    void set_side_limit(int pixels);           // longer side of the picture for networks of any size
    void select(int layer, std::int64_t map);  // whose statistics the snapshots carry
    // Single values of a tensor that the window shows as numbers, where it can't read the memory itself:
    // offsets from the tensor's element 0. Snapshots carry them until others are wanted. Of another network
    // than `generation`: ignored.
    void want_values(std::uint64_t generation, int tensor, std::vector<std::int64_t> offsets);
    void set_paused(bool paused);
    void step();  // one pass while paused
    void reset_times();

    // The newest snapshot (never null; pass 0 before the first). Between begin_read and end_read its arena is
    // not written. end_read takes a fence: called by the engine's thread before it writes that arena again;
    // it returns when the reader is done (e.g. the GPU has finished the refresh). Window thread; never waits
    // for a pass.
    SnapshotPtr begin_read();
    SnapshotPtr newest() const;  // to look at figures, not at maps: its arena may be written at any time
    void end_read(std::function<void()> reader_done = {});

    // Waits until all requests so far are taken up and `passes` passes have finished after them. False: not
    // within timeout_ms.
    bool run_passes(int passes, double timeout_ms = 60000);
    std::vector<Message> take_messages();  // since the last call
    bool idle() const;                     // paused or nothing new to compute
    // Number of requests made so far; a snapshot with Snapshot::requests of at least this has taken them up.
    std::uint64_t requests() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convlens::engine
