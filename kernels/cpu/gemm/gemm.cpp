#include "kernels/cpu/gemm/gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"

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
constexpr int panel_vectors = 2;
constexpr int most_lanes = 16;
// Columns of a tile's buffer are counted in the panel's own width.
constexpr int tile_floats = tile_rows * panel_vectors * most_lanes;

// The last vector of a row may be stored in part at no cost.
constexpr bool masked_stores = HWY_TARGET <= HWY_AVX3;

// A part of B's panel that stays in the second-level cache while all rows pass: floats of k.
constexpr std::int64_t chunk_k = 2048;

// The commonest epilogue, applied to registers: bias, residual, clamp, store to columns that lie side by
// side.
struct Store {
    float* c;               // null: the tile is stored plainly for finish_tile()
    const float* residual;  // or null
    const std::int64_t* offsets;
    const float* bias;
    float low, high;
    std::int64_t last_columns;  // of the last vector
};

template <int rows, int vectors>
HWY_INLINE void store_tile(const V (&sum)[rows][vectors], const Store& store) {
    const D d;
    const V low = hn::Set(d, store.low);
    const V high = hn::Set(d, store.high);
    V bias[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) bias[v] = hn::LoadU(d, store.bias + v * lanes());
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
        float* to = store.c + store.offsets[i];
        const float* residual = store.residual ? store.residual + store.offsets[i] : nullptr;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            V x = hn::Add(sum[i][v], bias[v]);
            if (masked_stores && v == vectors - 1) {
                const auto mask = hn::FirstN(d, static_cast<std::size_t>(store.last_columns));
                if (store.residual) x = hn::Add(x, hn::MaskedLoad(mask, d, residual + v * lanes()));
                hn::BlendedStore(clamp_vector(d, x, low, high), mask, d, to + v * lanes());
            } else {
                if (store.residual) x = hn::Add(x, hn::LoadU(d, residual + v * lanes()));
                hn::StoreU(clamp_vector(d, x, low, high), d, to + v * lanes());
            }
        }
    }
}

// One register tile: `rows` rows of A times one panel of `vectors` vectors, to C or into `tile` (row-major,
// as wide as the panel).  Run r of row i begins at a[r * tile_rows + i] + skip.
template <int rows, int vectors>
void tile_product(const float* const* a, std::int64_t runs, std::int64_t length, std::int64_t skip,
                  const float* HWY_RESTRICT b, float* HWY_RESTRICT tile, const Store& store) {
    const D d;
    const std::int64_t width = vectors * lanes();
    V sum[rows][vectors];
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sum[i][v] = hn::Zero(d);
    for (std::int64_t run = 0; run < runs; ++run, a += tile_rows) {
        const float* row[rows];
#pragma GCC unroll 16
        for (int i = 0; i < rows; ++i) row[i] = a[i] + skip;
#pragma GCC unroll 4
        for (std::int64_t k = 0; k < length; ++k) {
            V right[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * lanes());
            b += width;
#pragma GCC unroll 16
            for (int i = 0; i < rows; ++i) {
                const V left = hn::Set(d, row[i][k]);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v) sum[i][v] = hn::MulAdd(left, right[v], sum[i][v]);
            }
        }
    }
    if (store.c) return store_tile<rows, vectors>(sum, store);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) hn::StoreU(sum[i][v], d, tile + i * width + v * lanes());
}

using TileProduct = void (*)(const float* const*, std::int64_t, std::int64_t, std::int64_t, const float*,
                             float*, const Store&);
template <int vectors, int... index>
constexpr std::array<TileProduct, tile_rows> tile_products(std::integer_sequence<int, index...>) {
    return {tile_product<index + 1, vectors>...};
}
constexpr auto narrow_products = tile_products<1>(std::make_integer_sequence<int, tile_rows>());
constexpr auto wide_products = tile_products<2>(std::make_integer_sequence<int, tile_rows>());

