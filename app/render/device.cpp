#include "app/render/device.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "convlens/error.h"

namespace convlens::render {
namespace {

struct Features {
    VkPhysicalDeviceVulkan13Features v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                         .pNext = &v13};
    VkPhysicalDeviceFeatures2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v12};
    Features() = default;
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;
};

bool has_extension(VkPhysicalDevice device, const char* name) {
    std::uint32_t count = 0;
    if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) < 0) return false;
    std::vector<VkExtensionProperties> extensions(count);
    if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()) < 0) return false;
    return std::any_of(extensions.begin(), extensions.end(), [name](const VkExtensionProperties& e) {
        return std::strcmp(e.extensionName, name) == 0;
    });
}

std::string missing_feature(VkPhysicalDevice device) {
    Features features;
    vkGetPhysicalDeviceFeatures2(device, &features.core);
    if (!features.core.features.shaderInt64) return "it has no 64-bit integers in shaders";
    if (!features.v12.bufferDeviceAddress) return "it has no buffer device addresses";
    if (!features.v12.timelineSemaphore) return "it has no timeline semaphores";
    if (!features.v13.synchronization2) return "it has no synchronization2";
    if (!features.v13.dynamicRendering) return "it has no dynamic rendering";
    return {};
}

// A family that draws and computes (and presents, where there is a surface); -1: none.
int queue_family(VkPhysicalDevice device, VkSurfaceKHR surface) {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    for (std::uint32_t i = 0; i < count; ++i) {
        const VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
        if ((families[i].queueFlags & wanted) != wanted) continue;
        VkBool32 presents = VK_TRUE;
        if (surface != VK_NULL_HANDLE &&
            vkGetPhysicalDeviceSurfaceSupportKHR(device, i, surface, &presents) < 0)
            continue;
        if (presents) return static_cast<int>(i);
    }
    return -1;
}

int preference_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return 4;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return 3;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return 2;
        case VK_PHYSICAL_DEVICE_TYPE_CPU:
            return 0;
        default:
            return 1;
    }
}

std::string version_text(std::uint32_t version) {
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
           std::to_string(VK_API_VERSION_MINOR(version));
}

// As CUDA writes it: "0000:01:00.0".
std::string pci_text(const VkPhysicalDevicePCIBusInfoPropertiesEXT& pci) {
    char text[64];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice,
                  pci.pciFunction);
    return text;
}

DeviceIdentity identity_of(VkPhysicalDevice device) {
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    const bool has_pci = has_extension(device, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    VkPhysicalDeviceIDProperties id{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
                                    .pNext = has_pci ? &pci : nullptr};
    VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                           .pNext = &id};
    vkGetPhysicalDeviceProperties2(device, &properties);
    DeviceIdentity identity;
    identity.name = properties.properties.deviceName;
    std::memcpy(identity.uuid.emplace().data(), id.deviceUUID, VK_UUID_SIZE);
    if (has_pci) identity.pci = pci_text(pci);
    return identity;
}

constexpr const char* export_extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                             VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};

