#include "app/cli/view.h"

#include <imgui.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "app/cli/assets.h"
#include "app/cli/devices.h"
#include "app/cli/view_loop.h"
#include "app/cli/window_state.h"
#include "app/input/source.h"
#include "app/interop/interop.h"

namespace convlens::cli {
namespace {

// Of the threads that compute: the window stays fluent.
constexpr int window_nice = 10;

// ImGui's context lives longer than the renderer, whose window gives input to it.
struct ImGuiOwner {
    ImGuiOwner() {
        IMGUI_CHECKVERSION();
        ImGui::CreateContext();
        // The window's own state file remembers what is worth it.
        ImGui::GetIO().IniFilename = nullptr;
        ImGui::GetIO().LogFilename = nullptr;
    }
    ~ImGuiOwner() { ImGui::DestroyContext(); }
    ImGuiOwner(const ImGuiOwner&) = delete;
    ImGuiOwner& operator=(const ImGuiOwner&) = delete;
};

// Who is told by the engine's thread that there is something new; that thread may call before the loop is
// there and after it is gone.
class Listener {
  public:
    class Scope {
      public:
        Scope(Listener& listener, ViewLoop& loop) : listener_(listener) { listener_.set(&loop); }
        ~Scope() { listener_.set(nullptr); }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Listener& listener_;
    };
    void wake() {
        const std::lock_guard lock(mutex_);
        if (loop_ != nullptr) loop_->wake();
    }

  private:
    void set(ViewLoop* loop) {
        const std::lock_guard lock(mutex_);
        loop_ = loop;
    }
    std::mutex mutex_;
    ViewLoop* loop_ = nullptr;
};

interop::Request request_of(const std::string& wanted) {
    if (const auto request = interop::parse_request(wanted)) return *request;
    throw Error(Status::bad_parameter, "--interop " + wanted + " is not one of auto, shared, staged");
}

bool exists(const std::string& path) {
    std::error_code ignored;
    return !path.empty() && std::filesystem::exists(path, ignored);
}

// The command line's choice, else the window's last one, else the bundled one.
void fill_defaults(ViewOptions& options, const WindowState& last) {
    if (options.model.empty() && exists(last.model)) options.model = last.model;
    options.model = resolve_model(options.model);
    if (options.input.empty()) {
        const bool known = exists(last.input) || last.input.rfind("pattern:", 0) == 0;
        options.input = known ? last.input : bundled_photo("chelsea.jpg");
        if (options.input.empty()) options.input = "pattern:checker";
    }
    if (options.width <= 0) options.width = last.width > 0 ? last.width : 1600;
    if (options.height <= 0) options.height = last.height > 0 ? last.height : 900;
}

Bundled bundled_files() {
    Bundled bundled{bundled_models(), bundled_photos()};
    for (const auto& name : input::pattern_names()) bundled.pictures.push_back("pattern:" + name);
    return bundled;
}

void remember(const std::string& path, const ViewLoop& loop, const render::Renderer& renderer) {
    WindowState state;
    state.width = renderer.width();
    state.height = renderer.height();
    state.view = loop.view();
    if (const auto& shown = loop.snapshot(); shown != nullptr) {
        if (shown->network != nullptr) state.model = shown->network->model_path;
        state.input = shown->input_source;
    }
    save_window_state(path, state);
}

int run_view(ViewOptions options) {
    const std::string state_path = options.headless ? "" : window_state_path();
    const WindowState last = load_window_state(state_path);
    fill_defaults(options, last);
    const interop::Request way = request_of(options.interop);
    Devices devices(options, window_nice);

    const ImGuiOwner imgui;
    render::RendererOptions renderer_options;
    renderer_options.width = options.width;
    renderer_options.height = options.height;
    renderer_options.window = !options.headless;
    renderer_options.validation = options.validation;
    renderer_options.verbose = options.verbose;
    devices.choose_graphics(renderer_options);
    const auto renderer = render::Renderer::create(renderer_options);
    ui::Ui ui(renderer->content_scale() * last.view.font_scale);
    renderer->upload_fonts();

    const auto context = devices.open(*renderer);
    interop::Interop link(*renderer, devices.compute(context), way);
    Listener listener;
    engine::EngineOptions engine_options;
    engine_options.context = context;
    engine_options.seed = options.seed;
    engine_options.allocator = link.arena();
    engine_options.stepped = options.headless && options.sync;
    engine_options.on_published = [&listener] { listener.wake(); };
    engine::Engine engine(engine_options);
    ViewLoop loop(options, link, bundled_files(), last.view, *renderer, engine, ui);
    const Listener::Scope scope(listener, loop);
    engine.open_model(options.model);
    engine.open_input(options.input);
    const int status = loop.run();
    if (!options.headless) remember(state_path, loop, *renderer);
    return status;
}

}  // namespace

int view(const ViewOptions& options) {
    try {
        return run_view(options);
    } catch (const Error& error) {
        std::fprintf(stderr, "convlens: %s\n", error.what());
        return error.status() == Status::bad_parameter ? exit_bad_usage : exit_failed;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "convlens: %s\n", error.what());
        return exit_failed;
    }
}

}  // namespace convlens::cli
