// A window, or a picture of one: Vulkan behind a face without Vulkan types. Draws ImGui's draw lists and
// atlases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/network/allocator.h"
#include "app/render/canvas.h"

struct ImDrawData;

namespace convlens::render {

struct RendererOptions {
    int width = 1600, height = 900;  // in pixels
    bool window = false;             // a GLFW window; false: off-screen, needs no display
    std::string title = "ConvLens";
    bool validation = false;  // core and synchronisation validation, if the layers are installed
    bool verbose = false;     // validation messages also go to standard error
    bool staged = false;      // the arena is copied for display instead of shared (interop "staged")
    int device = -1;  // number in the order that Vulkan lists; -1: first suitable, GPUs before software
};

struct RefreshFigures {
    double cpu_ms = 0;               // recording and submitting the last refresh
    double gpu_window_ms = -1;       // Vulkan timestamps: the window's own drawing; -1 not measured yet
    double gpu_atlas_ms = -1;        // the atlases
    std::uint64_t upload_bytes = 0;  // of the last refresh: vertices, pictures, fonts
    std::uint64_t copied_bytes = 0;  // of the last refresh: activations copied for display (staged only)
    std::uint64_t validation_messages = 0;  // since the start
};

class Renderer : public Canvas {
  public:
    // Throws Error(not_supported) with what is missing and how to get it: no loader, no driver, no suitable
    // device, no display.
    static std::unique_ptr<Renderer> create(const RendererOptions& options);
    ~Renderer() override = default;

    virtual std::string device_text() const = 0;  // "llvmpipe (LLVM 15.0.6, 256 bits), Vulkan 1.3"
    // Memory that processor kernels write and shaders read: interop "host". Outlives the renderer's windows,
    // not the renderer.
    virtual std::shared_ptr<network::Allocator> arena_allocator() = 0;
    virtual std::uint64_t memory_bytes()
        const = 0;  // the viewer's own device memory: targets, atlases, buffers

    // ImGui's font atlas changed: uploads it before the next refresh and sets its texture id.
    virtual void upload_fonts() = 0;
    // Polls events and prepares ImGui's io (display size, time step, mouse, keys). False when the user closed
    // the window.
    virtual bool begin_refresh() = 0;
    // Draws and submits (and presents). Returns a fence: a function that returns when the GPU has finished
    // this refresh, callable from any thread, at any later time, also after the renderer has resized.
    virtual std::function<void()> end_refresh(const ImDrawData* draw_data) = 0;
    virtual void resize(int width, int height) = 0;  // off-screen target, or the window
    virtual int width() const = 0;
    virtual int height() const = 0;
    virtual float content_scale() const = 0;
    // The last refresh's picture, RGB, top row first; waits for it.
    virtual std::vector<std::uint8_t> read_pixels() = 0;
    virtual RefreshFigures figures() const = 0;
    // The first hundred messages of the validation layers.
    virtual std::vector<std::string> validation_texts() const = 0;
    // Files dropped onto the window since the last call.
    virtual std::vector<std::string> take_dropped_files() = 0;
    // Window: sleeps until an event comes or the time is over. Off-screen: returns at once.
    virtual void wait_events(double seconds) = 0;
    virtual void wake() = 0;  // ends wait_events from another thread
    virtual bool is_minimised() const = 0;
};

}  // namespace convlens::render
