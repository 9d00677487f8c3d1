// The transforms of sides 48 and 64.
#include "kernels/cuda/convolution/fft_kernels.cuh"

namespace convlens::cuda::fft {

template void start_forward<48>(const ForwardJob&, bool, Stream);
template void start_inverse<48>(const InverseJob&, bool, Stream);
template void start_forward<64>(const ForwardJob&, bool, Stream);
template void start_inverse<64>(const InverseJob&, bool, Stream);

}  // namespace convlens::cuda::fft
