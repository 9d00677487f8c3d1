// From sums to dst: bias, residual, activation, type and layout; for the tensor core kernels.
#pragma once

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/convolution/mma_args.h"
#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda::mma {

struct Cell {
    std::int32_t n, d, h, w;
};

// The output cell of a row. Divisions of 64 bits are slow, few tensors need them.
__device__ __forceinline__ Cell cell_of_row(std::int64_t row, std::int32_t dst_d, std::int32_t dst_h,
                                            std::int32_t dst_w) {
    Cell cell;
    if (row < (std::int64_t{1} << 32)) {
        auto rest = static_cast<std::uint32_t>(row);
        cell.w = static_cast<std::int32_t>(rest % static_cast<std::uint32_t>(dst_w));
        rest /= static_cast<std::uint32_t>(dst_w);
        cell.h = static_cast<std::int32_t>(rest % static_cast<std::uint32_t>(dst_h));
        rest /= static_cast<std::uint32_t>(dst_h);
        cell.d = static_cast<std::int32_t>(rest % static_cast<std::uint32_t>(dst_d));
        cell.n = static_cast<std::int32_t>(rest / static_cast<std::uint32_t>(dst_d));
    } else {
        cell.w = static_cast<std::int32_t>(row % dst_w);
        row /= dst_w;
        cell.h = static_cast<std::int32_t>(row % dst_h);
        row /= dst_h;
        cell.d = static_cast<std::int32_t>(row % dst_d);
        cell.n = static_cast<std::int32_t>(row / dst_d);
    }
    return cell;
}

__device__ __forceinline__ std::int64_t dst_offset_of(const Epilogue& e, const Cell& cell) {
    return cell.n * e.stride_n + cell.d * e.stride_d + cell.h * e.stride_h + cell.w * e.stride_w;
}

// `at` is the element of output k in dst.
template <class T>
__device__ __forceinline__ void finish(const Epilogue& e, std::int64_t at, std::int64_t k, float value) {
    if (e.bias != nullptr) value += load_float(static_cast<const T*>(e.bias)[k]);
    if (e.residual != nullptr) value += load_float(static_cast<const T*>(e.residual)[at]);
    static_cast<T*>(e.dst)[at] = store_float<T>(activate(e.activation, value));
}

template <class T>
struct alignas(4 * sizeof(T)) Four {
    T at[4];
};

// Outputs k to k+3 at once, where e.wide admits it.
template <class T>
__device__ __forceinline__ void finish_four(const Epilogue& e, std::int64_t at, std::int64_t k, float4 sums) {
    float values[4] = {sums.x, sums.y, sums.z, sums.w};
    if (e.bias != nullptr)
#pragma unroll
        for (int j = 0; j < 4; ++j) values[j] += load_float(static_cast<const T*>(e.bias)[k + j]);
    if (e.residual != nullptr) {
        const Four<T> more = *reinterpret_cast<const Four<T>*>(static_cast<const T*>(e.residual) + at);
#pragma unroll
        for (int j = 0; j < 4; ++j) values[j] += load_float(more.at[j]);
    }
    Four<T> result;
    if (is_clamp(e.activation)) {
        const float low = clamp_low(e.activation), high = clamp_high(e.activation);
#pragma unroll
        for (int j = 0; j < 4; ++j) result.at[j] = store_float<T>(clamp_value(values[j], low, high));
    } else {
        // Through memory of its own so that the code of the smooth functions is there once.
#pragma unroll 1
        for (int j = 0; j < 4; ++j) {
            const float x = j == 0 ? values[0] : j == 1 ? values[1] : j == 2 ? values[2] : values[3];
            const T y = store_float<T>(activate_smooth(e.activation, x));
            if (j == 0) result.at[0] = y;
            if (j == 1) result.at[1] = y;
            if (j == 2) result.at[2] = y;
            if (j == 3) result.at[3] = y;
        }
    }
    *reinterpret_cast<Four<T>*>(static_cast<T*>(e.dst) + at) = result;
}

// Writes a tile of sums in shared memory (rows x columns, `pitch` floats a row): row i has dst offset
// offsets[i] (negative: no such cell), column j is output first + j of all K. T: the element type of dst.
template <class T, int Rows, int Columns, int Threads>
__device__ __forceinline__ void write_tile(const Epilogue& e, const float* sums, int pitch,
                                           const std::int64_t* offsets, std::int64_t first, int columns,
                                           int thread) {
    if (e.wide) {
#pragma unroll 1
        for (int i = thread; i < Rows * Columns / 4; i += Threads) {
            const int row = i / (Columns / 4), column = i % (Columns / 4) * 4;
            if (offsets[row] < 0 || column >= columns) continue;
            const std::int64_t k = first + column;
            finish_four<T>(e, offsets[row] + k, k,
                           *reinterpret_cast<const float4*>(sums + row * pitch + column));
        }
        return;
    }
    const bool outputs_inner = e.stride_k == 1;
#pragma unroll 1
    for (int i = thread; i < Rows * Columns; i += Threads) {
        const int row = outputs_inner ? i / Columns : i % Rows;
        const int column = outputs_inner ? i % Columns : i / Rows;
        if (offsets[row] < 0 || column >= columns) continue;
        const std::int64_t k = first + column;
        finish<T>(e, offsets[row] + k * e.stride_k, k, sums[row * pitch + column]);
    }
}

}  // namespace convlens::cuda::mma
