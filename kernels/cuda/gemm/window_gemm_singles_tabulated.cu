#include "kernels/cuda/gemm/window_gemm.cuh"

namespace convlens::cuda {

template void launch_window_gemm<ColumnSource::singles_tabulated>(int, const WindowGemmParams&, unsigned,
                                                                  unsigned, Stream);

}  // namespace convlens::cuda
