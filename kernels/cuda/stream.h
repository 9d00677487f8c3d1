// The order of work on a device, as launchers take it. Plain C++, so that rooms above need no CUDA header.
#pragma once

#include "kernels/common/activation.h"
#include "kernels/common/convolution_geometry.h"
#include "kernels/common/element_type.h"
#include "kernels/common/joint_shape.h"
#include "kernels/common/layout.h"

struct CUstream_st;

namespace convlens::cuda {

using namespace kernels;

// cudaStream_t
using Stream = CUstream_st*;

// What launchers of a device need to know to choose tiles; filled once for each context.
struct DeviceTraits {
    int major = 0, minor = 0;    // compute capability
    int multiprocessors = 0;
    int shared_bytes_block = 0;  // most dynamic shared memory of one block
    int l2_bytes = 0;
};

// The description of the last error of this thread's launches, or null; asking clears it.
const char* take_launch_error();

}  // namespace convlens::cuda