// Why a device exports no memory or timelines as file descriptors; empty: it does.
std::string obstacle_to_export(VkPhysicalDevice device) {
    for (const char* name : export_extensions)
        if (!has_extension(device, name)) return std::string("it has no ") + name;
    const VkPhysicalDeviceExternalBufferInfo buffer{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = arena_usage,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalBufferProperties memory{.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(device, &buffer, &memory);
    if ((memory.externalMemoryProperties.externalMemoryFeatures &
         VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) == 0)
        return "it exports no buffers";
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo timeline{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties semaphore{.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(device, &timeline, &semaphore);
    if ((semaphore.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) == 0)
        return "it exports no timeline semaphores";
    return {};
}

DeviceCandidate judge(VkPhysicalDevice device, VkSurfaceKHR surface) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(device, &properties);
    DeviceCandidate candidate{
        .handle = device, .name = properties.deviceName, .preference = preference_of(properties.deviceType)};
    if (properties.apiVersion < VK_API_VERSION_1_3) {
        candidate.rejected = "it has Vulkan " + version_text(properties.apiVersion) + ", 1.3 is needed";
        return candidate;
    }
    candidate.identity = identity_of(device);
    candidate.rejected = missing_feature(device);
    if (!candidate.rejected.empty()) return candidate;
    const int family = queue_family(device, surface);
    if (family < 0)
        candidate.rejected = surface != VK_NULL_HANDLE ? "it can't draw into this display's windows"
                                                       : "it has no queue for drawing and computing";
    else if (surface != VK_NULL_HANDLE && !has_extension(device, VK_KHR_SWAPCHAIN_EXTENSION_NAME))
        candidate.rejected = "it can't present pictures (no VK_KHR_swapchain)";
    candidate.family = static_cast<std::uint32_t>(std::max(family, 0));
    return candidate;
}

std::string list_text(const std::vector<DeviceCandidate>& candidates) {
    std::string text;
    for (std::size_t i = 0; i < candidates.size(); ++i)
        text += (i == 0 ? "" : "; ") + std::to_string(i) + ": " + candidates[i].name +
                (candidates[i].rejected.empty() ? " (suitable)" : " (" + candidates[i].rejected + ")");
    return text;
}

}  // namespace

const DeviceCandidate& choose_candidate(const std::vector<DeviceCandidate>& candidates, int number,
                                        const std::vector<DeviceIdentity>& wanted_devices) {
    const std::string remedy = "; install mesa-vulkan-drivers for a device on the processor";
    if (candidates.empty()) throw Error(Status::not_supported, "No Vulkan device was found" + remedy);
    if (number >= 0) {
        if (static_cast<std::size_t>(number) >= candidates.size())
            throw Error(Status::not_supported, "There is no Vulkan device " + std::to_string(number) +
                                                   "; choose one of " + list_text(candidates));
        const DeviceCandidate& wanted = candidates[static_cast<std::size_t>(number)];
        if (!wanted.rejected.empty())
            throw Error(Status::not_supported, "Vulkan device " + std::to_string(number) + ", " +
                                                   wanted.name + ", can't be used: " + wanted.rejected +
                                                   "; choose one of " + list_text(candidates));
        return wanted;
    }
    for (const DeviceIdentity& identity : wanted_devices)
        for (const DeviceCandidate& candidate : candidates)
            if (candidate.rejected.empty() && same_device(candidate.identity, identity)) return candidate;
    const DeviceCandidate* best = nullptr;
    for (const DeviceCandidate& candidate : candidates)
        if (candidate.rejected.empty() && (best == nullptr || candidate.preference > best->preference))
            best = &candidate;
    if (best == nullptr)
        throw Error(Status::not_supported, "No Vulkan device can be used: " + list_text(candidates) + remedy);
    return *best;
}

std::vector<DeviceCandidate> device_candidates(VkInstance instance, VkSurfaceKHR surface) {
    std::uint32_t count = 0;
    check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "Listing the Vulkan devices");
    std::vector<VkPhysicalDevice> devices(count);
    check(vkEnumeratePhysicalDevices(instance, &count, devices.data()), "Listing the Vulkan devices");
    std::vector<DeviceCandidate> candidates;
    for (std::uint32_t i = 0; i < count; ++i) candidates.push_back(judge(devices[i], surface));
    return candidates;
}

Device::Device(std::shared_ptr<Instance> instance, VkSurfaceKHR surface, int number,
               const std::vector<DeviceIdentity>& wanted)
    : instance_(std::move(instance)) {
    const std::vector<DeviceCandidate> candidates = device_candidates(instance_->handle(), surface);
    create(choose_candidate(candidates, number, wanted), surface != VK_NULL_HANDLE);
    try {
        timeline_ = std::make_unique<Timeline>(handle_);
    } catch (...) {
        vkDestroyDevice(handle_, nullptr);
        throw;
    }
    set_name(VK_OBJECT_TYPE_SEMAPHORE, reinterpret_cast<std::uint64_t>(timeline_->semaphore()), "refreshes");
}

void Device::create(const DeviceCandidate& candidate, bool swapchain) {
    physical_ = candidate.handle;
    family_ = candidate.family;
    name_ = candidate.name;
    identity_ = candidate.identity;
    export_obstacle_ = obstacle_to_export(physical_);
    has_budget_ = has_extension(physical_, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    VkPhysicalDeviceVulkan11Properties v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
    VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                           .pNext = &v11};
    vkGetPhysicalDeviceProperties2(physical_, &properties);
    limits_ = properties.properties.limits;
    max_allocation_ = v11.maxMemoryAllocationSize;
    text_ = name_ + ", Vulkan " + version_text(properties.properties.apiVersion);
    vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
    has_timestamps_ = families[family_].timestampValidBits > 0 && limits_.timestampPeriod > 0;

    Features features;
    features.core.features.shaderInt64 = VK_TRUE;
    features.v12.bufferDeviceAddress = VK_TRUE;
    features.v12.timelineSemaphore = VK_TRUE;
    features.v13.synchronization2 = VK_TRUE;
    features.v13.dynamicRendering = VK_TRUE;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueFamilyIndex = family_,
                                        .queueCount = 1,
                                        .pQueuePriorities = &priority};
    std::vector<const char*> extensions;
    if (swapchain) extensions.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
    if (has_budget_) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (export_obstacle_.empty())
        for (const char* name : export_extensions) extensions.push_back(name);
    const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = &features.core,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                  .ppEnabledExtensionNames = extensions.data()};
    check(vkCreateDevice(physical_, &info, nullptr, &handle_),
          ("Opening the Vulkan device " + name_).c_str());
    vkGetDeviceQueue(handle_, family_, 0, &queue_);
}

Device::~Device() {
    if (handle_ == VK_NULL_HANDLE) return;
    (void)vkDeviceWaitIdle(handle_);
    deferred_.clear();
    written_.reset();
    read_.reset();
    timeline_.reset();
    vkDestroyDevice(handle_, nullptr);
}

