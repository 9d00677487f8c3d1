// Clock, temperature and throttling of a GPU, asked of NVIDIA's management library where it is installed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "convlens/context.h"

namespace convlens {

class HealthMonitor {
  public:
    // `pci`: bus id. Null where the library is not installed or does not know the device.
    static std::unique_ptr<HealthMonitor> open(const std::string& pci);
    virtual ~HealthMonitor() = default;
    virtual std::optional<DeviceHealth> read() const = 0;
};

}  // namespace convlens
