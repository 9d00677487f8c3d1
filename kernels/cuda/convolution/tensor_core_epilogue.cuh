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

// A sum before the activation; `at` is the element of output k in dst.
template <class T>
__device__ __forceinline__ float value_of(const Epilogue& e, std::int64_t at, std::int64_t k, float sum) {
    float value = e.alpha * sum;
    if (e.bias != nullptr) value += load_float(static_cast<const T*>(e.bias)[k]);
    if (e.residual != nullptr) value += e.beta * load_float(static_cast<const T*>(e.residual)[at]);
    return value;
}

template <class T>
__device__ __forceinline__ void finish(const Epilogue& e, std::int64_t at, std::int64_t k, float value) {
    value = value_of<T>(e, at, k, value);
    static_cast<T*>(e.dst)[at] = store_float<T>(activate(e.activation, value));
}

// Four outputs at once, where e.wide admits it.
template <class T>
struct alignas(4 * sizeof(T)) Four {
    T at[4];
};

// Sums of outputs k to k+3, of one cell.
template <class T>
__device__ __forceinline__ void add_residual(const Epilogue& e, std::int64_t at, float (&values)[4]) {
    if (e.residual == nullptr) return;
    const Four<T> more = *reinterpret_cast<const Four<T>*>(static_cast<const T*>(e.residual) + at);
#pragma unroll
    for (int j = 0; j < 4; ++j) values[j] += e.beta * load_float(more.at[j]);
}

template <class T>
__device__ __forceinline__ void store_four(const Epilogue& e, std::int64_t at, const float (&values)[4]) {
    Four<T> result;
#pragma unroll
    for (int j = 0; j < 4; ++j) result.at[j] = store_float<T>(values[j]);
    *reinterpret_cast<Four<T>*>(static_cast<T*>(e.dst) + at) = result;
}

// Writes a tile of sums in shared memory (rows x columns, `pitch` floats a row): row i has dst offset
// offsets[i] (negative: no such cell), column j is output first + j of all K. Each thread keeps to its 4
// columns.
template <class T, int Rows, int Columns, int Threads>
__device__ __forceinline__ void write_wide_tile(const Epilogue& e, const float* sums, int pitch,
                                                const std::int64_t* offsets, std::int64_t first, int columns,
                                                int thread) {
    constexpr int fours = Columns / 4, step = Threads / fours;
    const int column = thread % fours * 4;
    if (thread >= fours * step || column >= columns) return;
    const std::int64_t k = first + column;
    float bias[4] = {};
    if (e.bias != nullptr)
#pragma unroll
        for (int j = 0; j < 4; ++j) bias[j] = load_float(static_cast<const T*>(e.bias)[k + j]);
    const auto values_of = [&](int row, float(&values)[4]) {
        const float4 x = *reinterpret_cast<const float4*>(sums + row * pitch + column);
        values[0] = e.alpha * x.x + bias[0], values[1] = e.alpha * x.y + bias[1];
        values[2] = e.alpha * x.z + bias[2], values[3] = e.alpha * x.w + bias[3];
        add_residual<T>(e, offsets[row] + k, values);
    };
    if (is_clamp(e.activation)) {
        const float low = clamp_low(e.activation), high = clamp_high(e.activation);
#pragma unroll 4
        for (int row = thread / fours; row < Rows; row += step) {
            if (offsets[row] < 0) continue;
            float values[4];
            values_of(row, values);
#pragma unroll
            for (int j = 0; j < 4; ++j) values[j] = clamp_value(values[j], low, high);
            store_four<T>(e, offsets[row] + k, values);
        }
        return;
    }
    // The code of the smooth functions is there once.
#pragma unroll 1
    for (int row = thread / fours; row < Rows; row += step) {
        if (offsets[row] < 0) continue;
        float values[4];
        values_of(row, values);
#pragma unroll 1
        for (int j = 0; j < 4; ++j) {
            const float y = activate_smooth(e.activation, values[0]);
            values[0] = values[1], values[1] = values[2], values[2] = values[3], values[3] = y;
        }
        store_four<T>(e, offsets[row] + k, values);
    }
}

// The same where cells, not outputs, are neighbours in dst: each thread keeps to its row.
template <class T, int Rows, int Threads>
__device__ __forceinline__ void write_tile_by_cells(const Epilogue& e, const float* sums, int pitch,
                                                    const std::int64_t* offsets, std::int64_t first,
                                                    int columns, int thread) {
    static_assert(Threads % Rows == 0);
    const int row = thread % Rows;
    if (offsets[row] < 0) return;
    const auto value_at = [&](int column, std::int64_t at) {
        return value_of<T>(e, at, first + column, sums[row * pitch + column]);
    };
    T* dst = static_cast<T*>(e.dst);
    if (is_clamp(e.activation)) {
        const float low = clamp_low(e.activation), high = clamp_high(e.activation);
#pragma unroll 4
        for (int column = thread / Rows; column < columns; column += Threads / Rows) {
            const std::int64_t at = offsets[row] + (first + column) * e.stride_k;
            dst[at] = store_float<T>(clamp_value(value_at(column, at), low, high));
        }
        return;
    }
#pragma unroll 1
    for (int column = thread / Rows; column < columns; column += Threads / Rows) {
        const std::int64_t at = offsets[row] + (first + column) * e.stride_k;
        dst[at] = store_float<T>(activate_smooth(e.activation, value_at(column, at)));
    }
}

template <class T, int Rows, int Columns, int Threads>
__device__ __forceinline__ void write_tile(const Epilogue& e, const float* sums, int pitch,
                                           const std::int64_t* offsets, std::int64_t first, int columns,
                                           int thread) {
    if (e.wide) {
        write_wide_tile<T, Rows, Columns, Threads>(e, sums, pitch, offsets, first, columns, thread);
    } else if (e.stride_k != 1) {
        write_tile_by_cells<T, Rows, Threads>(e, sums, pitch, offsets, first, columns, thread);
    } else if (is_clamp(e.activation)) {
        const float low = clamp_low(e.activation), high = clamp_high(e.activation);
#pragma unroll 4
        for (int i = thread; i < Rows * Columns; i += Threads) {
            const int row = i / Columns, column = i % Columns;
            if (offsets[row] < 0 || column >= columns) continue;
            const std::int64_t at = offsets[row] + first + column;
            const float value = value_of<T>(e, at, first + column, sums[row * pitch + column]);
            static_cast<T*>(e.dst)[at] = store_float<T>(clamp_value(value, low, high));
        }
    } else {
#pragma unroll 1
        for (int i = thread; i < Rows * Columns; i += Threads) {
            const int row = i / Columns, column = i % Columns;
            if (offsets[row] >= 0 && column < columns)
                finish<T>(e, offsets[row] + first + column, first + column, sums[row * pitch + column]);
        }
    }
}

}  // namespace convlens::cuda::mma