std::uint32_t Device::memory_type(std::uint32_t bits, VkMemoryPropertyFlags required,
                                  VkMemoryPropertyFlags preferred) const {
    int best = -1, best_score = -1;
    for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
        if ((bits & (1u << i)) == 0 || (flags & required) != required) continue;
        const int score = std::popcount(flags & preferred);
        if (score > best_score) {
            best = static_cast<int>(i);
            best_score = score;
        }
    }
    if (best < 0)
        throw Error(Status::runtime_failure, "The Vulkan device " + name_ +
                                                 " has no memory of the kind that is needed; choose another "
                                                 "--device");
    return static_cast<std::uint32_t>(best);
}

Timeline& Device::external(std::unique_ptr<Timeline>& timeline, const char* name) {
    const std::lock_guard lock(external_mutex_);
    if (timeline == nullptr) {
        timeline = std::make_unique<Timeline>(handle_, export_obstacle_.empty());
        set_name(VK_OBJECT_TYPE_SEMAPHORE, reinterpret_cast<std::uint64_t>(timeline->semaphore()), name);
    }
    return *timeline;
}

std::pair<std::uint64_t, std::uint64_t> Device::memory_budget() const {
    if (!has_budget_) return {0, 0};
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                             .pNext = &budget};
    vkGetPhysicalDeviceMemoryProperties2(physical_, &memory);
    std::pair<std::uint64_t, std::uint64_t> sum{0, 0};
    for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
        if ((memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
        sum.first += budget.heapUsage[i];
        sum.second += budget.heapBudget[i];
    }
    return sum;
}

std::uint64_t Device::submit(VkCommandBuffer commands, SubmitSemaphores semaphores) {
    const auto info_of = [](VkSemaphore semaphore, std::uint64_t value, VkPipelineStageFlags2 stage) {
        return VkSemaphoreSubmitInfo{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                     .semaphore = semaphore,
                                     .value = value,
                                     .stageMask = stage};
    };
    const std::uint64_t value = timeline_->peek_next();
    VkSemaphoreSubmitInfo waits[2], signals[3];
    std::uint32_t wait_count = 0, signal_count = 0;
    if (semaphores.acquired != VK_NULL_HANDLE)
        waits[wait_count++] =
            info_of(semaphores.acquired, 0, VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT);
    if (semaphores.reads_external && semaphores.written > 0)
        waits[wait_count++] =
            info_of(written().semaphore(), semaphores.written, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
    signals[signal_count++] = info_of(timeline_->semaphore(), value, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    if (semaphores.drawn != VK_NULL_HANDLE)
        signals[signal_count++] = info_of(semaphores.drawn, 0, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    if (semaphores.reads_external)
        signals[signal_count++] =
            info_of(read().semaphore(), read().peek_next(), VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    const VkCommandBufferSubmitInfo buffer{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                           .commandBuffer = commands};
    const VkSubmitInfo2 info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                             .waitSemaphoreInfoCount = wait_count,
                             .pWaitSemaphoreInfos = waits,
                             .commandBufferInfoCount = 1,
                             .pCommandBufferInfos = &buffer,
                             .signalSemaphoreInfoCount = signal_count,
                             .pSignalSemaphoreInfos = signals};
    check(vkQueueSubmit2(queue_, 1, &info, VK_NULL_HANDLE), "Submitting a refresh to the GPU");
    if (semaphores.reads_external) (void)read().take_next();
    return timeline_->take_next();
}

void Device::wait(std::uint64_t value) { check(timeline_->wait(value), "Waiting for the GPU"); }

void Device::defer(std::shared_ptr<void> object, std::uint64_t value) {
    if (object == nullptr) return;
    const std::lock_guard lock(deferred_mutex_);
    deferred_.emplace_back(value, std::move(object));
}

void Device::collect() {
    const std::uint64_t done = timeline_->completed();
    std::vector<std::shared_ptr<void>> dead;
    {
        const std::lock_guard lock(deferred_mutex_);
        std::erase_if(deferred_, [&](auto& entry) {
            if (entry.first > done) return false;
            dead.push_back(std::move(entry.second));
            return true;
        });
    }
}

void Device::drain() {
    (void)vkDeviceWaitIdle(handle_);
    std::vector<std::pair<std::uint64_t, std::shared_ptr<void>>> dead;
    const std::lock_guard lock(deferred_mutex_);
    dead.swap(deferred_);
}

void Device::set_name(VkObjectType type, std::uint64_t object, const char* name) const {
    if (!instance_->has_debug_names() || vkSetDebugUtilsObjectNameEXT == nullptr) return;
    const VkDebugUtilsObjectNameInfoEXT info{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                             .objectType = type,
                                             .objectHandle = object,
                                             .pObjectName = name};
    (void)vkSetDebugUtilsObjectNameEXT(handle_, &info);
}

}  // namespace convlens::render
