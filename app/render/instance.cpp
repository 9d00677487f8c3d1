#include "app/render/instance.h"

#include <cstdio>
#include <cstring>

#include "convlens/error.h"
#include "convlens/version.h"

namespace convlens::render {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";
constexpr std::size_t kept_messages = 100;

bool layer_installed(const char* name) {
    std::uint32_t count = 0;
    if (vkEnumerateInstanceLayerProperties(&count, nullptr) < 0) return false;
    std::vector<VkLayerProperties> layers(count);
    if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < 0) return false;
    for (const VkLayerProperties& layer : layers)
        if (std::strcmp(layer.layerName, name) == 0) return true;
    return false;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    static_cast<ValidationLog*>(user)->add(data->pMessage != nullptr ? data->pMessage : "");
    return VK_FALSE;
}

// The loader keeps handles of libraries that volk opens once for the whole process.
void load_loader() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (volkGetInstanceVersion() != 0) return;
    if (volkInitialize() != VK_SUCCESS)
        throw Error(
            Status::not_supported,
            "The Vulkan loader (libvulkan.so.1) was not found: install libvulkan1 and a driver such as "
            "mesa-vulkan-drivers; `convlens run` works without");
}

}  // namespace

void ValidationLog::add(const char* text) {
    count_.fetch_add(1);
    if (verbose_) std::fprintf(stderr, "validation: %s\n", text);
    const std::lock_guard lock(mutex_);
    if (kept_.size() < kept_messages) kept_.emplace_back(text);
}

std::vector<std::string> ValidationLog::kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
}

Instance::Instance(const std::vector<const char*>& wanted, bool validation, bool verbose) : log_(verbose) {
    load_loader();
    if (validation && !layer_installed(validation_layer)) {
        std::fprintf(stderr, "convlens: no Vulkan validation: install vulkan-validationlayers\n");
        validation = false;
    }
    std::vector<const char*> extensions = wanted;
    const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                        .pApplicationName = "convlens",
                                        .pEngineName = "convlens",
                                        .apiVersion = VK_API_VERSION_1_3};
    const VkDebugUtilsMessengerCreateInfoEXT messenger{
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = &log_};
    const VkValidationFeatureEnableEXT enabled[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    const VkValidationFeaturesEXT features{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                           .pNext = &messenger,
                                           .enabledValidationFeatureCount = 1,
                                           .pEnabledValidationFeatures = enabled};
    if (validation) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                    .pNext = validation ? &features : nullptr,
                                    .pApplicationInfo = &application,
                                    .enabledLayerCount = validation ? 1u : 0u,
                                    .ppEnabledLayerNames = &validation_layer,
                                    .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                    .ppEnabledExtensionNames = extensions.data()};
    const VkResult result = vkCreateInstance(&info, nullptr, &handle_);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        throw Error(
            Status::not_supported,
            "No Vulkan driver was found: install mesa-vulkan-drivers (runs on the processor too) or the "
            "driver of your GPU; `convlens run` works without");
    check(result, "Creating the Vulkan instance");
    volkLoadInstance(handle_);
    if (validation && vkCreateDebugUtilsMessengerEXT != nullptr)
        (void)vkCreateDebugUtilsMessengerEXT(handle_, &messenger, nullptr, &messenger_);
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
    if (handle_ != VK_NULL_HANDLE) vkDestroyInstance(handle_, nullptr);
}

}  // namespace convlens::render
