// Passes, what is said about them, and measurements.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "app/engine/clock.h"
#include "app/engine/engine_thread.h"
#include "app/engine/layer_match.h"

namespace convlens::engine {

std::uint64_t Engine::Impl::taken_up() const {
    const std::lock_guard lock(mutex);
    return taken;
}

void Engine::Impl::poll_source() {
    if (source == nullptr || !source->is_live() || session == nullptr) return;
    auto newest = source->current();
    if (newest == nullptr || (session->frame() != nullptr && newest->number == session->frame()->number))
        return;
    const double arrived = newest->arrived_ms;
    if (session->take_frame(std::move(newest))) changed_at_ms = arrived;
}

// In the order that the readers of its memory keep. What is published has been computed: a refresh of it
// never waits for compute, and a failure on the device belongs to the pass that it happened in.
void Engine::Impl::run(Session& running, int arena) {
    {
        const auto& allocator = running.options().allocator;
        const network::ComputeWrites writes(allocator != nullptr ? allocator->timeline() : nullptr);
        running.run(arena);
    }
    context.synchronize();
}

bool Engine::Impl::pass() {
    bool published = false;
    try {
        if (next != nullptr) {
            first_pass();
        } else {
            poll_source();
            const int arena = exchange.begin_write();
            if (arena < 0) return false;
            const double start = now_ms();
            run(*session, arena);
            count_pass(*session);
            input_at_ms = changed_at_ms > 0 ? changed_at_ms : start;
            exchange.publish(describe(*session));
        }
        published = true;
        changed_at_ms = 0;
        notify();
    } catch (const std::exception& error) {
        say(Message::Kind::error, error.what());
        if (next != nullptr)
            next.reset();
        else
            broken = true;
        if (session == nullptr) broken = true;
    }
    passes_due = std::max(0, passes_due - 1);
    steps_due = std::max(0, steps_due - 1);
    refresh_due = false;
    return published;
}

void Engine::Impl::count_pass(const Session& passed) {
    ++pass_number;
    if (values_generation == passed.generation() && values_version == passed.data_version()) return;
    values_generation = passed.generation();
    values_version = passed.data_version();
    ++values_number;
}

// The new network computes in memory of its own before it replaces the one that is shown: the window never
// sees an empty moment, and a network that fails leaves all as it was.
void Engine::Impl::first_pass() {
    const double start = now_ms();
    run(*next, 0);
    const auto shown = session != nullptr ? session->info(selection, false) : nullptr;
    const auto info = next->info(selection, false);
    const bool same_model = shown != nullptr && shown->model_path == info->model_path;
    Selection matched{matching_layer(shown.get(), selection.layer, *info), same_model ? selection.map : -1};
    std::swap(selection, matched);
    count_pass(*next);
    input_at_ms = changed_at_ms > 0 ? changed_at_ms : start;
    try {
        auto snapshot = describe(*next);
        exchange.retire_all(std::move(snapshot));
    } catch (...) {
        selection = matched;
        throw;
    }
    session = std::move(next);
}

std::shared_ptr<Snapshot> Engine::Impl::describe(Session& shown) {
    auto snapshot = std::make_shared<Snapshot>();
    shown.fill(*snapshot, selection, options.stepped);
    interpret(shown);
    if (changed_at_ms > 0) input_to_result_ms = now_ms() - changed_at_ms;
    snapshot->memory = shown.options().allocator;
    if (network::Timeline* timeline = snapshot->memory ? snapshot->memory->timeline() : nullptr)
        snapshot->written = timeline->written();
    constexpr double health_interval_ms = 1000;
    if (now_ms() - health_read_ms > health_interval_ms) {
        health_read_ms = now_ms();
        health = context.health();
    }
    snapshot->health = health;
    snapshot->outputs = outputs;
    snapshot->values = values_number;
    snapshot->pass = pass_number;
    snapshot->paused = paused;
    snapshot->measuring = measuring || measure_due.has_value();
    snapshot->input_text = input_text();
    if (source != nullptr) snapshot->input_source = source->text();
    snapshot->input_to_result_ms = input_to_result_ms;
    snapshot->input_at_ms = input_at_ms;
    snapshot->requests = shown_requests = taken_up();
    return snapshot;
}

void Engine::Impl::publish_again() {
    if (session != nullptr && session->last_arena() >= 0 && next == nullptr) {
        const double unshown = std::exchange(changed_at_ms, 0);
        exchange.replace(describe(*session));
        changed_at_ms = unshown;
    } else {
        auto snapshot = std::make_shared<Snapshot>(*exchange.newest());
        snapshot->paused = paused;
        snapshot->measuring = measuring || measure_due.has_value();
        // What waits for the first pass of a new network is not shown yet.
        if (next == nullptr) shown_requests = taken_up();
        snapshot->requests = shown_requests;
        exchange.replace(std::move(snapshot));
    }
    notify();
}

std::string Engine::Impl::input_text() const {
    if (source == nullptr) return current() != nullptr ? current()->frame()->name : "";
    if (source->count() <= 1) return source->current()->name;
    std::filesystem::path folder = std::filesystem::path(source->text()).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    return folder.filename().string() + "/ " + std::to_string(source->position() + 1) + " of " +
           std::to_string(source->count());
}

void Engine::Impl::take_error() {
    try {
        if (session->take_error(selection.layer)) publish_again();
    } catch (const std::exception& error) {
        say(Message::Kind::warning, error.what());
    }
}

void Engine::Impl::publish_progress(double progress) {
    auto snapshot = std::make_shared<Snapshot>(*exchange.newest());
    snapshot->measuring = true;
    snapshot->measure_progress = progress;
    exchange.replace(std::move(snapshot));
    notify();
}

void Engine::Impl::measure() {
    constexpr double shown_every_ms = 60;
    const std::string name = *std::exchange(measure_due, std::nullopt);
    if (measures_cancelled >= measure_number) return;
    const auto& layers = session->executor().layers();
    const auto found =
        std::find_if(layers.begin(), layers.end(), [&](const network::Layer& l) { return l.name == name; });
    if (found == layers.end()) {
        say(Message::Kind::error, "measure: " + session->model()->name() + " has no layer " + name +
                                      " in this mode; the table of layers shows the names");
        return;
    }
    FindOptions find_options;
    find_options.seed = options.seed;
    find_options.user = this;
    find_options.cancelled = [](void* user) {
        auto& engine = *static_cast<Impl*>(user);
        const double now = now_ms();
        if (now - engine.measure_shown_ms > shown_every_ms) {
            engine.measure_shown_ms = now;
            engine.publish_progress(
                std::min(0.99, (now - engine.measure_start_ms) / FindOptions{}.budget_ms));
        }
        return engine.measures_cancelled >= engine.measure_number;
    };
    measuring = true;
    measure_start_ms = measure_shown_ms = now_ms();
    publish_progress(0);
    const int layer = static_cast<int>(found - layers.begin());
    try {
        session->keep_findings(layer,
                               session->executor().measure_layer(layer, session->last_arena(), find_options));
        if (measures_cancelled >= measure_number)
            say(Message::Kind::info, "The measurement of " + name + " was stopped early");
    } catch (const std::exception& error) {
        say(Message::Kind::error, error.what());
    }
    measuring = false;
    publish_again();
}

// Outputs change only with the values in the tensors.
void Engine::Impl::interpret(Session& shown) {
    if (outputs_generation == shown.generation() && outputs_version == shown.data_version()) return;
    outputs_generation = shown.generation();
    outputs_version = shown.data_version();
    try {
        outputs = shown.outputs();
    } catch (const std::exception& error) {
        outputs = {};
        say(Message::Kind::warning, error.what());
    }
    if (faces_frame == shown.frame() && faces_model == shown.model()) outputs.boxes = found_faces;
}

// A finder of faces judges one scale in the running network; boxes and points come from the whole pipeline,
// once for each frame.
void Engine::Impl::find_faces() {
    if (faces_model != session->model()) {
        faces_model = session->model();
        faces_frame.reset();
        found_faces.clear();
        for (const auto& text : session->meaning().messages) say(Message::Kind::warning, text);
        std::string text;
        try {
            faces = FaceFinder::for_model(faces_model, text);
        } catch (const std::exception& error) {
            faces.reset();
            text = error.what();
        }
        if (!text.empty()) say(Message::Kind::warning, text);
    }
    if (faces == nullptr || faces_frame == session->frame()) return;
    faces_frame = session->frame();
    try {
        found_faces = faces->find(context, *faces_frame);
    } catch (const std::exception& error) {
        found_faces.clear();
        say(Message::Kind::warning, error.what());
    }
    outputs.boxes = found_faces;
    publish_again();
}

}  // namespace convlens::engine
