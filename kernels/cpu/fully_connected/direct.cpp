#include "kernels/cpu/fully_connected/fully_connected.h"

namespace convlens::cpu {

void fully_connected_direct(const FullyConnected& p, ThreadPool& pool) {
    const double operations =
        2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    const std::int64_t outputs = p.m * p.n;
    const std::int64_t tasks = task_count(pool, operations, outputs);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = outputs * task / tasks; i < outputs * (task + 1) / tasks; ++i) {
            const std::int64_t m = i / p.n;
            const std::int64_t n = i % p.n;
            float sum = 0.0f;
            for (std::int64_t k = 0; k < p.k; ++k)
                sum += p.src[m * p.src_row + k * p.src_column] * p.weights[n * p.k + k];
            if (p.bias) sum += p.bias[n];
            const std::int64_t offset = m * p.dst_row + n * p.dst_column;
            if (p.residual) sum += p.residual[offset];
            p.dst[offset] = activate(p.activation, sum);
        }
    });
}

}  // namespace convlens::cpu
