#include "kernels/cuda/gemm/batched_gemm_split.h"

#include "kernels/cuda/gemm/batched_gemm.cuh"

namespace convlens::cuda::batched {

//                                     split thread  warps  slices depth stages blocks
void split_middle(const BatchedGemm& gemm, Stream stream) {
    start<Shape<true, 4, 8, 2, 2, 1, 32, 3, 3>, 4, 4>(gemm, stream);
}
void split_tall(const BatchedGemm& gemm, Stream stream) {
    start<Shape<true, 4, 8, 4, 2, 1, 32, 3, 2>, 4, 4>(gemm, stream);
}
void split_thin(const BatchedGemm& gemm, Stream stream) {
    start<Shape<true, 2, 8, 1, 2, 4, 32, 3, 2>, 4, 4>(gemm, stream);
}

}  // namespace convlens::cuda::batched
