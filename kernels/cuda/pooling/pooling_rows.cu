#include <type_traits>

#include "kernels/cuda/pooling/window.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 128;

// Results in the order N C D H W.
struct Order {
    std::int64_t count;
    Divisor w, h, d, channels;
};

template <class Fold, int side>
__global__ void __launch_bounds__(block) pool_rows(const __grid_constant__ ShortPooling p, Order order) {
    const std::int64_t i = thread_number();
    if (i >= order.count) return;
    auto rest = static_cast<std::uint32_t>(i);
    const auto take = [&](const Divisor& axis) {
        const std::uint32_t next = axis.quotient(rest);
        const std::uint32_t index = rest - next * axis.divisor;
        rest = next;
        return static_cast<int>(index);
    };
    const int ow = take(order.w), oh = take(order.h), od = take(order.d);
    const std::int64_t c = take(order.channels), n = rest;
    pool_window<Fold, side, 1>(p, p.src + n * p.src_batch_stride + c * p.src_channel_stride,
                               p.dst + n * p.dst_batch_stride + c * p.dst_channel_stride, od, oh, ow);
}

}  // namespace

void pooling_rows(const PoolingParams& params, const float* src, float* dst, Stream stream) {
    const auto& [d, h, w] = params.axes;
    const std::int64_t count = params.batch * params.channels * d.dst * h.dst * w.dst;
    ShortPooling p;
    if (count == 0) return;
    if (count >= divisor_limit || !shorten(params, src, dst, p)) {
        pooling_direct(params, src, dst, stream);
        return;
    }
    const Order order{count, Divisor::of(w.dst), Divisor::of(h.dst), Divisor::of(d.dst),
                      Divisor::of(params.channels)};
    with_fold_and_side(p, [&]<class Fold, int side>(Fold, std::integral_constant<int, side>) {
        pool_rows<Fold, side><<<blocks_for(count, block), block, 0, stream>>>(p, order);
    });
}

}  // namespace convlens::cuda
