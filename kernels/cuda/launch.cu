#include "kernels/cuda/stream.h"

namespace convlens::cuda {

const char* take_launch_error() {
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace convlens::cuda
