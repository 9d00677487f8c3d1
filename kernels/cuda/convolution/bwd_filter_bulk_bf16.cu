#include <cuda_runtime_api.h>

#include "kernels/cuda/convolution/bwd_filter_bulk.cuh"

namespace convlens::cuda::filter_gradient {

void launch_bulk_bf16(const BulkArgs& a, const CUtensorMap& src, const CUtensorMap& diff, int row_tiles,
                      int outputs, Stream stream) {
    launch_bulk<wgmma::Kind::bf16>(a, src, diff, row_tiles, outputs, stream);
}

}  // namespace convlens::cuda::filter_gradient
