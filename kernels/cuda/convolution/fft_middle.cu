// The transforms of sides 36 and 40.
#include "kernels/cuda/convolution/fft_kernels.cuh"

namespace convlens::cuda::fft {

template void start_forward<36>(const ForwardJob&, bool, Stream);
template void start_inverse<36>(const InverseJob&, bool, Stream);
template void start_forward<40>(const ForwardJob&, bool, Stream);
template void start_inverse<40>(const InverseJob&, bool, Stream);

}  // namespace convlens::cuda::fft
