// The steps of the kernels that transform tiles: a block holds one tile of some channels in shared memory.
//
// Forward: the tile is read; each thread transforms two rows as one complex row, in place; then each thread
// transforms one column of the half spectrum and writes it. Column 0 and column side / 2 are real after the
// first step and are one complex column. Inverse: the same from end to beginning.
//
// In shared memory a row's half spectrum lies where the row was: real parts in columns 0 .. side / 2 - 1,
// imaginary ones behind; those of column 0 hold the real values of column 0 and column side / 2.
#pragma once

#include "kernels/cuda/convolution/fft_codelet.h"
#include "kernels/cuda/convolution/fft_job.h"

namespace convlens::cuda::fft {

template <int side_>
struct Shape {
    static constexpr int side = side_, half = side / 2, channels = block_channels(side);
    static constexpr int threads = block_threads(side), pitch = row_pitch(side);
};

// A thread is one channel and, by step, a pair of rows, a column, or two columns of cells.
template <class S>
struct Lane {
    int channel, part;
    CONVLENS_FFT explicit Lane(int thread) : channel(thread % S::channels), part(thread / S::channels) {}
};

struct Place {
    std::int64_t image;
    int y, x;  // of the tile's first cell in the tensor
};
CONVLENS_FFT Place place_of(const Tiles& tiles, std::uint32_t tile) {
    std::uint32_t image = tile + tiles.tile0;
    std::uint32_t y = tiles.image_tiles.split(image);
    const std::uint32_t x = tiles.tiles_x.split(y);
    return {tiles.image0 + image, static_cast<int>(y) * tiles.step_y - tiles.pad_top,
            static_cast<int>(x) * tiles.step_x - tiles.pad_left};
}

// Cells [begin, end) of a tile's axis that are read from the tensor.
struct Range {
    int begin, end;
    CONVLENS_FFT bool has(int at) const { return at >= begin && at < end; }
};
CONVLENS_FFT Range real_cells(int first, int extent, int length) {
    const int begin = first < 0 ? -first : 0, end = length - first < extent ? length - first : extent;
    return {begin, end};
}

template <class S>
CONVLENS_FFT void read_tile(const ForwardJob& job, std::uint32_t tile, int channel0, int thread,
                            float* shared) {
    const Lane<S> lane(thread);
    const Tiles& t = job.tiles;
    const Place place = place_of(t, tile);
    const Range rows = real_cells(place.y, t.extent_y, t.height);
    const Range columns = real_cells(place.x, t.extent_x, t.width);
    const int channel = channel0 + lane.channel;
    const bool real = channel < t.channels;
    const bool left = real && columns.has(lane.part), right = real && columns.has(lane.part + S::half);
    const float* from = job.src + place.image * t.image_step + channel * t.channel_step +
                        place.y * t.row_step + (place.x + lane.part) * t.column_step;
    const std::int64_t other = S::half * t.column_step;
    float* to = shared + lane.part * S::channels + lane.channel;
#pragma unroll 8
    for (int row = 0; row < S::side; ++row) {
        const bool inside = rows.has(row);
        to[row * S::pitch] = inside && left ? from[row * t.row_step] : 0.0f;
        to[row * S::pitch + S::half * S::channels] = inside && right ? from[row * t.row_step + other] : 0.0f;
    }
}

template <class S>
CONVLENS_FFT void forward_rows(int thread, float* shared) {
    const Lane<S> lane(thread);
    float* first = shared + 2 * lane.part * S::pitch + lane.channel;
    float* second = first + S::pitch;
    float re[S::side], im[S::side];
#pragma unroll
    for (int x = 0; x < S::side; ++x) re[x] = first[x * S::channels], im[x] = second[x * S::channels];
    transform<S::side, -1>(re, im);
    first[0] = 2 * re[0], first[S::half * S::channels] = 2 * re[S::half];
    second[0] = 2 * im[0], second[S::half * S::channels] = 2 * im[S::half];
#pragma unroll
    for (int j = 1; j < S::half; ++j) {
        first[j * S::channels] = re[j] + re[S::side - j];
        first[(S::half + j) * S::channels] = im[j] - im[S::side - j];
        second[j * S::channels] = im[j] + im[S::side - j];
        second[(S::half + j) * S::channels] = re[S::side - j] - re[j];
    }
}

// Where the pair of a channel of a tile lies in the spectra, at frequency 0, in floats.
CONVLENS_FFT std::int64_t spectrum_at(const ForwardJob& job, std::uint32_t tile, int channel) {
    if (job.stage_rows == 0)
        return static_cast<std::int64_t>(tile) * 2 * job.tiles.row_channels + 2 * channel;
    // As winograd_transformed_slot.
    return (static_cast<std::int64_t>(channel / 16) * job.stage_rows + tile) * 32 +
           (2 * (channel % 16) ^ (tile % 2 * 16));
}

struct Pair {
    float re, im;
};
CONVLENS_FFT void store_pair(float* at, float re, float im) {
#ifdef __CUDA_ARCH__
    *reinterpret_cast<float2*>(at) = make_float2(re, im);
#else
    at[0] = re, at[1] = im;
#endif
}
CONVLENS_FFT Pair load_pair(const float* at) {
#ifdef __CUDA_ARCH__
    const float2 pair = *reinterpret_cast<const float2*>(at);
    return {pair.x, pair.y};
#else
    return {at[0], at[1]};
#endif
}

template <class S>
CONVLENS_FFT void forward_columns(const ForwardJob& job, std::uint32_t tile, int channel0, int thread,
                                  const float* shared) {
    const Lane<S> lane(thread);
    const int channel = channel0 + lane.channel;
    if (channel >= job.tiles.row_channels) return;
    const float* from = shared + lane.part * S::channels + lane.channel;
    float re[S::side], im[S::side];
#pragma unroll
    for (int y = 0; y < S::side; ++y) {
        re[y] = from[y * S::pitch];
        im[y] = from[y * S::pitch + S::half * S::channels];
    }
    transform<S::side, -1>(re, im);
    float* to = job.spectra + spectrum_at(job, tile, channel);
    if (lane.part > 0) {
        to += static_cast<std::int64_t>(lane.part - 1) * S::side * job.plane;
#pragma unroll
        for (int a = 0; a < S::side; ++a) store_pair(to + a * job.plane, re[a], im[a]);
        return;
    }
    to += static_cast<std::int64_t>(S::half - 1) * S::side * job.plane;
#pragma unroll
    for (int a = 0; a <= S::half; ++a) {
        const int b = (S::side - a) % S::side;
        store_pair(to + a * job.plane, 0.5f * (re[a] + re[b]), 0.5f * (im[a] - im[b]));
        store_pair(to + (S::half + 1 + a) * job.plane, 0.5f * (im[a] + im[b]), 0.5f * (re[b] - re[a]));
    }
}

template <class S>
CONVLENS_FFT void inverse_columns(const InverseJob& job, std::uint32_t tile, int channel0, int thread,
                                  float* shared) {
    const Lane<S> lane(thread);
    const int channel = channel0 + lane.channel;
    if (channel >= job.tiles.row_channels) return;
    const float* from =
        job.spectra + static_cast<std::int64_t>(tile) * 2 * job.tiles.row_channels + 2 * channel;
    float re[S::side], im[S::side];
    if (lane.part > 0) {
        from += static_cast<std::int64_t>(lane.part - 1) * S::side * job.plane;
#pragma unroll
        for (int a = 0; a < S::side; ++a) {
            const Pair z = load_pair(from + a * job.plane);
            re[a] = z.re, im[a] = z.im;
        }
    } else {
        from += static_cast<std::int64_t>(S::half - 1) * S::side * job.plane;
#pragma unroll
        for (int a = 0; a <= S::half; ++a) {
            const Pair first = load_pair(from + a * job.plane);
            const Pair last = load_pair(from + (S::half + 1 + a) * job.plane);
            const bool alone = a == 0 || a == S::half;  // a real value
            re[a] = alone ? first.re : first.re - last.im;
            im[a] = alone ? last.re : first.im + last.re;
            if (alone) continue;
            re[S::side - a] = first.re + last.im;
            im[S::side - a] = last.re - first.im;
        }
    }
    transform<S::side, 1>(re, im);
    float* to = shared + lane.part * S::channels + lane.channel;
#pragma unroll
    for (int y = 0; y < S::side; ++y) {
        to[y * S::pitch] = re[y];
        to[y * S::pitch + S::half * S::channels] = im[y];
    }
}

template <class S>
CONVLENS_FFT void inverse_rows(const InverseJob& job, int thread, float* shared) {
    const Lane<S> lane(thread);
    if (2 * lane.part >= job.tiles.extent_y) return;
    float* first = shared + 2 * lane.part * S::pitch + lane.channel;
    float* second = first + S::pitch;
    float re[S::side], im[S::side];
    re[0] = first[0], re[S::half] = first[S::half * S::channels];
    im[0] = second[0], im[S::half] = second[S::half * S::channels];
#pragma unroll
    for (int j = 1; j < S::half; ++j) {
        const float a = first[j * S::channels], b = first[(S::half + j) * S::channels];
        const float c = second[j * S::channels], d = second[(S::half + j) * S::channels];
        re[j] = a - d, im[j] = b + c;
        re[S::side - j] = a + d, im[S::side - j] = c - b;
    }
    transform<S::side, 1>(re, im);
#pragma unroll
    for (int x = 0; x < S::side; ++x) first[x * S::channels] = re[x], second[x * S::channels] = im[x];
}

// Calls body(element of dst, value) for the cells of dst that a thread has.
template <class S, class Body>
CONVLENS_FFT void write_tile(const InverseJob& job, std::uint32_t tile, int channel0, int thread,
                             const float* shared, const Body& body) {
    const Lane<S> lane(thread);
    const Tiles& t = job.tiles;
    const int channel = channel0 + lane.channel;
    if (channel >= t.channels) return;
    const Place place = place_of(t, tile);
    const int rows = t.height - place.y < t.extent_y ? t.height - place.y : t.extent_y;
    const int columns = t.width - place.x < t.extent_x ? t.width - place.x : t.extent_x;
    const std::int64_t at = place.image * t.image_step + channel * t.channel_step + place.y * t.row_step +
                            place.x * t.column_step;
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
        const int x = lane.part + side * S::half;
        if (x >= columns) break;
        const float* from = shared + x * S::channels + lane.channel;
        const std::int64_t column = at + (job.flipped ? columns - 1 - x : x) * t.column_step;
#pragma unroll 4
        for (int y = 0; y < rows; ++y)
            body(column + (job.flipped ? rows - 1 - y : y) * t.row_step, channel, from[y * S::pitch]);
    }
}

}  // namespace convlens::cuda::fft
