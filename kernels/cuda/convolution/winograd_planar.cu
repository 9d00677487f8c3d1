#include "kernels/cuda/convolution/winograd_planar.h"

#include "kernels/cuda/convolution/winograd_transform.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::winograd_detail {
namespace {

// A block: 32 tiles of 8 channels, a sector of transformed data. Channels are padded to multiples of 4 or 32.
constexpr int block_tiles = 32, block_channels = 8, block_threads = block_tiles * block_channels;
// 4 tiles of 8 channels lie in different banks.
constexpr int pitch = block_tiles + 4;

template <int tile, int window>
constexpr int shared_floats = (tile + window - 1) * (tile + window - 1) * block_channels* pitch;

struct Lane {
    std::uint32_t tile0, channel0;
    int plane_tile, plane_channel;  // of a thread that touches the tensor
    int row_tile, row_channel;      // of a thread that touches transformed data
};
__device__ __forceinline__ Lane lane_of(const Job& job) {
    const std::uint32_t channel_blocks = (job.row.divisor() + block_channels - 1) / block_channels;
    const auto thread = static_cast<int>(threadIdx.x);
    return {blockIdx.x / channel_blocks * block_tiles,
            blockIdx.x % channel_blocks * block_channels,
            thread % block_tiles,
            thread / block_tiles,
            thread / block_channels,
            thread % block_channels};
}

template <int tile, int window>
__global__ void __launch_bounds__(block_threads) input_kernel(Job job) {
    constexpr int side = tile + window - 1;
    __shared__ float shared[shared_floats<tile, window>];
    let_next_kernel_start();
    wait_for_previous_kernel();
    const Lane lane = lane_of(job);
    const std::uint32_t local = lane.tile0 + lane.plane_tile, channel = lane.channel0 + lane.plane_channel;
    const bool real = local < job.count && channel < static_cast<std::uint32_t>(job.channels);
    const TilePlace place = place_of(job, local);
    const int top = place.y * tile - job.pad_top, left = place.x * tile - job.pad_left;
    const float* first =
        job.src + place.image * job.image_step + channel * job.channel_step + top * job.row_step + left;
    float columns[side][side];  // [column][position down]
#pragma unroll
    for (int j = 0; j < side; ++j) {
        float cells[side];
        const bool column_inside =
            real && static_cast<unsigned>(left + j) < static_cast<unsigned>(job.src_width);
#pragma unroll
        for (int i = 0; i < side; ++i) {
            const bool inside =
                column_inside && static_cast<unsigned>(top + i) < static_cast<unsigned>(job.src_height);
            cells[i] = inside ? first[i * job.row_step + j] : 0.0f;
        }
        WinogradTransform<tile, window>::input(cells, columns[j]);
    }
    float* own = shared + lane.plane_channel * pitch + lane.plane_tile;
#pragma unroll
    for (int i = 0; i < side; ++i) {
        float line[side], done[side];
#pragma unroll
        for (int j = 0; j < side; ++j) line[j] = columns[j][i];
        WinogradTransform<tile, window>::input(line, done);
#pragma unroll
        for (int j = 0; j < side; ++j) own[(i * side + j) * block_channels * pitch] = done[j];
    }
    __syncthreads();
    const std::uint32_t to_tile = lane.tile0 + lane.row_tile, to_channel = lane.channel0 + lane.row_channel;
    if (to_tile >= job.count || to_channel >= job.row.divisor()) return;
    float* to = job.transformed + transformed_at(job, to_tile, to_channel);
    const float* from = shared + lane.row_channel * pitch + lane.row_tile;
#pragma unroll
    for (int i = 0; i < side * side; ++i) to[i * job.plane] = from[i * block_channels * pitch];
}

template <int tile, int window>
__global__ void __launch_bounds__(block_threads) output_kernel(Job job) {
    constexpr int side = tile + window - 1;
    __shared__ float shared[shared_floats<tile, window>];
    let_next_kernel_start();
    wait_for_previous_kernel();
    const Lane lane = lane_of(job);
    const std::uint32_t from_tile = lane.tile0 + lane.row_tile,
                        from_channel = lane.channel0 + lane.row_channel;
    if (from_tile < job.count && from_channel < job.row.divisor()) {
        const float* from =
            job.products + static_cast<std::int64_t>(from_tile) * job.row.divisor() + from_channel;
        float* to = shared + lane.row_channel * pitch + lane.row_tile;
#pragma unroll
        for (int i = 0; i < side * side; ++i) to[i * block_channels * pitch] = from[i * job.plane];
    }
    __syncthreads();
    const std::uint32_t local = lane.tile0 + lane.plane_tile, channel = lane.channel0 + lane.plane_channel;
    if (local >= job.count || channel >= static_cast<std::uint32_t>(job.channels)) return;
    const float* own = shared + lane.plane_channel * pitch + lane.plane_tile;
    float down[side][tile];  // [column][output row]
#pragma unroll
    for (int j = 0; j < side; ++j) {
        float cells[side];
#pragma unroll
        for (int i = 0; i < side; ++i) cells[i] = own[(i * side + j) * block_channels * pitch];
        WinogradTransform<tile, window>::output(cells, down[j]);
    }
    finish_tile<tile, window>(job, place_of(job, local), channel, down);
}

dim3 grid_of(const Job& job) {
    const unsigned tiles = (job.count + block_tiles - 1) / block_tiles;
    const unsigned channels = (job.row.divisor() + block_channels - 1) / block_channels;
    return dim3(tiles * channels);
}

}  // namespace

template <int tile, int window>
void input_planar(const Job& job, bool early, Stream stream) {
    launch_dependent(early, input_kernel<tile, window>, grid_of(job), dim3(block_threads), 0, stream, job);
}

template <int tile, int window>
void output_planar(const Job& job, bool early, Stream stream) {
    launch_dependent(early, output_kernel<tile, window>, grid_of(job), dim3(block_threads), 0, stream, job);
}

template void input_planar<2, 3>(const Job&, bool, Stream);
template void input_planar<4, 3>(const Job&, bool, Stream);
template void input_planar<2, 5>(const Job&, bool, Stream);
template void output_planar<2, 3>(const Job&, bool, Stream);
template void output_planar<4, 3>(const Job&, bool, Stream);
template void output_planar<2, 5>(const Job&, bool, Stream);

}  // namespace convlens::cuda::winograd_detail
