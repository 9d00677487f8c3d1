#include <cmath>
#include <limits>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/elementwise/elementwise.h"

namespace convlens::cpu {
namespace {

double not_a_number() { return std::numeric_limits<double>::quiet_NaN(); }

double apply(ElementwiseOp op, double a, double b) {
    switch (op) {
        case ElementwiseOp::add:
            return a + b;
        case ElementwiseOp::sub:
            return a - b;
        case ElementwiseOp::mul:
            return a * b;
        case ElementwiseOp::div:
            return a / b;
        case ElementwiseOp::pow:
            return std::pow(a, b);
        case ElementwiseOp::min:
            return std::isnan(a) || std::isnan(b) ? not_a_number() : std::fmin(a, b);
        case ElementwiseOp::max:
            return std::isnan(a) || std::isnan(b) ? not_a_number() : std::fmax(a, b);
        case ElementwiseOp::prelu:
            return a < 0 ? b * a : a;
        case ElementwiseOp::abs:
            return std::fabs(a);
        case ElementwiseOp::neg:
            return -a;
        case ElementwiseOp::exp:
            return std::exp(a);
        case ElementwiseOp::log:
            return std::log(a);
        case ElementwiseOp::sqrt:
            return std::sqrt(a);
        case ElementwiseOp::reciprocal:
            return 1 / a;
        case ElementwiseOp::floor:
            return std::floor(a);
        case ElementwiseOp::ceil:
            return std::ceil(a);
        case ElementwiseOp::round:
            return std::nearbyint(a);
        case ElementwiseOp::sign:
            return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0));
        case ElementwiseOp::erf:
            return std::erf(a);
        case ElementwiseOp::softplus:
            return std::fmax(a, 0.0) + std::log1p(std::exp(-std::fabs(a)));
        case ElementwiseOp::sin:
            return std::sin(a);
        case ElementwiseOp::cos:
            return std::cos(a);
    }
    return a;
}

}  // namespace

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
                          activate_in_double(p.activation, apply(p.op, x, y)));
        }
    });
}

}  // namespace convlens::cpu
