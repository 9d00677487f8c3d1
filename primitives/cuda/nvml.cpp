#include "primitives/cuda/nvml.h"

#include <dlfcn.h>

#include <cstdint>

namespace convlens {
namespace {

// The part of nvml.h that is used here. The library is opened at run time: a program must start without it,
// and the CUDA toolkit need not bring the header.
using NvmlDevice = struct nvmlDevice_st*;
constexpr int nvml_success = 0;
constexpr unsigned clock_sm = 1, temperature_gpu = 0;
constexpr std::uint64_t reason_power_cap = 0x4, reason_slowdown = 0x8, reason_heat = 0x20 | 0x40,
                        reason_power_brake = 0x80;

struct Library {
    void* handle = nullptr;
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*device_by_pci)(const char*, NvmlDevice*) = nullptr;
    int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
    int (*max_clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
    int (*temperature)(NvmlDevice, unsigned, unsigned*) = nullptr;
    int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;

    Library() {
        handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return;
        const bool complete = find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                              find(device_by_pci, "nvmlDeviceGetHandleByPciBusId_v2") &&
                              find(clock, "nvmlDeviceGetClockInfo") &&
                              find(max_clock, "nvmlDeviceGetMaxClockInfo") &&
                              find(temperature, "nvmlDeviceGetTemperature");
        // Its name since driver 535; the older one stays as an alias.
        if (!find(reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
            find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
        if (complete && init() == nvml_success) return;
        dlclose(handle);
        handle = nullptr;
    }
    ~Library() {
        if (handle == nullptr) return;
        shutdown();
        dlclose(handle);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

  private:
    template <class Function>
    bool find(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(handle, name));
        return function != nullptr;
    }
};

class NvmlMonitor final : public HealthMonitor {
  public:
    NvmlMonitor(std::shared_ptr<const Library> library, NvmlDevice device)
        : library_(std::move(library)), device_(device) {}
    std::optional<DeviceHealth> read() const override {
        DeviceHealth health;
        unsigned value = 0;
        if (library_->clock(device_, clock_sm, &value) != nvml_success) return std::nullopt;
        health.clock_mhz = static_cast<int>(value);
        if (library_->max_clock(device_, clock_sm, &value) == nvml_success)
            health.max_clock_mhz = static_cast<int>(value);
        if (library_->temperature(device_, temperature_gpu, &value) == nvml_success)
            health.temperature_c = static_cast<int>(value);
        unsigned long long reasons = 0;
        if (library_->reasons != nullptr && library_->reasons(device_, &reasons) == nvml_success) {
            if ((reasons & reason_heat) != 0)
                health.throttled_by = "heat";
            else if ((reasons & (reason_power_cap | reason_power_brake)) != 0)
                health.throttled_by = "power limit";
            else if ((reasons & reason_slowdown) != 0)
                health.throttled_by = "hardware slowdown";
        }
        return health;
    }

  private:
    std::shared_ptr<const Library> library_;
    NvmlDevice device_;
};

}  // namespace

std::unique_ptr<HealthMonitor> HealthMonitor::open(const std::string& pci) {
    auto library = std::make_shared<const Library>();
    if (library->handle == nullptr) return nullptr;
    NvmlDevice device = nullptr;
    if (library->device_by_pci(pci.c_str(), &device) != nvml_success) return nullptr;
    return std::make_unique<NvmlMonitor>(std::move(library), device);
}

}  // namespace convlens
