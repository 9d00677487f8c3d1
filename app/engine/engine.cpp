#include "app/engine/engine.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <utility>

#include "app/engine/clock.h"
#include "app/engine/engine_thread.h"

namespace convlens::engine {

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;

Engine::Impl::Impl(const EngineOptions& engine_options)
    : options(engine_options),
      context_owner(engine_options.context != nullptr
                        ? engine_options.context
                        : std::make_shared<Context>(ContextOptions{.backend = Backend::cpu,
                                                                   .threads = engine_options.threads,
                                                                   .nice = engine_options.nice})),
      context(*context_owner),
      exchange(engine_options.arenas) {
    first_options.arenas = options.arenas;
    first_options.allocator = options.allocator;
    exchange.publish(std::make_shared<Snapshot>());
    thread = std::thread([this] {
        // Of this thread alone: the window's keeps its priority.
        if (options.nice != 0)
            setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), options.nice);
        loop();
    });
}

Engine::Impl::~Impl() {
    {
        const std::lock_guard lock(mutex);
        stopping = true;
    }
    measures_cancelled = std::numeric_limits<std::uint64_t>::max();
    exchange.stop();
    changed.notify_all();
    thread.join();
    exchange.wait_for_readers();
}

void Engine::open_model(const std::string& path) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        r.model = path;
        // What was asked of the model before doesn't concern this one.
        r.algorithms.clear();
        r.measure.reset();
        r.selection.reset();
        r.input_at_ms = at;
        impl_->measures_cancelled = impl_->measures_posted;
    });
}

void Engine::open_input(const std::string& source) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        r.input = source;
        r.frame.reset();
        r.input_steps = 0;
        r.input_at_ms = at;
    });
}

void Engine::set_frame(input::FramePtr frame) {
    const double at = frame->arrived_ms > 0 ? frame->arrived_ms : now_ms();
    impl_->post([&](Requests& r) {
        r.frame = std::move(frame);
        r.input.reset();
        r.input_steps = 0;
        r.input_at_ms = at;
    });
}

void Engine::step_input(int direction) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        r.input_steps += direction;
        r.input_at_ms = at;
    });
}

void Engine::set_mode(network::Mode mode) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        r.mode = mode;
        r.input_at_ms = at;
    });
}

void Engine::set_allocator(std::shared_ptr<network::Allocator> allocator) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        r.allocator = std::move(allocator);
        r.input_at_ms = at;
    });
}

void Engine::set_algorithm(const std::string& layer, const std::string& algorithm) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        // "*" overtakes whatever was asked of single layers.
        std::erase_if(r.algorithms,
                      [&](const auto& request) { return layer == "*" || request.first == layer; });
        r.algorithms.emplace_back(layer, algorithm);
        r.input_at_ms = at;
    });
}

void Engine::measure_layer(const std::string& layer) {
    impl_->post([&](Requests& r) {
        r.measure = layer;
        r.measure_number = ++impl_->measures_posted;
    });
}

void Engine::cancel_measure() {
    impl_->post([&](Requests& r) {
        r.measure.reset();
        impl_->measures_cancelled = impl_->measures_posted;
    });
}

void Engine::set_side_limit(int pixels) {
    const double at = now_ms();
    impl_->post([&](Requests& r) {
        r.side_limit = pixels;
        r.input_at_ms = at;
    });
}

void Engine::select(int layer, std::int64_t map) {
    impl_->post([&](Requests& r) { r.selection = Selection{layer, map}; });
}

void Engine::want_values(std::uint64_t generation, int tensor, std::vector<std::int64_t> offsets) {
    impl_->post([&](Requests& r) { r.wanted = WantedValues{generation, tensor, std::move(offsets)}; });
}

void Engine::set_paused(bool paused) {
    impl_->post([&](Requests& r) {
        r.paused = paused;
        if (!paused) r.steps = 0;
    });
}

void Engine::step() {
    impl_->post([](Requests& r) { ++r.steps; });
}

void Engine::reset_times() {
    impl_->post([](Requests& r) { r.reset_times = true; });
}

SnapshotPtr Engine::begin_read() { return impl_->exchange.begin_read(); }
SnapshotPtr Engine::newest() const { return impl_->exchange.newest(); }
void Engine::end_read(std::function<void()> reader_done) { impl_->exchange.end_read(std::move(reader_done)); }

bool Engine::run_passes(int passes, double timeout_ms) { return impl_->run_passes(passes, timeout_ms); }

bool Engine::Impl::run_passes(int passes, double timeout_ms) {
    const std::uint64_t ticket = post([&](Requests& r) {
        r.passes = std::max(r.passes, passes);
        passes_failed = false;
    });
    std::unique_lock lock(mutex);
    const bool in_time = done.wait_for(lock, std::chrono::duration<double, std::milli>(timeout_ms),
                                       [&] { return stopping || (finished >= ticket && passes_left == 0); });
    return in_time && !stopping && !passes_failed;
}

std::vector<Message> Engine::take_messages() {
    const std::lock_guard lock(impl_->mutex);
    return std::exchange(impl_->messages, {});
}

bool Engine::idle() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->posted == impl_->finished && !impl_->busy;
}

std::uint64_t Engine::requests() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->posted;
}

void Engine::Impl::say(Message::Kind kind, const std::string& text) {
    {
        const std::lock_guard lock(mutex);
        messages.push_back({kind, text, now_ms()});
    }
    notify();
}

void Engine::Impl::notify() const {
    if (options.on_published) options.on_published();
}

bool Engine::Impl::must_run() const {
    if (current() == nullptr || broken) return false;
    if (passes_due > 0 || steps_due > 0) return true;
    if (options.stepped) return false;
    return refresh_due || !paused;
}

void Engine::Impl::turn(bool asked, Requests& requests) {
    if (asked) take_up(requests);
    const bool published = must_run() && pass();
    if (session != nullptr && next == nullptr && session->last_arena() >= 0) {
        if (measure_due) measure();
        find_faces();
        take_error();
    }
    if (asked && !published) publish_again();
}

void Engine::Impl::loop() {
    for (;;) {
        Requests requests;
        bool asked = false;
        std::uint64_t ticket = 0;
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return stopping || posted != taken || must_run(); });
            if (stopping) return;
            asked = posted != taken;
            requests = std::exchange(pending, {});
            ticket = taken = posted;
        }
        try {
            turn(asked, requests);
        } catch (const std::exception& error) {
            // Want of memory in what surrounds a pass: the program goes on with what it shows.
            say(Message::Kind::error, error.what());
            broken = true;
        }
        {
            const std::lock_guard lock(mutex);
            if (current() == nullptr || broken) {
                if (passes_due > 0) passes_failed = true;
                passes_due = steps_due = 0;
            }
            finished = ticket;
            passes_left = passes_due;
            busy = must_run();
        }
        done.notify_all();
    }
}

}  // namespace convlens::engine
