// The Vulkan instance and the messages of its validation layers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "app/render/vulkan.h"

namespace convlens::render {

// Warnings and errors of the validation layers. Vulkan may call from any thread.
class ValidationLog {
  public:
    explicit ValidationLog(bool verbose) : verbose_(verbose) {}
    void add(const char* text);
    std::uint64_t count() const { return count_.load(); }
    std::vector<std::string> kept() const;  // the first hundred

  private:
    bool verbose_;
    std::atomic<std::uint64_t> count_{0};
    mutable std::mutex mutex_;
    std::vector<std::string> kept_;
};

class Instance {
  public:
    // Throws Error(not_supported) without a loader or driver. Validation is left out, with a line on standard
    // error, where its layer is not installed.
    Instance(const std::vector<const char*>& extensions, bool validation, bool verbose);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const { return handle_; }
    const ValidationLog& log() const { return log_; }
    bool has_debug_names() const { return messenger_ != VK_NULL_HANDLE; }

  private:
    VkInstance handle_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    ValidationLog log_;
};

}  // namespace convlens::render
