// Vulkan's functions as the render room uses them: loaded at run time by volk, so the program starts without
// a Vulkan loader. Failures become convlens::Error.
#pragma once

#include <volk.h>

namespace convlens::render {

// "VK_ERROR_DEVICE_LOST"
const char* result_text(VkResult result) noexcept;

// Throws Error(runtime_failure) that says what was tried, what Vulkan answered and what helps.
[[noreturn]] void throw_result(VkResult result, const char* what);

inline void check(VkResult result, const char* what) {
    if (result < 0) throw_result(result, what);
}

}  // namespace convlens::render