// Vectors whose last lanes may lie outside the matrix. SSE4's own masked load may touch them.
HWY_INLINE V load_columns(const float* from, std::int64_t stride, std::int64_t count) {
    const D d;
    if (stride == 1 && count >= lanes()) return hn::LoadU(d, from);
    if constexpr (HWY_TARGET <= HWY_AVX2) {
        if (stride == 1) return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
    }
    HWY_ALIGN float values[most_lanes] = {};
    for (std::int64_t i = 0; i < std::min(count, lanes()); ++i) values[i] = from[i * stride];
    return hn::Load(d, values);
}
HWY_INLINE void store_columns(V x, float* to, std::int64_t stride, std::int64_t count) {
    const D d;
    if (stride == 1 && count >= lanes()) return hn::StoreU(x, d, to);
    if constexpr (HWY_TARGET <= HWY_AVX2) {
        if (stride == 1) return hn::BlendedStore(x, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
    }
    HWY_ALIGN float values[most_lanes];
    hn::Store(x, d, values);
    for (std::int64_t i = 0; i < std::min(count, lanes()); ++i) to[i * stride] = values[i];
}

// What happens to one panel's columns of C.
struct Columns {
    float* c;               // column 0 of the panel
    const float* residual;  // likewise, or null
    const float* bias;      // zeros beyond the last column
    std::int64_t stride;
    std::int64_t count;  // columns inside the matrix
    int vectors;
    bool accumulate;  // add to C
    bool last;        // then epilogue
    Activation activation;
};

void finish_tile(const float* tile, std::int64_t rows, const std::int64_t* offsets, const Columns& columns) {
    const D d;
    const bool clamps = columns.last && is_clamp(columns.activation);
    const V low = hn::Set(d, clamp_low(columns.activation));
    const V high = hn::Set(d, clamp_high(columns.activation));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (int v = 0; v < columns.vectors; ++v) {
            const std::int64_t column = v * lanes();
            const std::int64_t count = columns.count - column;
            float* to = columns.c + offsets[i] + column * columns.stride;
            V x = hn::LoadU(d, tile + (i * columns.vectors + v) * lanes());
            if (columns.accumulate) x = hn::Add(x, load_columns(to, columns.stride, count));
            if (columns.residual) {
                const float* from = columns.residual + offsets[i] + column * columns.stride;
                x = hn::Add(x, load_columns(from, columns.stride, count));
            }
            if (columns.last) {
                x = hn::Add(x, hn::LoadU(d, columns.bias + column));
                x = clamps ? clamp_vector(d, x, low, high) : activate_vector(d, columns.activation, x);
            }
            store_columns(x, to, columns.stride, count);
        }
    }
}

void multiply_panel(const GemmRows& rows, std::int64_t skip_runs, std::int64_t runs, std::int64_t skip,
                    std::int64_t length, const float* b, const Columns& columns) {
    HWY_ALIGN float tile[tile_floats];
    const GemmTiling tiling = gemm_tiling(rows.m);
    const bool simple = columns.last && !columns.accumulate && columns.stride == 1 &&
                        is_clamp(columns.activation) &&
                        (masked_stores || columns.count == columns.vectors * lanes());
    Store store{};
    store.c = simple ? columns.c : nullptr;
    store.residual = columns.residual;
    store.bias = columns.bias;
    store.low = clamp_low(columns.activation);
    store.high = clamp_high(columns.activation);
    store.last_columns = columns.count - (columns.vectors - 1) * lanes();
    const auto& products = columns.vectors == 1 ? narrow_products : wide_products;
    for (std::int64_t t = 0; t < tiling.tiles; ++t) {
        const std::int64_t first = t * tiling.rows;
        const std::int64_t count = std::min(tiling.rows, rows.m - first);
        store.offsets = rows.c_offsets + first;
        products[static_cast<std::size_t>(count - 1)](rows.a + (t * rows.runs + skip_runs) * tile_rows, runs,
                                                      length, skip, b, tile, store);
        if (!simple) finish_tile(tile, count, store.offsets, columns);
    }
}

void gemm_rows_impl(const GemmRows& rows, std::int64_t n, const float* packed_b, const GemmOutput& output,
                    const GemmEpilogue& epilogue, std::int64_t n_begin, std::int64_t n_end) {
    const std::int64_t panel = panel_vectors * lanes();
    const std::int64_t k = rows.runs * rows.length;
    // A chunk is a part of the only run, or some whole runs.
    const bool cut_inside = rows.runs == 1;
    const std::int64_t units = cut_inside ? rows.length : rows.runs;
    const std::int64_t unit_k = cut_inside ? 1 : std::max<std::int64_t>(rows.length, 1);
    const std::int64_t chunks = std::max<std::int64_t>(1, std::min(units, (k + chunk_k - 1) / chunk_k));
    for (std::int64_t column = n_begin; column < n_end; column += panel) {
        HWY_ALIGN float bias[panel_vectors * most_lanes] = {};
        Columns columns{};
        columns.count = std::min(panel, n - column);
        columns.vectors = columns.count <= lanes() ? 1 : 2;
        if (epilogue.bias) std::copy_n(epilogue.bias + column, columns.count, bias);
        columns.bias = bias;
        columns.stride = output.column_stride;
        columns.c = output.c + column * output.column_stride;
        const float* residual =
            epilogue.residual ? epilogue.residual + column * output.column_stride : nullptr;
        columns.activation = epilogue.activation;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            const std::int64_t begin = units * chunk / chunks;
            const std::int64_t end = units * (chunk + 1) / chunks;
            columns.accumulate = output.accumulate || chunk > 0;
            columns.last = chunk + 1 == chunks;
            // The residual may lie in C, so it is read before C holds the first partial sum.
            columns.residual = chunk == 0 ? residual : nullptr;
            const float* b = packed_b + column * k + begin * unit_k * columns.vectors * lanes();
            if (cut_inside)
                multiply_panel(rows, 0, 1, begin, end - begin, b, columns);
            else
                multiply_panel(rows, begin, end - begin, 0, rows.length, b, columns);
        }
    }
}

