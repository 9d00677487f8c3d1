#include <algorithm>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/elementwise/elementwise.h"

namespace convlens::cpu {
void elementwise_direct(const ElementwiseParams& p, const void* a, const void* b, void* dst,
                        ThreadPool& pool) {
    constexpr std::int64_t chunk = 4096;
    const std::int64_t elements = p.dst.elements();
    const bool unary = is_unary(p.op);
    pool.parallel_for((elements + chunk - 1) / chunk, [&](std::int64_t task, int) {
        const std::int64_t end = std::min(elements, (task + 1) * chunk);
        for (std::int64_t i = task * chunk; i < end; ++i) {
            const AxisValues index = unravel(i, p.dst.rank, p.dst.dims);
            const double x = load_element(p.a.type, a, address(index, p.a));
            const double y = unary ? 0.0 : load_element(p.b.type, b, address(index, p.b));
            store_element(p.dst.type, dst, address(index, p.dst),
                          activate_in_double(p.activation, kernels::apply_in_double(p.op, x, y)));
        }
    });
}

}  // namespace convlens::cpu
