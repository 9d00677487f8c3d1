#include "kernels/cpu/transform/scale.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/element.h"

namespace convlens::cpu {
namespace {

template <class T>
T scaled(T value, float factor) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(factor) * value;
    else
        return convert<T>(factor * to_float(value));
}

template <class T>
void scale_typed(const kernels::Layout& layout, float factor, T* data, ThreadPool& pool) {
    const auto last = static_cast<std::size_t>(std::max(layout.rank - 1, 0));
    const std::int64_t length = layout.rank == 0 ? 1 : layout.dims[last], stride = layout.strides[last];
    kernels::AxisValues rows = layout.dims;
    rows[last] = 1;
    const std::int64_t count = layout.elements() / std::max<std::int64_t>(length, 1);
    const std::int64_t tasks = task_count(pool, static_cast<double>(layout.elements()), count, 1e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t row = count * task / tasks; row < count * (task + 1) / tasks; ++row) {
            T* at = data + kernels::address(kernels::unravel(row, layout.rank, rows), layout);
            for (std::int64_t i = 0; i < length; ++i) {
                T& value = at[i * stride];
                value = factor == 0 ? T{} : scaled(value, factor);
            }
        }
    });
}

}  // namespace

void scale(const kernels::Layout& layout, float factor, void* data, ThreadPool& pool) {
    if (layout.elements() == 0) return;
    with_type(layout.type, [&]<class T>(T) {
        if constexpr (is_float_like<T>)
            scale_typed(layout, factor, static_cast<T*>(data), pool);
    });
}

}  // namespace convlens::cpu
