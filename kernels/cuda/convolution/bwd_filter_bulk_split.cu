#include <cuda_runtime_api.h>

#include "kernels/cuda/convolution/bwd_filter_bulk.cuh"

namespace convlens::cuda::filter_gradient {

void launch_bulk_split(const BulkArgs& a, const CUtensorMap& src, const CUtensorMap& diff, int outputs,
                       Stream stream) {
    launch_bulk_parts(a, src, diff, outputs, stream);
}

}  // namespace convlens::cuda::filter_gradient
