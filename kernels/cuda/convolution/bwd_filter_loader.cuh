// How the kernels of bwd_filter.h bring their operands to shared memory.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/convolution/bwd_filter_args.h"
#include "kernels/cuda/convolution/mma_operands.cuh"
#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda::filter_gradient {

using mma::shared_address;

// What lies in shared memory.
enum class Form { as_is, tf32, split, fp16, bf16 };

// Kinds of arithmetic: the type of src and diff, and what becomes of them.
template <class Data_, Form SourceForm, Form DiffForm>
struct Math {
    using Data = Data_;
    static constexpr Form source_form = SourceForm, diff_form = DiffForm;
    static constexpr bool narrow = SourceForm == Form::fp16 || SourceForm == Form::bf16;
    static constexpr int chunk = narrow ? 8 : 4;  // t of 16 bytes
    static constexpr int depth = 8 * chunk;       // t of a step
    static constexpr int quad_words = sizeof(Data) == 4 ? 4 : 2;
};

__device__ __forceinline__ Cell cell_of(const Args& a, std::uint32_t t) {
    const auto w = static_cast<std::int32_t>(a.dst_w.split(t)),
               h = static_cast<std::int32_t>(a.dst_h.split(t)),
               d = static_cast<std::int32_t>(a.dst_d.split(t)), n = static_cast<std::int32_t>(t);
    Cell cell;
    cell.source.h = h * a.step_h - a.pad_h;
    cell.source.w = w * a.step_w - a.pad_w;
    cell.diff.d = d * a.step_d - a.pad_d;
    cell.diff.away = 0;
    cell.source.offset =
        n * a.src_n + cell.diff.d * a.src_d + cell.source.h * a.src_h + cell.source.w * a.src_w;
    cell.diff.offset = n * a.diff_n + d * a.diff_d + h * a.diff_h + w * a.diff_w;
    return cell;
}

// The cells of a step, one table a warp, in the order (t within a chunk, chunk) so that threads of different
// chunks read different banks.
template <class M>
struct CellTable {
    SourceCell source[M::depth];
    DiffCell diff[M::depth];

    __device__ __forceinline__ void fill(const Args& a, std::int64_t first, int lane) {
        __syncwarp();
#pragma unroll
        for (int i = lane; i < M::depth; i += 32) {
            const std::int64_t t = first + i;
            const int at = i % M::chunk * 8 + i / M::chunk;
            if (t >= a.cells) {
                source[at] = {0, outside, outside};
                diff[at] = {0, outside, outside};
            } else if (a.table != nullptr) {
                auto n = static_cast<std::uint32_t>(t);
                const std::uint32_t within = a.image.split(n);
                SourceCell s = a.table[within].source;
                DiffCell d = a.table[within].diff;
                s.offset += n * a.src_n;
                d.offset += n * a.diff_n;
                source[at] = s;
                diff[at] = d;
            } else {
                const Cell cell = cell_of(a, static_cast<std::uint32_t>(t));
                source[at] = cell.source;
                diff[at] = cell.diff;
            }
        }
        __syncwarp();
    }
};

// A row of the tile: where its first cell's element would lie, and the tap's distance.
struct alignas(16) Row {
    const unsigned char* at;
    std::int32_t h, w;
};
template <int Outputs>
struct Rows {
    Row source[tile_rows];
    Row diff[Outputs];
    std::int32_t source_d[tile_rows];
};

// Row j of a group, as (channel, tap).
struct RowPlace {
    std::int32_t c, d, h, w;
};
__device__ __forceinline__ RowPlace place_of(const Finish& f, std::uint32_t row) {
    RowPlace place;
    std::uint32_t tap;
    if (f.channels_inner) {
        place.c = static_cast<std::int32_t>(f.channels.split(row));
        tap = row;
    } else {
        tap = f.taps.split(row);
        place.c = static_cast<std::int32_t>(row);
    }
    place.w = static_cast<std::int32_t>(f.window_w.split(tap));
    place.h = static_cast<std::int32_t>(f.window_h.split(tap));
    place.d = static_cast<std::int32_t>(tap);
    return place;
}

