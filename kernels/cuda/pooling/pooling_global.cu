#include <algorithm>

#include "kernels/cuda/pooling/window.cuh"

namespace convlens::cuda {
namespace {

// A single channel is a map.
bool is_by_channels(const PoolingParams& params) {
    return params.src_channel_stride == 1 && params.channels > 1;
}

// A window that covers the whole of src.
struct Global {
    std::int64_t batch_stride, channel_stride;
    std::int64_t dst_batch_stride, dst_channel_stride;
    int channels;
    int cells;
    // A cell's place: cell * step where all cells follow each other (rank 1), else by the walk.
    Walk<1> walk;
    float divisor;
    int splits, split_cells;
    const float* src;
    float* dst;
    float* parts;  // splits x batch x channels, where there is more than one split
};

__device__ __forceinline__ std::int64_t cell_address(const Global& g, int cell) {
    std::int64_t at[1] = {};
    locate(g.walk, cell, at);
    return at[0];
}

template <class Fold>
__device__ __forceinline__ float finish(const Global& g, float folded) {
    return Fold::identity == 0.0f ? folded / g.divisor : folded;
}

// Channels contiguous: `lanes` threads side by side take width channels each, `parts` such rows of threads
// share the cells. blockIdx.x: strips of channels, blockIdx.y: batch, blockIdx.z: splits of the cells.
template <class Fold, int width, int lanes, int parts>
__global__ void __launch_bounds__(lanes* parts) global_channels(const __grid_constant__ Global g) {
    __shared__ float shared[parts][lanes * width];
    const int lane = threadIdx.x % lanes, part = threadIdx.x / lanes;
    const int c = (blockIdx.x * lanes + lane) * width;
    float result[width];
#pragma unroll
    for (int i = 0; i < width; ++i) result[i] = Fold::identity;
    if (c < g.channels) {
        const float* src = g.src + blockIdx.y * g.batch_stride + c;
        const int end = min(g.cells, static_cast<int>(blockIdx.z + 1) * g.split_cells);
#pragma unroll 4
        for (int cell = static_cast<int>(blockIdx.z) * g.split_cells + part; cell < end; cell += parts) {
            float x[width];
            load_cell(src + cell_address(g, cell), x);
#pragma unroll
            for (int i = 0; i < width; ++i) result[i] = Fold::fold(result[i], x[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < width; ++i) shared[part][lane * width + i] = result[i];
    for (int half = parts / 2; half > 0; half /= 2) {
        __syncthreads();
        if (part < half)
#pragma unroll
            for (int i = 0; i < width; ++i) {
                result[i] = Fold::fold(result[i], shared[part + half][lane * width + i]);
                shared[part][lane * width + i] = result[i];
            }
    }
    if (part != 0 || c >= g.channels) return;
    if (g.splits > 1) {
        float* to =
            g.parts + (static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y) * g.channels + c;
#pragma unroll
        for (int i = 0; i < width; ++i) to[i] = result[i];
        return;
    }
#pragma unroll
    for (int i = 0; i < width; ++i)
        g.dst[blockIdx.y * g.dst_batch_stride + (c + i) * g.dst_channel_stride] = finish<Fold>(g, result[i]);
}

template <class Fold>
__global__ void __launch_bounds__(128) join_splits(const __grid_constant__ Global g, int batch) {
    const int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= g.channels) return;
    float result = Fold::identity;
#pragma unroll 4
    for (int split = 0; split < g.splits; ++split)
        result = Fold::fold(
            result, g.parts[(static_cast<std::int64_t>(split) * batch + blockIdx.y) * g.channels + c]);
    g.dst[blockIdx.y * g.dst_batch_stride + c * g.dst_channel_stride] = finish<Fold>(g, result);
}

template <class Fold>
__device__ __forceinline__ float fold_warp(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x = Fold::fold(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

// Maps contiguous: `warps` warps a map, `width` cells (4, where they all follow each other, or 1) a load.
// blockIdx.x: maps (eight, or one, a block), blockIdx.y: batch.
template <class Fold, int width, int warps>
__global__ void __launch_bounds__(256) global_maps(const __grid_constant__ Global g) {
    constexpr int maps = 8 / warps;
    __shared__ float shared[8];
    const int warp = threadIdx.x / 32;
    const int c = blockIdx.x * maps + warp / warps;
    float result = Fold::identity;
    if (c < g.channels) {
        const float* src = g.src + blockIdx.y * g.batch_stride + c * g.channel_stride;
#pragma unroll 4
        for (int cell = threadIdx.x % (warps * 32) * width; cell < g.cells; cell += warps * 32 * width) {
            float x[width];
            load_cell(src + (width == 1 ? cell_address(g, cell) : cell), x);
#pragma unroll
            for (int i = 0; i < width; ++i) result = Fold::fold(result, x[i]);
        }
    }
    result = fold_warp<Fold>(result);
    if constexpr (warps > 1) {
        if (threadIdx.x % 32 == 0) shared[warp] = result;
        __syncthreads();
        result = fold_warp<Fold>(threadIdx.x < 8 ? shared[threadIdx.x] : Fold::identity);
    }
    if (threadIdx.x % (warps * 32) == 0 && c < g.channels)
        g.dst[blockIdx.y * g.dst_batch_stride + c * g.dst_channel_stride] = finish<Fold>(g, result);
}

template <class Fold>
void run_channels(const Global& g, bool wide, int batch, Stream stream) {
    const auto launch = [&]<int width, int lanes, int parts>() {
        const dim3 grid(blocks_for(g.channels, width * lanes), static_cast<unsigned>(batch),
                        static_cast<unsigned>(g.splits));
        global_channels<Fold, width, lanes, parts><<<grid, lanes * parts, 0, stream>>>(g);
    };
    // Narrow strips where there are many cells and few strips, so that every multiprocessor has work.
    constexpr std::int64_t enough = 1024;
    const bool narrow = g.cells > 256 && divide_up(g.channels, 32) * batch < enough;
    if (wide && narrow)
        launch.template operator()<4, 2, 256>();
    else if (wide)
        launch.template operator()<4, 8, 32>();
    else if (narrow)
        launch.template operator()<1, 8, 64>();
    else
        launch.template operator()<1, 32, 8>();
    if (g.splits > 1)
        join_splits<Fold>
            <<<dim3(blocks_for(g.channels, 128), static_cast<unsigned>(batch)), 128, 0, stream>>>(g, batch);
}

template <class Fold>
void run_maps(const Global& g, int batch, Stream stream) {
    const auto launch = [&]<int width, int warps>() {
        const dim3 grid(blocks_for(g.channels, 8 / warps), static_cast<unsigned>(batch));
        global_maps<Fold, width, warps><<<grid, 256, 0, stream>>>(g);
    };
    const bool wide = g.walk.rank == 1 && g.walk.strides[0][0] == 1 && g.cells % 4 == 0 &&
                      g.batch_stride % 4 == 0 && (g.channel_stride % 4 == 0 || g.channels == 1) &&
                      reinterpret_cast<std::uintptr_t>(g.src) % 16 == 0;
    const bool large = g.cells > (wide ? 1024 : 512);
    if (wide && large)
        launch.template operator()<4, 8>();
    else if (wide)
        launch.template operator()<4, 1>();
    else if (large)
        launch.template operator()<1, 8>();
    else
        launch.template operator()<1, 1>();
}

template <class Fold>
void run(const PoolingParams& params, const Global& g, Stream stream) {
    const auto batch = static_cast<int>(params.batch);
    if (!is_by_channels(params)) return run_maps<Fold>(g, batch, stream);
    bool wide = params.channels % 4 == 0 && params.src_batch_stride % 4 == 0 &&
                reinterpret_cast<std::uintptr_t>(g.src) % 16 == 0;
    for (const auto& axis : params.axes) wide = wide && axis.src_stride % 4 == 0;
    run_channels<Fold>(g, wide, batch, stream);
}

std::int64_t cells_of(const PoolingParams& params) {
    return params.axes[0].src * params.axes[1].src * params.axes[2].src;
}

// More than one where strips of 8 channels would leave most multiprocessors of a large device idle.
int splits_of(const PoolingParams& params) {
    constexpr std::int64_t enough = 256, least_cells = 512, most = 32;
    const std::int64_t strips = divide_up(params.channels, 8) * params.batch;
    if (!is_by_channels(params) || strips == 0 || strips >= enough / 2) return 1;
    return static_cast<int>(
        std::clamp<std::int64_t>(std::min(cells_of(params) / least_cells, enough / strips), 1, most));
}

}  // namespace

std::size_t pooling_global_workspace_bytes(const PoolingParams& params) {
    const auto splits = static_cast<std::size_t>(splits_of(params));
    if (splits == 1) return 0;
    return splits * static_cast<std::size_t>(params.batch * params.channels) * sizeof(float);
}

void pooling_global(const PoolingParams& params, const float* src, float* dst, void* workspace,
                    Stream stream) {
    if (params.batch == 0 || params.channels == 0) return;
    ShortPooling p;
    if (params.batch > 65535 || params.channels >= divisor_limit / 2 ||
        cells_of(params) >= divisor_limit / 2 || !shorten(params, src, dst, p)) {
        pooling_direct(params, src, dst, stream);
        return;
    }
    Layout cells;
    cells.rank = 3;
    for (std::size_t i = 0; i < 3; ++i) {
        cells.dims[i] = params.axes[i].src;
        cells.strides[i] = params.axes[i].src_stride;
    }
    const JointShape shape = kernels::join({cells});
    Global g{};
    g.batch_stride = params.src_batch_stride;
    g.channel_stride = params.src_channel_stride;
    g.dst_batch_stride = params.dst_batch_stride;
    g.dst_channel_stride = params.dst_channel_stride;
    g.channels = static_cast<int>(params.channels);
    g.cells = static_cast<int>(shape.elements);
    g.splits = splits_of(params);
    g.split_cells = static_cast<int>(divide_up(g.cells, g.splits));
    g.parts = static_cast<float*>(workspace);
    g.walk = make_walk(shape, {0});
    double counted = 1;
    for (const auto& axis : params.axes) {
        const auto of_axis = axis.cells(0);
        counted *= static_cast<double>(params.kind == PoolKind::average_include_pad ? of_axis.counted
                                                                                    : of_axis.count);
    }
    g.divisor = static_cast<float>(counted);
    g.src = p.src;
    g.dst = p.dst;
    if (params.kind == PoolKind::max)
        run<MaxFold>(params, g, stream);
    else
        run<SumFold>(params, g, stream);
}

}  // namespace convlens::cuda
