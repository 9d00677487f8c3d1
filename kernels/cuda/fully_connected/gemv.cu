#include <algorithm>
#include <type_traits>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/fully_connected/fully_connected.h"

namespace convlens::cuda {
namespace {

constexpr int block_warps = 8;
// Warps that the device should have at least, to draw on all of its memory.
constexpr std::int64_t enough_warps = 1024;

template <class Vector>
__device__ __forceinline__ float dot(const Vector& a, const Vector& b, float sum) {
    if constexpr (std::is_same_v<Vector, float4>)
        return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
    else
        return fmaf(a, b, sum);
}

// Each group of `warps` warps has one output of `rows` rows of src.
template <class Vector, int rows, int warps>
__global__ void __launch_bounds__(32 * block_warps) gemv_kernel(const __grid_constant__ FullyConnected p) {
    constexpr int width = sizeof(Vector) / sizeof(float), outputs = block_warps / warps,
                  chains = rows == 1 ? 4 : 2;
    __shared__ float parts[block_warps][rows];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t n = blockIdx.x * std::int64_t{outputs} + warp / warps;
    const std::int64_t first = blockIdx.y * std::int64_t{rows};
    const std::int64_t vectors = p.k / width;
    constexpr int step = 32 * warps;
    float sums[rows] = {};
    wait_for_previous_kernel();
    let_next_kernel_start();
    if (n < p.n) {
        const auto* w = reinterpret_cast<const Vector*>(p.weights + n * p.k);
        const Vector* x[rows];
        for (int r = 0; r < rows; ++r)
            x[r] = reinterpret_cast<const Vector*>(p.src + min(first + r, p.m - 1) * p.src_row);
        std::int64_t i = warp % warps * 32 + lane;
        for (; i + (chains - 1) * step < vectors; i += chains * step) {
            Vector filter[chains];
#pragma unroll
            for (int c = 0; c < chains; ++c) filter[c] = __ldg(w + i + c * step);
#pragma unroll
            for (int r = 0; r < rows; ++r)
#pragma unroll
                for (int c = 0; c < chains; ++c)
                    sums[r] = dot(filter[c], __ldg(x[r] + i + c * step), sums[r]);
        }
        for (; i < vectors; i += step) {
            const Vector filter = __ldg(w + i);
#pragma unroll
            for (int r = 0; r < rows; ++r) sums[r] = dot(filter, __ldg(x[r] + i), sums[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        for (int distance = 16; distance > 0; distance /= 2)
            sums[r] += __shfl_xor_sync(0xFFFFFFFFu, sums[r], distance);
        if (lane == 0) parts[warp][r] = sums[r];
    }
    __syncthreads();
    const int output = static_cast<int>(threadIdx.x) / rows, row = static_cast<int>(threadIdx.x) % rows;
    const std::int64_t out = blockIdx.x * std::int64_t{outputs} + output;
    if (output >= outputs || out >= p.n || first + row >= p.m) return;
    float sum = parts[output * warps][row];
#pragma unroll
    for (int i = 1; i < warps; ++i) sum += parts[output * warps + i][row];
    const std::int64_t at = (first + row) * p.dst_row + out * p.dst_column;
    if (p.bias) sum += p.bias[out];
    if (p.residual) sum += p.residual[at];
    p.dst[at] = activate(p.activation, sum);
}

template <class Vector, int rows, int warps>
void launch(const FullyConnected& p, Stream stream) {
    constexpr int outputs = block_warps / warps;
    // The grid's second axis is short.
    constexpr std::int64_t most_row_blocks = 65535;
    for (std::int64_t first = 0; first < p.m; first += most_row_blocks * rows) {
        FullyConnected part = p;
        part.m = std::min(p.m - first, most_row_blocks * rows);
        part.src += first * p.src_row;
        part.dst += first * p.dst_row;
        if (part.residual) part.residual += first * p.dst_row;
        const dim3 grid(static_cast<unsigned>((p.n + outputs - 1) / outputs),
                        static_cast<unsigned>((part.m + rows - 1) / rows));
        launch_dependent(p.overlap, gemv_kernel<Vector, rows, warps>, grid, dim3(32 * block_warps), 0, stream,
                         part);
    }
}

template <class Vector, int rows>
void choose_warps(const FullyConnected& p, Stream stream) {
    const std::int64_t steps = p.k / (32 * static_cast<std::int64_t>(sizeof(Vector) / sizeof(float)));
    if (p.n >= enough_warps || steps < 4)
        launch<Vector, rows, 1>(p, stream);
    else if (p.n >= enough_warps / 4 || steps < 16)
        launch<Vector, rows, 2>(p, stream);
    else
        launch<Vector, rows, 8>(p, stream);
}

template <class Vector>
void choose_rows(const FullyConnected& p, Stream stream) {
    if (p.m == 1)
        choose_warps<Vector, 1>(p, stream);
    else if (p.m <= 4)
        choose_warps<Vector, 4>(p, stream);
    else
        choose_warps<Vector, 8>(p, stream);
}

bool aligned(const float* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

}  // namespace

void fully_connected_gemv(const FullyConnected& p, Stream stream) {
    if (p.m == 0 || p.n == 0) return;
    const bool quads =
        p.k % 4 == 0 && (p.m == 1 || p.src_row % 4 == 0) && aligned(p.src) && aligned(p.weights);
    if (quads)
        choose_rows<float4>(p, stream);
    else
        choose_rows<float>(p, stream);
}

}  // namespace convlens::cuda
