#include "kernels/cuda/transform/tile_copy.h"

#include <algorithm>

#include "kernels/cuda/transform/words.cuh"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr int narrow_side = 32, wide_side = 64;
constexpr int block = 256;

// The axis along which src is contiguous where that is another than dst's and both are long enough for tiles,
// else -1.
inline int cross_axis(const JointShape& shape) {
    constexpr std::int64_t least = 16;
    if (shape.rank < 2 || shape.inner() < least || shape.inner_stride(1) != 1) return -1;
    if (const std::int64_t step = shape.inner_stride(0); step == 1 || step == 0) return -1;
    for (int axis = 0; axis + 1 < shape.rank; ++axis)
        if (shape.strides[0][static_cast<std::size_t>(axis)] == 1 &&
            shape.dims[static_cast<std::size_t>(axis)] >= least)
            return axis;
    return -1;
}

struct Tiles {
    Walk<2> outer;  // the other axes; src, dst
    const void* src;
    void* dst;
    std::int64_t inner, cross;        // lengths
    std::int64_t src_step, dst_step;  // src along inner, dst along cross; the other two are 1
    Divisor inner_tiles;
};

// blockIdx.x: tiles of the plane, the inner ones fastest; blockIdx.y: planes.
struct Corner {
    std::int64_t across, along;
};
__device__ __forceinline__ Corner corner_of(const Tiles& t, int side) {
    const std::uint32_t across = t.inner_tiles.quotient(blockIdx.x);
    const std::uint32_t along = blockIdx.x - across * t.inner_tiles.divisor;
    return {static_cast<std::int64_t>(across) * side, static_cast<std::int64_t>(along) * side};
}

template <class Word>
__global__ void __launch_bounds__(block) copy_tiles(const __grid_constant__ Tiles t) {
    constexpr int side = narrow_side, rows = block / side;
    __shared__ Word tile[side][side + 1];
    const auto [across, along] = corner_of(t, side);
    const int lane = threadIdx.x % side, first_row = threadIdx.x / side;
    for (std::int64_t plane = blockIdx.y; plane < t.outer.count; plane += gridDim.y) {
        std::int64_t at[2] = {};
        locate(t.outer, plane, at);
        const Word* src = static_cast<const Word*>(t.src) + at[0];
        Word* dst = static_cast<Word*>(t.dst) + at[1];
        if (across + lane < t.cross)
            for (int row = first_row; row < side && along + row < t.inner; row += rows)
                tile[row][lane] = src[(along + row) * t.src_step + across + lane];
        __syncthreads();
        if (along + lane < t.inner)
            for (int row = first_row; row < side && across + row < t.cross; row += rows)
                dst[(across + row) * t.dst_step + along + lane] = tile[lane][row];
        __syncthreads();
    }
}

__global__ void __launch_bounds__(block) copy_wide_tiles(const __grid_constant__ Tiles t) {
    constexpr int side = wide_side, groups = side / 4, rows = block / groups;
    __shared__ std::uint32_t tile[side][side + 1];
    const auto [across, along] = corner_of(t, side);
    const int lane = threadIdx.x % groups * 4, first_row = threadIdx.x / groups;
    for (std::int64_t plane = blockIdx.y; plane < t.outer.count; plane += gridDim.y) {
        std::int64_t at[2] = {};
        locate(t.outer, plane, at);
        const auto* src = static_cast<const std::uint32_t*>(t.src) + at[0] + across + lane;
        auto* dst = static_cast<std::uint32_t*>(t.dst) + at[1] + along + lane;
        uint4 v[side / rows];
#pragma unroll
        for (int k = 0; k < side / rows; ++k) {
            const std::int64_t row = along + first_row + k * rows;
            if (across + lane < t.cross && row < t.inner)
                v[k] = *reinterpret_cast<const uint4*>(src + row * t.src_step);
        }
#pragma unroll
        for (int k = 0; k < side / rows; ++k) {
            std::uint32_t* row = tile[first_row + k * rows] + lane;
            row[0] = v[k].x, row[1] = v[k].y, row[2] = v[k].z, row[3] = v[k].w;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < side / rows; ++k) {
            const int row = first_row + k * rows;
            if (along + lane < t.inner && across + row < t.cross)
                *reinterpret_cast<uint4*>(dst + (across + row) * t.dst_step) = make_uint4(
                    tile[lane][row], tile[lane + 1][row], tile[lane + 2][row], tile[lane + 3][row]);
        }
        __syncthreads();
    }
}

// The axes beside inner and cross.
JointShape outer_shape(const JointShape& shape, int cross) {
    JointShape outer = shape;
    outer.rank = 0;
    outer.elements = 1;
    for (int axis = 0; axis + 1 < shape.rank; ++axis) {
        if (axis == cross) continue;
        const auto a = static_cast<std::size_t>(axis), to = static_cast<std::size_t>(outer.rank++);
        outer.dims[to] = shape.dims[a];
        outer.elements *= shape.dims[a];
        for (std::size_t k = 0; k < 2; ++k) outer.strides[k][to] = shape.strides[k][a];
    }
    if (outer.rank == 0) {
        outer.rank = 1;
        outer.dims[0] = 1;
        outer.strides[0][0] = outer.strides[1][0] = 0;
    }
    return outer;
}

bool may_be_wide(const StridedCopy& copy, const Tiles& t, const JointShape& outer) {
    if (size_of(copy.to) != 4 || t.inner % 4 != 0 || t.cross % 4 != 0) return false;
    if (t.src_step % 4 != 0 || t.dst_step % 4 != 0) return false;
    if (reinterpret_cast<std::uintptr_t>(t.src) % 16 != 0 ||
        reinterpret_cast<std::uintptr_t>(t.dst) % 16 != 0)
        return false;
    for (std::size_t k = 0; k < 2; ++k)
        for (int axis = 0; axis < outer.rank; ++axis)
            if (outer.strides[k][static_cast<std::size_t>(axis)] % 4 != 0) return false;
    return true;
}

}  // namespace

bool tile_copy(const StridedCopy& copy, const void* src, void* dst, Stream stream) {
    const JointShape& shape = copy.shape;
    const int cross = cross_axis(shape);
    if (cross < 0) return false;
    const JointShape outer = outer_shape(shape, cross);
    const auto c = static_cast<std::size_t>(cross), i = static_cast<std::size_t>(shape.rank - 1);
    Tiles tiles{};
    tiles.outer = make_walk(outer, {0, 1});
    tiles.src = first(src, copy);
    tiles.dst = first(dst, copy);
    tiles.inner = shape.dims[i];
    tiles.cross = shape.dims[c];
    tiles.src_step = shape.strides[0][i];
    tiles.dst_step = shape.strides[1][c];
    const bool wide = may_be_wide(copy, tiles, outer);
    const int side = wide ? wide_side : narrow_side;
    const std::int64_t inner_tiles = divide_up(tiles.inner, side), cross_tiles = divide_up(tiles.cross, side);
    if (inner_tiles >= divisor_limit || cross_tiles >= divisor_limit / inner_tiles) return false;
    tiles.inner_tiles = Divisor::of(inner_tiles);
    const dim3 grid(static_cast<unsigned>(inner_tiles * cross_tiles),
                    static_cast<unsigned>(std::min<std::int64_t>(tiles.outer.count, 65535)));
    if (wide)
        copy_wide_tiles<<<grid, block, 0, stream>>>(tiles);
    else
        with_word(static_cast<int>(size_of(copy.to)),
                  [&]<class Word>(Word) { copy_tiles<Word><<<grid, block, 0, stream>>>(tiles); });
    return true;
}

}  // namespace convlens::cuda
