#include <algorithm>

#include "kernels/cpu/transform/transform.h"

namespace convlens::cpu {

void transform_direct(const TransformParams& p, const void* src, void* dst, ThreadPool& pool) {
    const auto last = static_cast<std::size_t>(std::max(p.dst.rank - 1, 0));
    const std::int64_t length = p.dst.rank == 0 ? 1 : p.dst.dims[last];
    AxisValues rows = p.dst.dims;
    rows[last] = 1;
    with_type(p.src.type, [&]<class From>(From) {
        with_type(p.dst.type, [&]<class To>(To) {
            const auto copy_row = [&](std::int64_t row, int) {
                AxisValues index = unravel(row, p.dst.rank, rows);
                for (std::int64_t i = 0; i < length; ++i) {
                    index[last] = i;
                    AxisValues source = index;
                    bool outside = false;
                    for (std::size_t axis = 0; p.padding != Padding::none && axis <= last && p.dst.rank > 0;
                         ++axis) {
                        source[axis] =
                            padded_index(index[axis] - p.pads_begin[axis], p.src.dims[axis], p.padding);
                        outside = outside || source[axis] < 0;
                    }
                    static_cast<To*>(dst)[address(index, p.dst)] =
                        outside ? convert<To>(p.pad_value)
                                : convert<To>(static_cast<const From*>(src)[address(source, p.src)]);
                }
            };
            pool.parallel_for(p.dst.elements() / length, copy_row);
        });
    });
}

}  // namespace convlens::cpu
