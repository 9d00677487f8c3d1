#include "app/cli/view_loop.h"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "app/cli/report.h"
#include "app/engine/clock.h"
#include "app/engine/layer_match.h"
#include "app/input/write_picture.h"

namespace convlens::cli {
namespace {

using engine::now_ms;

constexpr double refresh_interval_ms = 1000.0 / 60;
constexpr double unchanged_interval_ms = 40;   // off-screen, while no new snapshot comes
constexpr double measuring_interval_ms = 200;  // drawing would take the cores that are being measured
constexpr double idle_interval_s = 0.5;
constexpr double settle_s = 0.1;
constexpr double active_ms = 150;
constexpr double patience_ms = 120000;
constexpr int most_settling_refreshes = 60;

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

}  // namespace

ViewLoop::ViewLoop(const ViewOptions& options, interop::Interop& link, Bundled bundled,
                   commands::ViewState view, render::Renderer& renderer, engine::Engine& engine, ui::Ui& ui)
    : options_(options),
      link_(link),
      bundled_(std::move(bundled)),
      view_(std::move(view)),
      renderer_(renderer),
      engine_(engine),
      ui_(ui),
      start_ms_(now_ms()),
      scale_(renderer.content_scale() * view_.font_scale) {
    if (!options_.script.empty()) script_ = commands::Script::load(options_.script);
}

int ViewLoop::run() { return options_.headless ? run_headless() : run_window(); }

void ViewLoop::wake() {
    {
        const std::lock_guard lock(woken_mutex_);
        woken_ = true;
    }
    woken_changed_.notify_all();
    if (!options_.headless) renderer_.wake();
}

// Without a window's events: a refresh follows each snapshot at once, and comes without one when it is due.
// On software Vulkan refreshes of the same snapshot would only take the cores from the network.
void ViewLoop::wait_for_snapshot() {
    const double rest_ms = last_start_ms_ + unchanged_interval_ms - now_ms();
    std::unique_lock lock(woken_mutex_);
    if (rest_ms > 0 && engine_.newest() == snapshot_)
        woken_changed_.wait_for(lock, std::chrono::duration<double, std::milli>(rest_ms),
                                [&] { return woken_ && engine_.newest() != snapshot_; });
    woken_ = false;
}

double ViewLoop::since_start_ms() const {
    // Reproducible pictures must not depend on the clock.
    if (options_.headless && options_.sync)
        return static_cast<double>(figures_.refreshes) * refresh_interval_ms;
    return now_ms() - start_ms_;
}

bool ViewLoop::first_pass() {
    const bool ready = engine_.run_passes(1, patience_ms);
    take_messages();
    return ready;
}

int ViewLoop::run_headless() {
    if (!first_pass()) return exit_bad_usage;
    const auto frames = static_cast<std::uint64_t>(std::max(1, options_.frames));
    figures_.start_ms = now_ms();
    while (!quit_) {
        const bool script_done = !script_ || script_->done();
        if (figures_.refreshes >= frames && script_done && !busy()) break;
        if (options_.sync && figures_.refreshes > 0 && !engine_.run_passes(1, patience_ms)) {
            take_messages();
            return exit_failed;
        }
        if (!options_.sync) wait_for_snapshot();
        refresh();
    }
    figures_.end_ms = last_refresh_ms_;
    if (!options_.screenshot.empty()) {
        // Pictures that are completed over several refreshes.
        for (int i = 0; i < most_settling_refreshes && ui_.wants_refresh(); ++i) refresh();
        write_screenshot(options_.screenshot);
    }
    if (!options_.report.empty()) write_report(options_.report);
    return status_;
}

int ViewLoop::run_window() {
    figures_.start_ms = now_ms();
    while (!quit_ && !closed_) {
        if (renderer_.is_minimised()) {
            renderer_.wait_events(0.25);
            closed_ = !renderer_.begin_refresh();
            take_messages();
            continue;
        }
        wait_for_news();
        refresh();
    }
    figures_.end_ms = last_refresh_ms_;
    if (!options_.screenshot.empty()) write_screenshot(options_.screenshot);
    if (!options_.report.empty()) write_report(options_.report);
    return status_;
}

bool ViewLoop::has_news() const {
    if (ui_.wants_refresh() || now_ms() < active_until_ms_ || busy()) return true;
    if (script_ && !script_->done()) return true;
    return engine_.newest() != snapshot_;
}

// Sleeps until there is something to draw: a snapshot, an event, an animation.
void ViewLoop::wait_for_news() {
    while (!has_news()) {
        const double seconds = settle_due_ ? settle_s : idle_interval_s;
        const double before = now_ms();
        woken_ = false;
        if (engine_.newest() != snapshot_) break;
        renderer_.wait_events(seconds);
        if (woken_) continue;
        if (now_ms() - before < seconds * 950) {
            active_until_ms_ = now_ms() + active_ms;
        } else if (settle_due_) {
            settle_due_ = false;
            return;
        }
    }
    settle_due_ = true;
    const bool measuring = snapshot_ != nullptr && snapshot_->measuring && engine_.newest()->measuring;
    const double interval = measuring ? measuring_interval_ms : refresh_interval_ms;
    const double rest_ms = last_refresh_ms_ + interval - now_ms();
    if (rest_ms > 0.5) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(rest_ms));
}

