#include "kernels/cpu/gemm/outer_product.h"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/outer_product.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

// Accumulators, two vectors of B and one broadcast fit 32 or 16 vector registers.
constexpr int tile_rows = HWY_TARGET <= HWY_AVX3 ? 14 : 6;

template <int rows, int vectors>
void tile(const OuterLines& lines, std::int64_t first_row, bool add, float* HWY_RESTRICT c) {
    const D d;
    const std::int64_t width = vectors * lanes();
    V sum[rows][vectors];
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sum[i][v] = hn::Zero(d);
    for (std::int64_t line = 0; line < lines.lines; ++line) {
        const float* HWY_RESTRICT a = lines.a[line] + first_row;
        const float* HWY_RESTRICT b = lines.b[line];
#pragma GCC unroll 2
        for (std::int64_t cell = 0; cell < lines.cells; ++cell, a += lines.a_step, b += lines.b_step) {
            V right[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * lanes());
#pragma GCC unroll 16
            for (int i = 0; i < rows; ++i) {
                const V left = hn::Set(d, a[i]);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v) sum[i][v] = hn::MulAdd(left, right[v], sum[i][v]);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            float* to = c + i * width + v * lanes();
            hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sum[i][v]) : sum[i][v], d, to);
        }
}

using Tile = void (*)(const OuterLines&, std::int64_t, bool, float*);
template <int vectors, int... index>
constexpr std::array<Tile, tile_rows> tiles_of(std::integer_sequence<int, index...>) {
    return {tile<index + 1, vectors>...};
}
constexpr auto narrow_tiles = tiles_of<1>(std::make_integer_sequence<int, tile_rows>());
constexpr auto wide_tiles = tiles_of<2>(std::make_integer_sequence<int, tile_rows>());

void outer_product_impl(const OuterLines& lines, std::int64_t rows, int vectors, bool add, float* c) {
    const auto& tiles = vectors == 1 ? narrow_tiles : wide_tiles;
    const std::int64_t width = vectors * lanes();
    const std::int64_t count = (rows + tile_rows - 1) / tile_rows;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = rows * i / count, end = rows * (i + 1) / count;
        tiles[static_cast<std::size_t>(end - begin - 1)](lines, begin, add, c + begin * width);
    }
}

std::int64_t lanes_impl() { return lanes(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(outer_product_impl);
HWY_EXPORT(lanes_impl);

}  // namespace

std::int64_t outer_product_lanes() { return HWY_DYNAMIC_DISPATCH(lanes_impl)(); }

void outer_product(const OuterLines& lines, std::int64_t rows, int vectors, bool add, float* c) {
    HWY_DYNAMIC_DISPATCH(outer_product_impl)(lines, rows, vectors, add, c);
}

}  // namespace convlens::cpu
#endif
