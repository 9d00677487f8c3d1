// The loop around the window: newest snapshot in, one refresh out, commands back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/view_figures.h"
#include "app/commands/registry.h"
#include "app/commands/script.h"
#include "app/engine/engine.h"
#include "app/interop/interop.h"
#include "app/render/renderer.h"
#include "app/ui/ui.h"

namespace convlens::cli {

struct Bundled {
    std::vector<std::string> models, pictures;  // paths; pictures also pattern:NAME
};

class ViewLoop final : public commands::Host {
  public:
    ViewLoop(const ViewOptions& options, interop::Interop& link, Bundled bundled, commands::ViewState view,
             render::Renderer& renderer, engine::Engine& engine, ui::Ui& ui);
    // Until the window is closed, the frames are done, or a command says quit. Returns the exit status.
    int run();
    // From the engine's thread: something new is there.
    void wake();

    const commands::ViewState& view() const { return view_; }
    const engine::SnapshotPtr& snapshot() const { return snapshot_; }

    void screenshot(const std::string& path) override;
    void report(const std::string& path) override;
    void resize(int width, int height) override;
    void set_interop(const std::string& way) override;
    void quit() override { quit_ = true; }
    std::vector<std::string> models() const override { return bundled_.models; }
    std::vector<std::string> pictures() const override { return bundled_.pictures; }
    std::vector<std::string> messages() const override;
    bool busy() const override { return !wanted_files_.empty(); }

  private:
    struct WantedFile {
        std::string path;
        bool is_report = false;
        std::uint64_t requests = 0;  // taken up by the snapshot that is shown
        int refreshes = 0;
    };

    int run_headless();
    int run_window();
    bool first_pass();
    void wait_for_news();
    void wait_for_snapshot();
    bool has_news() const;
    void refresh();
    void follow_network();
    void run_script();
    void run_commands(const std::vector<std::string>& lines);
    void take_dropped();
    void take_messages();
    void say(engine::Message::Kind kind, const std::string& text);
    void keep_figures(double started_ms);
    // The memory of what is shown; before the first network, of what will be.
    std::shared_ptr<const interop::ArenaAllocator> arena() const;
    ui::UiInput ui_input();
    void write_files();
    void write_screenshot(const std::string& path);
    void write_report(const std::string& path);
    double since_start_ms() const;

    const ViewOptions& options_;
    interop::Interop& link_;
    Bundled bundled_;
    commands::ViewState view_;
    render::Renderer& renderer_;
    engine::Engine& engine_;
    ui::Ui& ui_;
    std::optional<commands::Script> script_;

    ui::WantedValues wanted_values_;  // that the engine was asked for
    engine::SnapshotPtr snapshot_;
    std::shared_ptr<const engine::NetworkInfo> shown_network_;
    std::uint64_t shown_pass_ = 0;
    std::vector<engine::Message> messages_;
    std::vector<WantedFile> wanted_files_;
    ViewFigures figures_;
    double start_ms_ = 0, last_start_ms_ = 0, last_refresh_ms_ = 0, command_ms_ = 0;
    float scale_ = 1;
    bool quit_ = false, closed_ = false;
    bool settle_due_ = false;     // one more refresh once nothing changes any more
    double active_until_ms_ = 0;  // after an event ImGui needs a few refreshes
    std::atomic<bool> woken_{false};
    std::mutex woken_mutex_;
    std::condition_variable woken_changed_;
    int status_ = 0;
};

}  // namespace convlens::cli