template <int Outputs>
__device__ __forceinline__ void fill_rows(const Args& a, Rows<Outputs>& rows, int group, int row_tile,
                                          int output_tile, int thread, int threads) {
    for (int i = thread; i < tile_rows; i += threads) {
        const std::int64_t row = static_cast<std::int64_t>(row_tile) * tile_rows + i;
        if (row >= a.finish.rows) {
            rows.source[i] = {a.src, outside, outside};
            rows.source_d[i] = outside;
            continue;
        }
        const RowPlace place = place_of(a.finish, static_cast<std::uint32_t>(row));
        const std::int32_t d = place.d * a.dilation_d, h = place.h * a.dilation_h, w = place.w * a.dilation_w;
        rows.source[i] = {
            a.src + group * a.src_group + place.c * a.src_c + d * a.src_d + h * a.src_h + w * a.src_w, h, w};
        rows.source_d[i] = d;
    }
    for (int i = thread; i < Outputs; i += threads) {
        const std::int64_t k = static_cast<std::int64_t>(output_tile) * Outputs + i;
        const bool inside = k < a.finish.outputs;
        rows.diff[i] = {a.diff + group * a.diff_group + (inside ? k * a.diff_k : 0), inside ? 0 : outside, 0};
    }
}

// Bits of an element from one value that was loaded alone.
template <class Data>
__device__ __forceinline__ std::uint32_t load_bits(const unsigned char* from) {
    if constexpr (sizeof(Data) == 4)
        return __ldg(reinterpret_cast<const unsigned*>(from));
    else
        return __ldg(reinterpret_cast<const unsigned short*>(from));
}
template <class Data>
__device__ __forceinline__ float value_of(std::uint32_t bits) {
    if constexpr (std::is_same_v<Data, float>)
        return __uint_as_float(bits);
    else if constexpr (std::is_same_v<Data, __half>)
        return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    else
        return __uint_as_float(bits << 16);
}

__device__ __forceinline__ void store_chunk(std::uint32_t tile, int row, int chunk,
                                            const std::uint32_t (&w)[4]) {
    asm volatile(
        "st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(tile + row * 128 + ((chunk ^ (row & 7)) << 4)),
        "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
        : "memory");
}

// Elements of one chunk of a row, changed as the arithmetic wants them. Low parts lie Rows rows behind.
template <class M, Form form, int Rows>
__device__ __forceinline__ void put(std::uint32_t tile, int row, int chunk,
                                    const std::uint32_t (&e)[M::chunk]) {
    using Data = typename M::Data;
    std::uint32_t words[4];
    if constexpr (form == Form::fp16 || form == Form::bf16) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            words[i] = sizeof(Data) == 2 ? __byte_perm(e[2 * i], e[2 * i + 1], 0x5410)
                                         : mma::pair_16<form == Form::bf16>(e[2 * i], e[2 * i + 1]);
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            words[i] = __float_as_uint(value_of<Data>(e[i]));
            if constexpr (form != Form::as_is) words[i] = mma::tf32_bits(__uint_as_float(words[i]));
        }
        if constexpr (form == Form::split) {
            std::uint32_t low[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                low[i] = __float_as_uint(__uint_as_float(e[i]) - __uint_as_float(words[i]));
            store_chunk(tile + Rows * 128, row, chunk, low);
        }
    }
    store_chunk(tile, row, chunk, words);
}

__device__ __forceinline__ bool is_inside(std::int32_t at, std::int32_t more, std::int32_t size) {
    return static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(more) <
           static_cast<std::uint32_t>(size);
}

// One operand's part of a step, in registers between load and store. QuadsOnly: other accesses are left out.
template <class M, int RowCount, int Threads, bool Source, bool QuadsOnly>
struct Loader {
    using Data = typename M::Data;
    static constexpr Form form = Source ? M::source_form : M::diff_form;
    static constexpr int ce = M::chunk, warps = Threads / 32, words = M::quad_words;
    static constexpr int quad_passes = (RowCount * 2 + Threads - 1) / Threads;
    static constexpr int single_passes = (RowCount * 8 + Threads - 1) / Threads;
    static constexpr int quad_values = quad_passes * ce * words, single_values = single_passes * ce;
    static constexpr int count = QuadsOnly || quad_values > single_values ? quad_values : single_values;
    std::uint32_t values[count];

    // Of a pass: 8 lanes that store together have 2 quads and 4 chunks, whose places are in different banks.
    struct QuadTask {
        int row, chunk;
        __device__ __forceinline__ QuadTask(int pass, int warp, int lane) {
            const int unit = warp + pass * warps;
            row = (unit / 2 * 8 + lane / 8 * 2 + lane % 2) * 4;
            chunk = unit % 2 * 4 + lane / 2 % 4;
        }
    };
    struct SingleTask {
        int row, chunk;
        __device__ __forceinline__ SingleTask(Access access, int pass, int thread) {
            const int task = thread + pass * Threads;
            row = access == Access::along_cells ? task / 8 : task % RowCount;
            chunk = access == Access::along_cells ? task % 8 : task / RowCount;
        }
    };

