// Fourier transforms of image tiles for the FFT convolutions, one vector of channels at a time.
//
// A tile of rows x columns real cells (both even, with the factors 2, 3 and 5 only) has
// rows * (columns / 2) + 2 complex values of its own; they are numbered as kernels/common/filter_spectrum.h
// says. Two rows are transformed as one complex row, columns after that; the two real columns 0 and
// columns / 2 are one complex column.
//
// Spectra lie as tile, frequency, part, channel: a tile is one contiguous piece, so that it is written with
// few pages at hand, and the values of one frequency over tiles are the rows of a matrix. Complex products
// x * conj(w) are taken as three real ones, for which sources have three parts:
//   x: re + im, im, re    w: re, im - re, -(re + im)    x conj(w): re = p0 + p1, im = p0 + p2
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"

namespace convlens::cpu {

// One length of transform: the radices of its passes and their twiddle factors.
struct FftLength {
    std::int64_t length = 0;
    std::vector<int> radices;
    std::vector<float> twiddles;  // pass by pass, then p, then j = 1 .. radix - 1: re, im
};
FftLength fft_length(std::int64_t length);
// The least even length >= `least` with the factors 2, 3 and 5 only.
std::int64_t fft_good_length(std::int64_t least);

struct FftShape {
    FftLength down, across;  // of rows() and columns()
    std::int64_t rows() const { return down.length; }
    std::int64_t columns() const { return across.length; }
    std::int64_t frequencies() const { return rows() * (columns() / 2) + 2; }
};

// A tensor cut into tiles that may overlap.
struct FftTiles {
    std::int64_t tiles_y = 1, tiles_x = 1;    // of one image
    std::int64_t step_y = 0, step_x = 0;      // cells from tile to tile
    std::int64_t extent_y = 0, extent_x = 0;  // cells of a tile that belong to it; the others count as 0
    std::int64_t pad_top = 0, pad_left = 0;   // cells of the first tile before the tensor
    std::int64_t height = 0, width = 0, channels = 0;
    Strides5 strides{};  // N C D H W
};

// f32 lanes of the vector target in use.
std::int64_t fft_lanes();
// Floats of scratch for one transform at a time, a multiple of 16.
std::int64_t fft_scratch_floats(const FftShape& shape);

enum class FftParts : std::uint8_t { x, w };

// The spectrum of one vector of channels, from `channel` on, of one tile.
struct FftForward {
    const FftShape& shape;
    const FftTiles& tiles;
    const float* src;
    FftParts parts;
    float scale = 1;
    std::int64_t row = 0;  // floats from part to part; 3 parts a frequency
};
void fft_forward(const FftForward& job, std::int64_t tile, std::int64_t channel, float* spectrum,
                 float* scratch);

// dst = activation(alpha * inverse + bias + residual + beta * dst), of the first extent cells.
struct FftInverse {
    const FftShape& shape;
    const FftTiles& tiles;
    std::int64_t row = 0;   // floats from re to im
    std::int64_t step = 0;  // floats from frequency to frequency
    const float* bias;      // a value a channel, or null
    const float* residual;  // laid out as dst, may be dst, or null
    Activation activation;
    float alpha = 1, beta = 0;
    bool flipped = false;  // a tile is written from its last cell to its first
    float* dst;
};
void fft_inverse(const FftInverse& job, std::int64_t tile, std::int64_t channel, const float* spectrum,
                 float* scratch);

}  // namespace convlens::cpu
