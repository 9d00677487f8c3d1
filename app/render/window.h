// A GLFW window: events, ImGui's input, the Vulkan surface. GLFW is touched only here, and only when a window
// is wanted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/render/instance.h"

struct GLFWwindow;

namespace convlens::render {

class Window {
  public:
    // Throws Error(not_supported) without a display.
    Window(const std::string& title, int width, int height);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    std::vector<const char*> instance_extensions() const;
    void make_surface(std::shared_ptr<Instance> instance);
    VkSurfaceKHR surface() const { return surface_; }

    // Polls events and prepares ImGui's io; false when the user closed the window.
    bool begin_refresh();
    void framebuffer_size(int& width, int& height) const;
    void set_size(int width, int height);
    float content_scale() const;
    bool is_minimised() const;
    std::vector<std::string> take_dropped_files();
    void wait_events(double seconds);
    static void wake();

  private:
    GLFWwindow* handle_ = nullptr;
    std::shared_ptr<Instance> instance_;
    VkSurfaceKHR surface_ = VK_NULL_HANDLE;
    bool has_input_ = false;  // ImGui's GLFW part is set up for this window
    std::vector<std::string> dropped_;
};

}  // namespace convlens::render