std::int64_t lanes_impl() { return lanes(); }
std::int64_t tile_rows_impl() { return tile_rows; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(gemm_rows_impl);
HWY_EXPORT(lanes_impl);
HWY_EXPORT(tile_rows_impl);

// Pointers that fit the stack; enough rows for one panel of B to be used often.
constexpr std::int64_t most_block_rows = 224;
// Of A's rows in the second-level cache.
constexpr std::int64_t block_floats = 128 * 1024;

std::int64_t vector_floats() { return HWY_DYNAMIC_DISPATCH(lanes_impl)(); }
std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::int64_t gemm_panel_columns() { return 2 * vector_floats(); }
std::int64_t gemm_tile_rows() { return HWY_DYNAMIC_DISPATCH(tile_rows_impl)(); }

std::size_t gemm_packed_size(std::int64_t k, std::int64_t n) {
    return static_cast<std::size_t>(k * round_up(n, vector_floats()));
}

void gemm_pack_b(const GemmRightMatrix& b, std::int64_t n, float* packed) {
    const std::int64_t panel = gemm_panel_columns();
    for (std::int64_t column = 0; column < n; column += panel) {
        const std::int64_t count = std::min(panel, n - column);
        const std::int64_t width = round_up(count, vector_floats());
        for (std::int64_t outer = 0; outer < b.outer; ++outer)
            for (std::int64_t inner = 0; inner < b.inner; ++inner, packed += width) {
                const float* from = b.data + outer * b.outer_stride + inner * b.inner_stride;
                for (std::int64_t j = 0; j < count; ++j) packed[j] = from[(column + j) * b.column_stride];
                std::fill(packed + count, packed + width, 0.0f);
            }
    }
}

void gemm_pack_b(std::int64_t k, std::int64_t n, const float* b, std::int64_t row_stride,
                 std::int64_t column_stride, float* packed) {
    gemm_pack_b({b, 1, k, 0, row_stride, column_stride}, n, packed);
}

GemmTiling gemm_tiling(std::int64_t m) {
    const std::int64_t most = gemm_tile_rows();
    GemmTiling tiling;
    tiling.tiles = (m + most - 1) / most;
    tiling.rows = tiling.tiles > 0 ? (m + tiling.tiles - 1) / tiling.tiles : 0;
    // Fewer tiles may do once their rows are rounded up.
    if (tiling.rows > 0) tiling.tiles = (m + tiling.rows - 1) / tiling.rows;
    return tiling;
}

void gemm_rows(const GemmRows& rows, std::int64_t n, const float* packed_b, const GemmOutput& output,
               const GemmEpilogue& epilogue, std::int64_t n_begin, std::int64_t n_end) {
    if (rows.m <= 0) return;
    HWY_DYNAMIC_DISPATCH(gemm_rows_impl)(rows, n, packed_b, output, epilogue, n_begin, n_end);
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
          const float* packed_b, const GemmOutput& output, const GemmEpilogue& epilogue, std::int64_t n_begin,
          std::int64_t n_end) {
    const std::int64_t tile = gemm_tile_rows();
    const std::int64_t fit = block_floats / std::max<std::int64_t>(k, 1) / tile * tile;
    const std::int64_t most = std::clamp(fit, tile, most_block_rows / tile * tile);
    const std::int64_t blocks = (m + most - 1) / most;
    const float* pointers[most_block_rows + 16];
    std::int64_t offsets[most_block_rows + 16];
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t begin = m * block / blocks;
        GemmRows rows;
        rows.a = pointers;
        rows.m = m * (block + 1) / blocks - begin;
        rows.runs = 1;
        rows.length = k;
        rows.c_offsets = offsets;
        const GemmTiling tiling = gemm_tiling(rows.m);
        const float** tile_pointers = pointers;
        for (std::int64_t i = 0; i < rows.m; tile_pointers += tile) {
            const std::int64_t end = std::min(rows.m, i + tiling.rows);
            for (std::int64_t j = 0; i < end; ++i, ++j) {
                tile_pointers[j] = a + (begin + i) * lda;
                offsets[i] = (begin + i) * output.ldc;
            }
        }
        gemm_rows(rows, n, packed_b, output, epilogue, n_begin, n_end);
    }
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
          const float* packed_b, const GemmOutput& output, const GemmEpilogue& epilogue) {
    gemm(m, n, k, a, lda, packed_b, output, epilogue, 0, n);
}

}  // namespace convlens::cpu
#endif
