// Where a network computes and how its activations reach the screen: which way is possible here, and why. No
// Vulkan and no CUDA type, so that the program can ask before it opens either.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/render/sharing.h"
#include "convlens/context.h"

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
    std::string compute_pci, vulkan_pci;  // "0000:01:00.0"; empty: not known. Asked where a UUID is missing
    bool vulkan_exports = false;          // external memory and external timeline semaphores as fd
    bool cuda_imports = false;            // the CUDA device takes external memory and semaphores
    std::string export_obstacle, import_obstacle;  // why not; empty: not known
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

struct BackendChoice {
    Backend backend = Backend::cpu;
    int device = 0;      // of CUDA
    std::string reason;  // why the processor computes; empty: CUDA does, or the processor was asked for
};
// `backend`: --backend auto|cpu|cuda; `device`: --device, -1 where it was not given; `why_none` as of
// cuda_devices(). `automatic` takes CUDA where there is a device. Throws Error(not_supported) with the reason
// when cuda is demanded and there is none, Error(bad_parameter) for a device that there is not.
BackendChoice choose_backend(const std::string& backend, int device, const std::vector<DeviceInfo>& devices,
                             const std::string& why_none);
// The CUDA device of a window: the one that was asked for, else the one that draws, else the first.
int device_of_window(int asked, const std::vector<DeviceInfo>& devices,
                     const render::DeviceIdentity& drawing);
render::DeviceIdentity identity_of(const DeviceInfo& device);

}  // namespace convlens::interop
