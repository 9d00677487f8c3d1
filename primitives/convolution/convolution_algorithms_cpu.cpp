// The processor's convolution algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/in_f32_cpu.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConvolutionProblem>();
    namespace rows = convolution_rows;
    static const std::array list = {
        also_16_bit<rows::depthwise>(),
        // A window of one cell needs no pointers: before all that take any window.
        also_16_bit<rows::pointwise>(),
        // A half to a quarter of the multiplications, so before the matrix products; preferred only where
        // tiles and channels repay the transforms.
        also_16_bit<rows::winograd_4x4>(),
        also_16_bit<rows::winograd_2x2>(),
        also_16_bit<rows::winograd_2x2_5x5>(),
        // Large windows: a window's size costs transforms nothing but overlap.
        also_16_bit<rows::fft>(),
        also_16_bit<rows::fft_tiling>(),
        // The table of offsets is small and as quick as computing them, which is left for lengths beyond it.
        also_16_bit<rows::implicit_precomp_gemm>(),
        also_16_bit<rows::implicit_gemm>(),
        // Writes and reads the whole matrix: more traffic than the implicit forms, never less time.
        also_16_bit<rows::im2col_gemm>(),
        rows::direct(),
    };
    return list;
}

}  // namespace convlens
