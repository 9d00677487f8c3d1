#include "kernels/cuda/gather/mean_range.h"

namespace convlens::cuda {
namespace {

constexpr int most_cells = 256;

__global__ void mean_range(const MeanView* views, int grid, MeanRange* out) {
    __shared__ float means[most_cells];
    const MeanView view = views[blockIdx.x];
    const int cell = static_cast<int>(threadIdx.x), cells = grid * grid;
    if (cell < cells) {
        const std::int64_t y = (2 * (cell / grid) + 1) * view.height / (2 * grid);
        const std::int64_t x = (2 * (cell % grid) + 1) * view.width / (2 * grid);
        const float* at = view.data + y * view.stride_y + x * view.stride_x;
        float sum = 0;
        for (std::int64_t c = 0; c < view.channels; ++c) sum += fabsf(at[c * view.stride_c]);
        means[cell] = sum / static_cast<float>(view.channels);
    }
    __syncthreads();
    if (cell != 0) return;
    MeanRange range{1.0f, -1.0f};
    bool any = false;
    for (int i = 0; i < cells; ++i) {
        if (!isfinite(means[i])) continue;
        range.lo = any ? fminf(range.lo, means[i]) : means[i];
        range.hi = any ? fmaxf(range.hi, means[i]) : means[i];
        any = true;
    }
    out[blockIdx.x] = range;
}

}  // namespace

void mean_ranges(const MeanView* views, int count, int grid, MeanRange* out, Stream stream) {
    if (count <= 0 || grid < 1 || grid * grid > most_cells) return;
    mean_range<<<count, most_cells, 0, stream>>>(views, grid, out);
}

}  // namespace convlens::cuda
