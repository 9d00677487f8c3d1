// Statistics of maps on a CUDA device (inside the CUDA half of the library only).
#pragma once

#include <memory>

#include "primitives/cuda/device.h"
#include "primitives/map_statistics.h"

namespace convlens {

std::unique_ptr<MapStatisticsTaker> cuda_map_statistics(const CudaDevice& device);

}  // namespace convlens
