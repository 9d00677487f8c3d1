// The kernels of fft_job.h, one pair a side (inside the FFT files only).
#pragma once

#include "kernels/cuda/convolution/fft_job.h"

namespace convlens::cuda::fft {

template <int side>
void start_forward(const ForwardJob& job, bool early, Stream stream);
template <int side>
void start_inverse(const InverseJob& job, bool early, Stream stream);

}  // namespace convlens::cuda::fft
