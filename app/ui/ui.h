// The window's contents: panels that read a snapshot and emit commands. ImGui only; no Vulkan, no CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/view_state.h"
#include "app/engine/snapshot.h"
#include "app/render/canvas.h"

namespace convlens::ui {

// Figures of the window itself, from the loop around it.
struct WindowFigures {
    double refresh_ms = 0;  // rolling median between refreshes
    double fps = 0;
    double draw_ms = -1;  // the viewer's own work of a refresh: recording + Vulkan (-1: not measured)
    double atlas_ms = -1;
    std::uint64_t viewer_bytes = 0;
    std::string vulkan_device;
    std::string interop = "host";  // host, shared, staged
    std::string interop_reason;
    std::uint64_t staging_bytes = 0;  // copies of activations that only the screen needs
    double copied_bytes = 0;          // of refreshes that copied: median
    double copied_ms = -1;            // -1: not measured
};

struct UiInput {
    engine::SnapshotPtr snapshot;                            // never null
    const std::vector<engine::Message>* messages = nullptr;  // all so far, newest last
    WindowFigures figures;
    std::vector<std::string> models;    // paths for the model chooser
    std::vector<std::string> pictures;  // paths and patterns for the input chooser
    double now_ms = 0;                  // 0-based time; fixed in approved pictures
};

// Values that are shown as numbers and that the snapshot does not hold yet (see Engine::want_values).
struct WantedValues {
    std::uint64_t generation = 0;
    int tensor = -1;
    std::vector<std::int64_t> offsets;  // ascending
    bool operator==(const WantedValues&) const = default;
};

class Ui {
  public:
    // Uses the current ImGui context: builds fonts and style at this scale. Call Renderer::upload_fonts()
    // afterwards.
    explicit Ui(float scale);
    ~Ui();
    void set_scale(float scale);  // rebuilds fonts and style (before a new frame)

    // Lays out one refresh between ImGui::NewFrame and ImGui::Render. Continuous gestures (splitters, pan,
    // hover) change `view` directly; everything else comes back as command lines for commands::run_line.
    std::vector<std::string> draw(const UiInput& input, commands::ViewState& view, render::Canvas& canvas);

    // What the last refresh could not show for want of a value; without offsets: nothing.
    const WantedValues& wanted_values() const;
    // True when the next refresh would look different without new input (an animation, an atlas that is not
    // complete yet).
    bool wants_refresh() const;
    // Texts laid out in the last refresh that did not fit their place (for tests).
    const std::vector<std::string>& clipped_texts() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convlens::ui