ui::UiInput ViewLoop::ui_input() {
    ui::UiInput input;
    input.snapshot = snapshot_;
    input.messages = &messages_;
    input.models = bundled_.models;
    input.pictures = bundled_.pictures;
    input.now_ms = since_start_ms();
    const auto interval = figures_.interval_ms.quantiles();
    input.figures.refresh_ms = interval.median;
    input.figures.fps = interval.median > 0 ? 1000 / interval.median : 0;
    const render::RefreshFigures last = renderer_.figures();
    input.figures.draw_ms = last.gpu_window_ms;
    input.figures.atlas_ms = last.gpu_atlas_ms;
    input.figures.viewer_bytes = renderer_.memory_bytes();
    input.figures.vulkan_device = renderer_.device_text();
    const auto memory = arena();
    input.figures.interop = interop::to_string(memory->mode());
    input.figures.interop_reason = memory->reason();
    input.figures.staging_bytes = memory->staging_bytes();
    input.figures.copied_bytes = figures_.copied_per_refresh.quantiles().median;
    input.figures.copied_ms = figures_.fetch_ms.size() > 0 ? figures_.fetch_ms.quantiles().median : -1;
    return input;
}

void ViewLoop::refresh() {
    const double started = last_start_ms_ = now_ms();
    if (!renderer_.begin_refresh()) {
        closed_ = true;
        return;
    }
    const float scale = renderer_.content_scale() * view_.font_scale;
    if (scale != scale_) {
        scale_ = scale;
        ui_.set_scale(scale);
        renderer_.upload_fonts();
    }
    snapshot_ = engine_.begin_read();
    take_messages();
    take_dropped();
    follow_network();
    run_script();
    ImGui::NewFrame();
    const auto lines = ui_.draw(ui_input(), view_, renderer_);
    ImGui::Render();
    if (!(ui_.wanted_values() == wanted_values_)) {
        wanted_values_ = ui_.wanted_values();
        engine_.want_values(wanted_values_.generation, wanted_values_.tensor, wanted_values_.offsets);
    }
    const auto finished = renderer_.end_refresh(ImGui::GetDrawData(), snapshot_->written);
    // Until then shaders read the arena. Waiting here keeps one refresh in flight: on software Vulkan the
    // processor draws, and a second one would only lengthen the latency. A GPU that computes in the same
    // memory waits by itself.
    if (arena()->mode() != interop::Mode::shared) finished();
    engine_.end_read(interop::Interop::reader(snapshot_->memory, renderer_, finished));
    keep_figures(started);
    write_files();
    if (!lines.empty()) command_ms_ = started;
    run_commands(lines);
}

// A network that was planned anew keeps the layer that was selected, by name; the engine does the same.
void ViewLoop::follow_network() {
    if (snapshot_->network == nullptr || snapshot_->network == shown_network_) return;
    const auto before = std::exchange(shown_network_, snapshot_->network);
    if (before != nullptr && before->generation == shown_network_->generation) return;
    const bool same_model = before != nullptr && before->model_path == shown_network_->model_path;
    const int layer = engine::matching_layer(before.get(), view_.layer, *shown_network_);
    if (same_model && layer == view_.layer && snapshot_->statistics_layer == layer) return;
    view_.layer = layer;
    view_.probe.reset();
    if (!same_model) {
        view_.map = -1;
        view_.wall_zoom = 1;
        view_.wall_x = view_.wall_y = 0;
    }
    engine_.select(view_.layer, view_.map);
}

void ViewLoop::run_script() {
    if (!script_ || script_->done()) return;
    commands::CommandContext context{engine_, view_, *this, snapshot_};
    try {
        script_->advance(context, now_ms());
    } catch (const Error& error) {
        if (!options_.headless) {
            say(engine::Message::Kind::error, error.what());
            script_.reset();
            return;
        }
        engine_.end_read();
        throw;
    }
}

void ViewLoop::run_commands(const std::vector<std::string>& lines) {
    commands::CommandContext context{engine_, view_, *this, snapshot_};
    for (const auto& line : lines) {
        try {
            commands::run_line(context, line);
        } catch (const std::exception& error) {
            say(engine::Message::Kind::error, error.what());
        }
    }
}

void ViewLoop::take_dropped() {
    std::vector<std::string> lines;
    for (const auto& file : renderer_.take_dropped_files()) lines.push_back("drop " + quoted(file));
    run_commands(lines);
}

void ViewLoop::say(engine::Message::Kind kind, const std::string& text) {
    messages_.push_back({kind, text, since_start_ms()});
    if (options_.headless || options_.verbose) std::fprintf(stderr, "convlens: %s\n", text.c_str());
}

void ViewLoop::take_messages() {
    for (const auto& message : engine_.take_messages()) say(message.kind, message.text);
}

