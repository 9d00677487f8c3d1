#include "kernels/cuda/convolution/fft_start.h"

namespace convlens::cuda::fft {

void forward(int side, const ForwardJob& job, bool early, Stream stream) {
    switch (side) {
        case 16:
            return start_forward<16>(job, early, stream);
        case 24:
            return start_forward<24>(job, early, stream);
        case 32:
            return start_forward<32>(job, early, stream);
        case 36:
            return start_forward<36>(job, early, stream);
        case 40:
            return start_forward<40>(job, early, stream);
        case 48:
            return start_forward<48>(job, early, stream);
        case 64:
            return start_forward<64>(job, early, stream);
        default:
            return;
    }
}

void inverse(int side, const InverseJob& job, bool early, Stream stream) {
    switch (side) {
        case 16:
            return start_inverse<16>(job, early, stream);
        case 24:
            return start_inverse<24>(job, early, stream);
        case 32:
            return start_inverse<32>(job, early, stream);
        case 36:
            return start_inverse<36>(job, early, stream);
        case 40:
            return start_inverse<40>(job, early, stream);
        case 48:
            return start_inverse<48>(job, early, stream);
        case 64:
            return start_inverse<64>(job, early, stream);
        default:
            return;
    }
}

}  // namespace convlens::cuda::fft
