// Whether this program's tests run on a GPU: the same sources are compiled for the processor, and into programs of tests/gpu.
#pragma once

namespace convlens::test {

#ifdef CONVLENS_TEST_CUDA
inline constexpr bool on_gpu = true;
#else
inline constexpr bool on_gpu = false;
#endif

}  // namespace convlens::test
