// The processor's convolution algorithms, best first, the naive reference last.
#include <array>

#include "primitives/algorithm.h"
#include "primitives/device.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConvolutionProblem>();
    static const std::array rows = {
        convolution_rows::depthwise(),
        // A window of one cell needs no pointers: before all that take any window.
        convolution_rows::pointwise(),
        // A half to a quarter of the multiplications, so before the matrix products; preferred only where
        // tiles and channels repay the transforms.
        convolution_rows::winograd_4x4(),
        convolution_rows::winograd_2x2(),
        convolution_rows::winograd_2x2_5x5(),
        // Large windows: a window's size costs transforms nothing but overlap.
        convolution_rows::fft(),
        convolution_rows::fft_tiling(),
        // The table of offsets is small and as quick as computing them, which is left for lengths beyond it.
        convolution_rows::implicit_precomp_gemm(),
        convolution_rows::implicit_gemm(),
        // Writes and reads the whole matrix: more traffic than the implicit forms, never less time.
        convolution_rows::im2col_gemm(),
        convolution_rows::direct(),
    };
    return rows;
}

}  // namespace convlens
