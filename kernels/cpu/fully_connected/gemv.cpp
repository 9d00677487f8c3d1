#include <algorithm>

#include "kernels/cpu/fully_connected/fully_connected.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fully_connected/gemv.cpp"
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

// Rows of weights that share each load of src; two chains each hide the latency of multiply-add.
constexpr int shared_rows = 4;

template <int rows>
void dot_products(const float* HWY_RESTRICT x, const float* HWY_RESTRICT weights, std::int64_t k,
                  float* sums) {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    V even[rows], odd[rows];
    for (int i = 0; i < rows; ++i) even[i] = odd[i] = hn::Zero(d);
    std::int64_t at = 0;
    for (; at + 2 * lanes <= k; at += 2 * lanes) {
        const V x0 = hn::LoadU(d, x + at);
        const V x1 = hn::LoadU(d, x + at + lanes);
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i) {
            even[i] = hn::MulAdd(x0, hn::LoadU(d, weights + i * k + at), even[i]);
            odd[i] = hn::MulAdd(x1, hn::LoadU(d, weights + i * k + at + lanes), odd[i]);
        }
    }
    for (int i = 0; i < rows; ++i) {
        float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even[i], odd[i])));
        for (std::int64_t tail = at; tail < k; ++tail) sum += x[tail] * weights[i * k + tail];
        sums[i] = sum;
    }
}

void store(const FullyConnected& p, std::int64_t m, std::int64_t n, float sum) {
    const std::int64_t offset = m * p.dst_row + n * p.dst_column;
    if (p.bias) sum += p.bias[n];
    if (p.residual) sum += p.residual[offset];
    p.dst[offset] = activate(p.activation, sum);
}

void gemv_outputs(const FullyConnected& p, std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end;) {
        const std::int64_t count = end - n >= shared_rows ? shared_rows : 1;
        for (std::int64_t m = 0; m < p.m; ++m) {
            float sums[shared_rows];
            const float* x = p.src + m * p.src_row;
            if (count == shared_rows)
                dot_products<shared_rows>(x, p.weights + n * p.k, p.k, sums);
            else
                dot_products<1>(x, p.weights + n * p.k, p.k, sums);
            for (std::int64_t i = 0; i < count; ++i) store(p, m, n + i, sums[i]);
        }
        n += count;
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {
HWY_EXPORT(gemv_outputs);
}

void fully_connected_gemv(const FullyConnected& p, ThreadPool& pool) {
    const double operations =
        2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    const std::int64_t blocks = (p.n + 3) / 4;
    const std::int64_t tasks = task_count(pool, operations, blocks);
    const auto kernel = HWY_DYNAMIC_DISPATCH(gemv_outputs);
    // Cut at whole blocks of four, so that an output's sum does not depend on the number of threads.
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        kernel(p, std::min(p.n, blocks * task / tasks * 4), std::min(p.n, blocks * (task + 1) / tasks * 4));
    });
}

}  // namespace convlens::cpu
#endif