std::vector<std::string> ViewLoop::messages() const {
    std::vector<std::string> texts;
    for (const auto& message : messages_) texts.push_back(message.text);
    return texts;
}

void ViewLoop::keep_figures(double started_ms) {
    const double now = now_ms();
    if (last_refresh_ms_ > 0) figures_.interval_ms.add(now - last_refresh_ms_);
    last_refresh_ms_ = now;
    const render::RefreshFigures last = renderer_.figures();
    // A refresh that nobody waited for is done when the GPU has drawn it: about as long as the one before.
    const bool drawn = arena()->mode() != interop::Mode::shared;
    const double done =
        drawn ? now : now + std::max(0.0, last.gpu_window_ms) + std::max(0.0, last.gpu_atlas_ms);
    if (command_ms_ > 0 && command_ms_ < started_ms) figures_.latencies_ms.push_back(done - command_ms_);
    command_ms_ = 0;
    figures_.draw_cpu_ms.add(last.cpu_ms);
    if (last.gpu_window_ms >= 0) figures_.window_gpu_ms.add(last.gpu_window_ms);
    if (last.gpu_atlas_ms >= 0) figures_.atlas_gpu_ms.add(last.gpu_atlas_ms);
    if (snapshot_->pass == 0) return;
    ++figures_.refreshes;
    figures_.upload_bytes += last.upload_bytes;
    figures_.copied_bytes += last.copied_bytes;
    if (last.copied_bytes > 0) {
        figures_.copied_per_refresh.add(static_cast<double>(last.copied_bytes));
        if (last.fetch_ms > 0) figures_.fetch_ms.add(last.fetch_ms);
    }
    if (snapshot_->pass == shown_pass_) return;
    if (figures_.first_pass == 0) figures_.first_pass = snapshot_->pass;
    figures_.last_pass = shown_pass_ = snapshot_->pass;
    figures_.snapshot_bytes += snapshot_bytes(*snapshot_);
    // The first refresh compiles pipelines and fills all pictures; --sync waits for each pass.
    if (figures_.refreshes > 1 && !options_.sync && snapshot_->input_at_ms > 0)
        figures_.latencies_ms.push_back(done - snapshot_->input_at_ms);
}

void ViewLoop::screenshot(const std::string& path) {
    wanted_files_.push_back({path, false, engine_.requests(), 0});
}

void ViewLoop::report(const std::string& path) {
    wanted_files_.push_back({path, true, engine_.requests(), 0});
}

void ViewLoop::set_interop(const std::string& way) {
    const auto request = interop::parse_request(way);
    if (!request)
        throw Error(Status::bad_parameter, "interop: " + way + " is not one of shared, staged, auto");
    engine_.set_allocator(link_.switch_to(*request));
}

std::shared_ptr<const interop::ArenaAllocator> ViewLoop::arena() const {
    if (snapshot_ != nullptr)
        if (auto memory = std::dynamic_pointer_cast<const interop::ArenaAllocator>(snapshot_->memory))
            return memory;
    return link_.arena();
}

void ViewLoop::resize(int width, int height) { renderer_.resize(width, height); }

// Files that were asked for are written once the refresh shows all that was asked for before.
void ViewLoop::write_files() {
    while (!wanted_files_.empty()) {
        WantedFile& file = wanted_files_.front();
        // A new size shows from the refresh after the one that asked for it.
        const bool asked_in_this_refresh = file.refreshes++ == 0;
        const bool taken_up = snapshot_->requests >= file.requests;
        const bool complete = !ui_.wants_refresh() || file.refreshes > most_settling_refreshes;
        if (asked_in_this_refresh || !taken_up || !complete) return;
        const WantedFile wanted = file;
        wanted_files_.erase(wanted_files_.begin());
        try {
            if (wanted.is_report)
                write_report(wanted.path);
            else
                write_screenshot(wanted.path);
        } catch (const Error& error) {
            say(engine::Message::Kind::error, error.what());
            if (options_.headless) status_ = exit_failed;
        }
    }
}

void ViewLoop::write_screenshot(const std::string& path) {
    input::write_png(path, renderer_.width(), renderer_.height(), renderer_.read_pixels());
}

void ViewLoop::write_report(const std::string& path) {
    ReportInput input;
    input.vulkan_device = renderer_.device_text();
    const auto memory = arena();
    input.interop = interop::to_string(memory->mode());
    input.interop_reason = memory->reason();
    input.staging_bytes = memory->staging_bytes();
    input.width = renderer_.width();
    input.height = renderer_.height();
    input.synchronous = options_.headless && options_.sync;
    ViewFigures figures = figures_;
    if (figures.end_ms == 0) figures.end_ms = last_refresh_ms_;
    input.figures = &figures;
    input.view = &view_;
    input.snapshot = snapshot_ != nullptr ? snapshot_ : engine_.newest();
    input.viewer_bytes = renderer_.memory_bytes();
    input.validation_messages = renderer_.figures().validation_messages;
    input.messages = messages();
    write_text(path, view_report(input));
}

}  // namespace convlens::cli
