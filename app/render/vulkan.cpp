#include "app/render/vulkan.h"

#include <string>

#include "convlens/error.h"

namespace convlens::render {

const char* result_text(VkResult result) noexcept {
    switch (result) {
#define CONVLENS_RESULT(name) \
    case name:                \
        return #name;
        CONVLENS_RESULT(VK_SUCCESS)
        CONVLENS_RESULT(VK_TIMEOUT)
        CONVLENS_RESULT(VK_SUBOPTIMAL_KHR)
        CONVLENS_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
        CONVLENS_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        CONVLENS_RESULT(VK_ERROR_INITIALIZATION_FAILED)
        CONVLENS_RESULT(VK_ERROR_DEVICE_LOST)
        CONVLENS_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
        CONVLENS_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
        CONVLENS_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
        CONVLENS_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
        CONVLENS_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
        CONVLENS_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
        CONVLENS_RESULT(VK_ERROR_FORMAT_NOT_SUPPORTED)
        CONVLENS_RESULT(VK_ERROR_FRAGMENTED_POOL)
        CONVLENS_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY)
        CONVLENS_RESULT(VK_ERROR_FRAGMENTATION)
        CONVLENS_RESULT(VK_ERROR_SURFACE_LOST_KHR)
        CONVLENS_RESULT(VK_ERROR_NATIVE_WINDOW_IN_USE_KHR)
        CONVLENS_RESULT(VK_ERROR_OUT_OF_DATE_KHR)
#undef CONVLENS_RESULT
        default:
            return "an unknown Vulkan result";
    }
}

void throw_result(VkResult result, const char* what) {
    std::string text = std::string(what) + " failed: " + result_text(result);
    if (result == VK_ERROR_DEVICE_LOST)
        text += "; the graphics device stopped working: start the program again, or choose another --device";
    else if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
        text += "; memory is exhausted: use a smaller window or input, or the lean mode";
    throw Error(Status::runtime_failure, text);
}

}  // namespace convlens::render
