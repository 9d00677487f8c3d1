#include "kernels/cuda/gemm/batched_gemm_split.h"

#include "kernels/cuda/gemm/batched_gemm.cuh"

namespace convlens::cuda::batched {
namespace {

template <class S>
void start_stores(const BatchedGemm& gemm, Stream stream) {
    const bool pairs =
        reinterpret_cast<std::uintptr_t>(gemm.d) % 8 == 0 && gemm.d_row % 2 == 0 && gemm.d_batch % 2 == 0;
    return pairs ? start<S, 4, 4>(gemm, stream) : start<S, 4, 1>(gemm, stream);
}

}  // namespace

//                                     split thread  warps  slices depth stages blocks
void split_middle(const BatchedGemm& gemm, Stream stream) {
    start_stores<Shape<true, 4, 8, 2, 2, 1, 32, 3, 3>>(gemm, stream);
}
void split_narrow(const BatchedGemm& gemm, Stream stream) {
    start_stores<Shape<true, 4, 12, 4, 1, 1, 32, 2, 3>>(gemm, stream);
}
void split_tall(const BatchedGemm& gemm, Stream stream) {
    start_stores<Shape<true, 4, 8, 4, 2, 1, 32, 3, 2>>(gemm, stream);
}
void split_thin(const BatchedGemm& gemm, Stream stream) {
    start_stores<Shape<true, 2, 8, 1, 2, 4, 32, 3, 2>>(gemm, stream);
}

}  // namespace convlens::cuda::batched
