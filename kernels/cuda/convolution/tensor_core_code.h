// Which instructions the program's code for the present GPU has: on a GPU that came after the program, the
// driver compiles what the oldest architecture has, and kernels for newer ones are empty there.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

enum class TensorCoreCode : std::uint8_t { none, mma, wgmma };

// Of the calling thread's current device, whose traits these are; found once for each compute capability.
TensorCoreCode tensor_core_code(const DeviceTraits& traits);

}  // namespace convlens::cuda
