// A window, or a picture of one: Vulkan behind a face without Vulkan types. Draws ImGui's draw lists and
// atlases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/network/allocator.h"
#include "app/render/canvas.h"
#include "app/render/sharing.h"

struct ImDrawData;

namespace convlens::render {

struct RendererOptions {
    int width = 1600, height = 900;  // in pixels
    bool window = false;             // a GLFW window; false: off-screen, needs no display
    std::string title = "ConvLens";
    bool validation = false;  // core and synchronisation validation, if the layers are installed
    bool verbose = false;     // validation messages also go to standard error
    int device = -1;          // number in the order that Vulkan lists; -1: as below
    // The suitable device that stands for the first of these that has one; else the first suitable, GPUs
    // before software.
    std::vector<DeviceIdentity> wanted_devices;
};

struct RefreshFigures {
    double cpu_ms = 0;               // recording and submitting the last refresh
    double gpu_window_ms = -1;       // Vulkan timestamps: the window's own drawing; -1 not measured yet
    double gpu_atlas_ms = -1;        // the atlases
    std::uint64_t upload_bytes = 0;  // of the last refresh: vertices, pictures, fonts
    std::uint64_t copied_bytes = 0;  // of the last refresh: activations copied for display (staged only)
    double fetch_ms = 0;             // of the last refresh: the wait for copies from a GPU (staged only)
    std::uint64_t validation_messages = 0;  // since the start
};

class Renderer : public Canvas {
  public:
    // Throws Error(not_supported) with what is missing and how to get it: no loader, no driver, no suitable
    // device, no display.
    static std::unique_ptr<Renderer> create(const RendererOptions& options);
    ~Renderer() override = default;

    virtual std::string device_text() const = 0;  // "llvmpipe (LLVM 15.0.6, 256 bits), Vulkan 1.3"
    virtual const DeviceIdentity& identity() const = 0;
    // Memory that processor kernels write and shaders read: interop "host"; or, staged, that each refresh
    // copies what it shows from. Outlives the renderer's windows, not the renderer.
    virtual std::shared_ptr<network::Allocator> arena_allocator(bool staged = false) = 0;
    // For an API that computes on a GPU. As long-lived.
    virtual std::shared_ptr<Sharing> sharing() = 0;
    // Memory of the device's own heaps that this program uses, and may use; {0, 0}: not known.
    virtual std::pair<std::uint64_t, std::uint64_t> memory_budget() const = 0;
    virtual std::uint64_t memory_bytes()
        const = 0;  // the viewer's own device memory: targets, atlases, buffers

    // ImGui's font atlas changed: uploads it before the next refresh and sets its texture id.
    virtual void upload_fonts() = 0;
    // Polls events and prepares ImGui's io (display size, time step, mouse, keys). False when the user closed
    // the window.
    virtual bool begin_refresh() = 0;
    // Draws and submits (and presents). Returns a fence: a function that returns when the GPU has finished
    // this refresh, callable from any thread, at any later time, also after the renderer has resized.
    // Shaders that read memory of another API wait on the GPU until that has signalled `written`.
    virtual std::function<void()> end_refresh(const ImDrawData* draw_data, std::uint64_t written = 0) = 0;
    // The value of Sharing::export_read() that the last refresh signals when it is done; 0 when it reads no
    // memory of another API.
    virtual std::uint64_t last_read() const = 0;
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
