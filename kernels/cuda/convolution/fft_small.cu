// The transforms of sides 16, 24 and 32.
#include "kernels/cuda/convolution/fft_kernels.cuh"

namespace convlens::cuda::fft {

template void start_forward<16>(const ForwardJob&, bool, Stream);
template void start_inverse<16>(const InverseJob&, bool, Stream);
template void start_forward<24>(const ForwardJob&, bool, Stream);
template void start_inverse<24>(const InverseJob&, bool, Stream);
template void start_forward<32>(const ForwardJob&, bool, Stream);
template void start_inverse<32>(const InverseJob&, bool, Stream);

}  // namespace convlens::cuda::fft
