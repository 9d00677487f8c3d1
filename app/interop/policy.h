// How activations reach the screen: which way is possible here, and why. No Vulkan and no CUDA type, so that
// the program can ask before it opens either.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace convlens::interop {

enum class Request : std::uint8_t { automatic, shared, staged };  // --interop auto|shared|staged
enum class Mode : std::uint8_t {
    host,    // processor kernels write the memory that shaders read: nothing is copied
    shared,  // CUDA kernels write Vulkan's memory through an import: nothing is copied
    staged,  // each refresh copies what it shows, and counts the bytes
};

using DeviceUuid = std::array<std::uint8_t, 16>;

// What the two sides say of themselves.
struct Facts {
    bool cuda = false;                       // the network runs on CUDA; false: on the processor
    std::string compute_device;              // "NVIDIA H200", "processor"
    std::string vulkan_device;               // "llvmpipe (LLVM 15.0.6, 256 bits)"
    std::optional<DeviceUuid> compute_uuid;  // cudaDeviceProp::uuid
    std::optional<DeviceUuid> vulkan_uuid;   // VkPhysicalDeviceIDProperties::deviceUUID
    bool vulkan_exports = false;             // external memory and external timeline semaphores as fd
    bool cuda_imports = false;               // the CUDA device takes external memory and semaphores
};

struct Choice {
    Mode mode = Mode::host;
    std::string reason;  // one clause for the report and the window
};

// "host", "shared", "staged": as reports spell it.
const char* to_string(Mode mode) noexcept;
// nullopt: not one of auto, shared, staged.
std::optional<Request> parse_request(const std::string& text);

// Throws Error(not_supported) when `shared` is demanded and not possible, with the reason; `automatic` takes
// the staged way instead and says why.
Choice choose_interop(Request request, const Facts& facts);

}  // namespace convlens::interop
