#include <type_traits>

#include "kernels/cuda/pooling/window.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 128;

// Results in the order N D H W C.
struct Order {
    std::int64_t count;
    Divisor groups, w, h, d;  // groups of channels
};

template <class Fold, int side, int width>
__global__ void __launch_bounds__(block) pool_channels(const __grid_constant__ ShortPooling p, Order order) {
    const std::int64_t i = thread_number();
    if (i >= order.count) return;
    auto rest = static_cast<std::uint32_t>(i);
    const auto take = [&](const Divisor& axis) {
        const std::uint32_t next = axis.quotient(rest);
        const std::uint32_t index = rest - next * axis.divisor;
        rest = next;
        return static_cast<int>(index);
    };
    const int c = take(order.groups) * width;
    const int ow = take(order.w), oh = take(order.h), od = take(order.d);
    const std::int64_t n = rest;
    pool_window<Fold, side, width>(p, p.src + n * p.src_batch_stride + c, p.dst + n * p.dst_batch_stride + c,
                                   od, oh, ow);
}

bool is_aligned(const void* pointer, std::int64_t offset) {
    return (reinterpret_cast<std::uintptr_t>(pointer) + static_cast<std::uintptr_t>(offset) * sizeof(float)) %
               16 ==
           0;
}

bool may_group(const PoolingParams& params, const float* src, const float* dst) {
    if (params.channels % 4 != 0 || !is_aligned(src, params.src_offset) ||
        !is_aligned(dst, params.dst_offset))
        return false;
    if (params.src_batch_stride % 4 != 0 || params.dst_batch_stride % 4 != 0) return false;
    for (const auto& axis : params.axes)
        if (axis.src_stride % 4 != 0 || axis.dst_stride % 4 != 0) return false;
    return true;
}

}  // namespace

void pooling_channels_last(const PoolingParams& params, const float* src, float* dst, Stream stream) {
    const auto& [d, h, w] = params.axes;
    const bool wide = may_group(params, src, dst);
    const std::int64_t groups = params.channels / (wide ? 4 : 1);
    const std::int64_t count = params.batch * d.dst * h.dst * w.dst * groups;
    ShortPooling p;
    if (count == 0) return;
    if (count >= divisor_limit || !shorten(params, src, dst, p)) {
        pooling_direct(params, src, dst, stream);
        return;
    }
    const Order order{count, Divisor::of(groups), Divisor::of(w.dst), Divisor::of(h.dst), Divisor::of(d.dst)};
    with_fold_and_side(p, [&]<class Fold, int side>(Fold, std::integral_constant<int, side>) {
        if (wide)
            pool_channels<Fold, side, 4><<<blocks_for(count, block), block, 0, stream>>>(p, order);
        else
            pool_channels<Fold, side, 1><<<blocks_for(count, block), block, 0, stream>>>(p, order);
    });
}

}  // namespace convlens::cuda
