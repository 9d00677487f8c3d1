// Requests as the engine's thread takes them up: either all of one succeeds, or nothing changes and a message
// says why.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "app/engine/clock.h"
#include "app/engine/engine_thread.h"
#include "app/engine/layer_match.h"

namespace convlens::engine {

// A wanted state of the network.
struct Engine::Impl::Change {
    std::shared_ptr<const network::Model> model;
    input::FramePtr frame;
    SessionOptions options;
    bool needs_plan = false;
    bool has_frame = false;
};

void Engine::Impl::take_up(Requests& requests) {
    broken = false;
    if (requests.paused) paused = *requests.paused;
    if (!options.stepped) steps_due += requests.steps;
    passes_due = std::max(passes_due, requests.passes);
    if (requests.selection) selection = *requests.selection;
    if (requests.measure) {
        measure_due = requests.measure;
        measure_number = requests.measure_number;
    }
    const double before = changed_at_ms;
    changed_at_ms = requests.input_at_ms > 0 ? requests.input_at_ms : changed_at_ms;
    const Session* session_before = current();
    const std::uint64_t version_before = session_before != nullptr ? session_before->data_version() : 0;
    if (requests.wanted && session != nullptr && session->generation() == requests.wanted->generation)
        session->want_values(requests.wanted->tensor, std::move(requests.wanted->offsets));
    take_up_network(requests);
    take_up_algorithms(requests);
    pin_selection();
    if (requests.reset_times && current() != nullptr) current()->timer().reset();
    const bool altered =
        current() != session_before || (current() != nullptr && current()->data_version() != version_before);
    if (!altered) changed_at_ms = before;
    if (altered && paused) refresh_due = true;
}

void Engine::Impl::take_up_network(Requests& requests) {
    Session* base = current();
    Change change;
    change.model = base != nullptr ? base->model() : waiting_model;
    change.frame = base != nullptr ? base->frame() : waiting_frame;
    change.options = base != nullptr ? base->options() : first_options;
    const Change old = change;
    std::unique_ptr<input::Source> opened;

    if (requests.mode) change.options.mode = *requests.mode;
    if (requests.allocator) change.options.allocator = *requests.allocator;
    if (requests.side_limit) change.options.side_limit = *requests.side_limit;
    change.needs_plan = change.options.mode != old.options.mode ||
                        change.options.side_limit != old.options.side_limit ||
                        change.options.allocator != old.options.allocator ||
                        (base == nullptr && (requests.model || requests.input || requests.frame));
    bool has_model = false;
    try {
        if (requests.model) {
            change.model = network::Model::load(*requests.model);
            change.options.algorithms.clear();
            has_model = change.needs_plan = true;
        }
    } catch (const std::exception& error) {
        say(Message::Kind::error, error.what());
    }
    try {
        if (requests.frame != nullptr) {
            change.frame = requests.frame;
            change.has_frame = true;
        } else if (requests.input) {
            opened = input::open_source(*requests.input, this->options.seed);
            change.frame = opened->current();
            change.has_frame = true;
        }
        input::Source* stepped = opened != nullptr ? opened.get() : source.get();
        for (int i = 0; stepped != nullptr && i < std::abs(requests.input_steps); ++i) {
            if (!stepped->step(requests.input_steps > 0 ? 1 : -1)) break;
            change.frame = stepped->current();
            change.has_frame = true;
        }
    } catch (const std::exception& error) {
        say(Message::Kind::error, error.what());
        change.frame = old.frame;
        change.has_frame = false;
        opened.reset();
    }

    bool applied = apply(change);
    if (!applied && has_model && change.has_frame) {
        // The picture may be good although the model is not.
        change.model = old.model;
        change.options = old.options;
        change.needs_plan = base == nullptr;
        applied = apply(change);
    }
    if (applied && opened != nullptr) source = std::move(opened);
    if (applied && requests.frame != nullptr) source.reset();
}

// True when the change is in force (or waits for its other half).
bool Engine::Impl::apply(Change& change) {
    try {
        if (change.model == nullptr || change.frame == nullptr) {
            waiting_model = change.model;
            waiting_frame = change.frame;
            first_options = change.options;
            return true;
        }
        if (!change.needs_plan && change.has_frame)
            change.needs_plan = current() == nullptr || !current()->take_frame(change.frame);
        if (change.needs_plan) plan(change);
        return true;
    } catch (const std::exception& error) {
        say(Message::Kind::error, error.what());
        return false;
    }
}

void Engine::Impl::plan(const Change& change) {
    SessionOptions wanted = change.options;
    wanted.pinned.clear();
    const auto make = [&] { return std::make_unique<Session>(context, change.model, wanted, change.frame); };
    std::unique_ptr<Session> planned;
    try {
        planned = make();
    } catch (const Error& error) {
        // A layer may not exist in the other mode, or an algorithm not fit the new size.
        if (wanted.algorithms.empty()) throw;
        wanted.algorithms.clear();
        planned = make();
        say(Message::Kind::warning, std::string("The chosen algorithms were reset: ") + error.what());
    }
    if (wanted.mode == network::Mode::lean) {
        const auto shown = session != nullptr ? session->info(selection, false) : nullptr;
        const auto info = planned->info(selection, false);
        const int layer = matching_layer(shown.get(), selection.layer, *info);
        if (!planned->shows(layer)) {
            for (const int tensor : info->layers[static_cast<std::size_t>(layer)].outputs)
                wanted.pinned.insert(info->tensors[static_cast<std::size_t>(tensor)].name);
            planned = make();
        }
    }
    next = std::move(planned);
}

// Lean mode keeps only what is pinned: the selected layer's outputs, so that the window can show them.
void Engine::Impl::pin_selection() {
    if (session == nullptr || next != nullptr || session->shows(selection.layer)) return;
    const auto info = session->info(selection, false);
    const auto& outputs_of_layer = info->layers[static_cast<std::size_t>(selection.layer)].outputs;
    Change change{session->model(), session->frame(), session->options(), true, false};
    const std::string& name = info->tensors[static_cast<std::size_t>(outputs_of_layer[0])].name;
    if (change.options.pinned.count(name) > 0) return;
    apply(change);
}

void Engine::Impl::take_up_algorithms(const Requests& requests) {
    for (const auto& [layer, algorithm] : requests.algorithms) {
        try {
            if (current() == nullptr)
                throw Error(Status::bad_parameter, "no network is running; open a model first");
            current()->set_algorithm(layer, algorithm);
        } catch (const std::exception& error) {
            say(Message::Kind::error, error.what());
        }
    }
}

}  // namespace convlens::engine