    template <int Outputs>
    __device__ __forceinline__ static Row row_of(const Rows<Outputs>& rows, int row) {
        return Source ? rows.source[row] : rows.diff[row];
    }
    // Null where src has no such cell.
    template <int Outputs>
    __device__ __forceinline__ static const unsigned char* locate(const Args& a, const CellTable<M>& cells,
                                                                  const Rows<Outputs>& rows, const Row& row,
                                                                  int number, int chunk, int u) {
        if constexpr (Source) {
            const SourceCell cell = cells.source[u * 8 + chunk];
            bool inside = is_inside(cell.h, row.h, a.size_h) && is_inside(cell.w, row.w, a.size_w);
            if (a.deep)
                inside = inside && is_inside(cells.diff[u * 8 + chunk].d, rows.source_d[number], a.size_d);
            return inside ? row.at + cell.offset : nullptr;
        } else {
            const DiffCell cell = cells.diff[u * 8 + chunk];
            return (cell.away | row.h) == 0 ? row.at + cell.offset : nullptr;
        }
    }

    template <int Outputs>
    __device__ __forceinline__ void load_quads(const Args& a, const CellTable<M>& cells,
                                               const Rows<Outputs>& rows, int warp, int lane) {
#pragma unroll
        for (int pass = 0; pass < quad_passes; ++pass) {
            const QuadTask task(pass, warp, lane);
            if (RowCount * 2 % Threads != 0 && task.row >= RowCount) break;
            const Row row = row_of(rows, task.row);
#pragma unroll
            for (int u = 0; u < ce; ++u) {
                const unsigned char* from = locate(a, cells, rows, row, task.row, task.chunk, u);
                std::uint32_t* to = values + (pass * ce + u) * words;
                if constexpr (words == 4) {
                    uint4 v{};
                    if (from != nullptr) v = __ldg(reinterpret_cast<const uint4*>(from));
                    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
                } else {
                    uint2 v{};
                    if (from != nullptr) v = __ldg(reinterpret_cast<const uint2*>(from));
                    to[0] = v.x, to[1] = v.y;
                }
            }
        }
    }
    template <int Outputs>
    __device__ __forceinline__ void load_singles(const Args& a, Access access, const CellTable<M>& cells,
                                                 const Rows<Outputs>& rows, int thread) {
#pragma unroll
        for (int pass = 0; pass < single_passes; ++pass) {
            if (RowCount * 8 % Threads != 0 && thread + pass * Threads >= RowCount * 8) break;
            const SingleTask task(access, pass, thread);
            const Row row = row_of(rows, task.row);
#pragma unroll
            for (int u = 0; u < ce; ++u) {
                const unsigned char* from = locate(a, cells, rows, row, task.row, task.chunk, u);
                values[pass * ce + u] = from != nullptr ? load_bits<Data>(from) : 0u;
            }
        }
    }
    template <int Outputs>
    __device__ __forceinline__ void load(const Args& a, Access access, const CellTable<M>& cells,
                                         const Rows<Outputs>& rows, int thread, int warp, int lane) {
        if (QuadsOnly || access == Access::quads)
            load_quads(a, cells, rows, warp, lane);
        else
            load_singles(a, access, cells, rows, thread);
    }

    __device__ __forceinline__ void store_quads(std::uint32_t tile, int warp, int lane) const {
#pragma unroll
        for (int pass = 0; pass < quad_passes; ++pass) {
            const QuadTask task(pass, warp, lane);
            if (RowCount * 2 % Threads != 0 && task.row >= RowCount) break;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                std::uint32_t e[ce];
#pragma unroll
                for (int u = 0; u < ce; ++u) {
                    const std::uint32_t* from = values + (pass * ce + u) * words;
                    if constexpr (words == 4)
                        e[u] = from[i];
                    else
                        e[u] = i % 2 == 0 ? from[i / 2] & 0xffffu : from[i / 2] >> 16;
                }
                put<M, form, RowCount>(tile, task.row + i, task.chunk, e);
            }
        }
    }
    __device__ __forceinline__ void store_singles(std::uint32_t tile, Access access, int thread) const {
#pragma unroll
        for (int pass = 0; pass < single_passes; ++pass) {
            if (RowCount * 8 % Threads != 0 && thread + pass * Threads >= RowCount * 8) break;
            const SingleTask task(access, pass, thread);
            std::uint32_t e[ce];
#pragma unroll
            for (int u = 0; u < ce; ++u) e[u] = values[pass * ce + u];
            put<M, form, RowCount>(tile, task.row, task.chunk, e);
        }
    }
    __device__ __forceinline__ void store(std::uint32_t tile, Access access, int thread, int warp,
                                          int lane) const {
        if (QuadsOnly || access == Access::quads)
            store_quads(tile, warp, lane);
        else
            store_singles(tile, access, thread);
    }
};

}  // namespace convlens::cuda::filter_gradient
