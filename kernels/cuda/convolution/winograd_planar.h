// The transforms of winograd.h for tensors whose columns lie side by side (packed ones). Neighbouring threads
// take neighbouring tiles of a plane where they touch the tensor, and neighbouring channels where they touch
// transformed data; between, values go through shared memory.
#pragma once

#include "kernels/cuda/convolution/winograd_job.h"

namespace convlens::cuda::winograd_detail {

template <int tile, int window>
void input_planar(const Job& job, bool early, Stream stream);
template <int tile, int window>
void output_planar(const Job& job, bool early, Stream stream);

}  // namespace convlens::cuda::winograd_detail
