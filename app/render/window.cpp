#include "app/render/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "convlens/error.h"

// GLFW's Vulkan functions are declared only after vulkan.h; volk.h gives the types.
extern "C" VkResult glfwCreateWindowSurface(VkInstance, GLFWwindow*, const VkAllocationCallbacks*,
                                            VkSurfaceKHR*);

namespace convlens::render {
namespace {

constexpr int smallest_width = 200, smallest_height = 100;

std::string glfw_reason() {
    const char* text = nullptr;
    glfwGetError(&text);
    return text != nullptr ? text : "unknown reason";
}

}  // namespace

Window::Window(const std::string& title, int width, int height) {
    if (glfwInit() != GLFW_TRUE)
        throw Error(Status::not_supported, "No window can be opened (" + glfw_reason() +
                                               "): set DISPLAY, or use --headless with --screenshot");
    if (glfwVulkanSupported() != GLFW_TRUE) {
        const std::string reason = glfw_reason();
        glfwTerminate();
        throw Error(Status::not_supported, "This display has no Vulkan windows (" + reason +
                                               "): install libvulkan1 and mesa-vulkan-drivers, or use "
                                               "--headless");
    }
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    handle_ = glfwCreateWindow(std::max(width, smallest_width), std::max(height, smallest_height),
                               title.c_str(), nullptr, nullptr);
    if (handle_ == nullptr) {
        const std::string reason = glfw_reason();
        glfwTerminate();
        throw Error(Status::not_supported, "The window can't be opened (" + reason + "); use --headless");
    }
    glfwSetWindowSizeLimits(handle_, smallest_width, smallest_height, GLFW_DONT_CARE, GLFW_DONT_CARE);
    glfwSetWindowUserPointer(handle_, this);
    glfwSetDropCallback(handle_, [](GLFWwindow* window, int count, const char** paths) {
        auto* self = static_cast<Window*>(glfwGetWindowUserPointer(window));
        for (int i = 0; i < count; ++i) self->dropped_.emplace_back(paths[i]);
    });
}

Window::~Window() {
    if (has_input_ && ImGui::GetCurrentContext() != nullptr &&
        ImGui::GetIO().BackendPlatformUserData != nullptr)
        ImGui_ImplGlfw_Shutdown();
    if (surface_ != VK_NULL_HANDLE) vkDestroySurfaceKHR(instance_->handle(), surface_, nullptr);
    glfwDestroyWindow(handle_);
    glfwTerminate();
}

std::vector<const char*> Window::instance_extensions() const {
    std::uint32_t count = 0;
    const char** names = glfwGetRequiredInstanceExtensions(&count);
    if (names == nullptr)
        throw Error(Status::not_supported, "This display has no Vulkan windows (" + glfw_reason() +
                                               "): install mesa-vulkan-drivers, or use --headless");
    return {names, names + count};
}

void Window::make_surface(std::shared_ptr<Instance> instance) {
    instance_ = std::move(instance);
    check(glfwCreateWindowSurface(instance_->handle(), handle_, nullptr, &surface_),
          "Connecting Vulkan with the window");
}

bool Window::begin_refresh() {
    glfwPollEvents();
    if (!has_input_) has_input_ = ImGui_ImplGlfw_InitForVulkan(handle_, true);
    ImGui_ImplGlfw_NewFrame();
    return glfwWindowShouldClose(handle_) == GLFW_FALSE;
}

void Window::framebuffer_size(int& width, int& height) const {
    glfwGetFramebufferSize(handle_, &width, &height);
}

void Window::set_size(int width, int height) {
    glfwSetWindowSize(handle_, std::max(width, smallest_width), std::max(height, smallest_height));
}

float Window::content_scale() const {
    float x = 1, y = 1;
    glfwGetWindowContentScale(handle_, &x, &y);
    return std::clamp(std::max(x, y), 0.5f, 4.0f);
}

bool Window::is_minimised() const {
    int width = 0, height = 0;
    framebuffer_size(width, height);
    return glfwGetWindowAttrib(handle_, GLFW_ICONIFIED) == GLFW_TRUE || width <= 0 || height <= 0;
}

std::vector<std::string> Window::take_dropped_files() { return std::exchange(dropped_, {}); }

void Window::wait_events(double seconds) {
    if (seconds > 0)
        glfwWaitEventsTimeout(seconds);
    else
        glfwPollEvents();
}

void Window::wake() { glfwPostEmptyEvent(); }

}  // namespace convlens::render
