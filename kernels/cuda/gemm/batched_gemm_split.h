// The instances of batched_gemm with split factors. Rows of both factors begin at multiples of 16 bytes; the
// depth is a multiple of 4.
#pragma once

#include "kernels/cuda/gemm/batched_gemm.h"

namespace convlens::cuda::batched {

void split_middle(const BatchedGemm& gemm, Stream stream);  // 64 x 64
void split_narrow(const BatchedGemm& gemm, Stream stream);  // 128 x 48
void split_tall(const BatchedGemm& gemm, Stream stream);    // 128 x 64
void split_thin(const BatchedGemm& gemm, Stream stream);    // 16 x 64

}  // namespace convlens::cuda::batched
