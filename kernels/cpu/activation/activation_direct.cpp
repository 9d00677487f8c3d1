#include <algorithm>
#include <cmath>

#include "kernels/cpu/activation/activation.h"

namespace convlens::cpu {
namespace {

double clamp(double x, double low, double high) {
    // Comparisons that fail for NaN leave it as it is.
    if (x < low) x = low;
    return x > high ? high : x;
}

}  // namespace

double activate_in_double(const Activation& activation, double x) {
    const double alpha = activation.alpha;
    const double beta = activation.beta;
    switch (activation.kind) {
        case ActivationKind::identity:
            return x;
        case ActivationKind::relu:
            return x < 0 ? 0 : x;
        case ActivationKind::clip:
            return clamp(x, alpha, beta);
        case ActivationKind::leaky_relu:
            return x < 0 ? alpha * x : x;
        case ActivationKind::elu:
            return x < 0 ? alpha * std::expm1(x) : x;
        case ActivationKind::sigmoid:
            return 1 / (1 + std::exp(-x));
        case ActivationKind::tanh:
            return std::tanh(x);
        case ActivationKind::swish:
            return x / (1 + std::exp(-alpha * x));
        case ActivationKind::hard_sigmoid:
            return clamp(alpha * x + beta, 0, 1);
        case ActivationKind::hard_swish:
            return x * clamp(x / 6 + 0.5, 0, 1);
    }
    return x;
}

void activation_direct(const ActivationParams& p, const void* src, void* dst, ThreadPool& pool) {
    constexpr std::int64_t chunk = 4096;
    const std::int64_t elements = p.src.elements();
    pool.parallel_for((elements + chunk - 1) / chunk, [&](std::int64_t task, int) {
        const std::int64_t end = std::min(elements, (task + 1) * chunk);
        for (std::int64_t i = task * chunk; i < end; ++i) {
            const AxisValues index = unravel(i, p.src.rank, p.src.dims);
            store_element(
                p.dst.type, dst, address(index, p.dst),
                activate_in_double(p.activation, load_element(p.src.type, src, address(index, p.src))));
        }
    });
}

}  // namespace convlens::cpu
