// Pooling geometry that all pooling kernels share.
//
// Max starts from the first real cell and yields NaN when one cell is NaN. A window without a real cell gives
// -infinity (max) or 0 (average). Average counts the cells inside [-pad_begin, size + pad_end) of every axis
// (include_pad) or real cells only (exclude_pad); the overhang of a last window never counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/common/element_type.h"
#include "kernels/common/host_device.h"

namespace convlens::kernels {

enum class PoolKind : std::uint8_t { max, average_include_pad, average_exclude_pad };

struct PoolAxis {
    std::int64_t src = 1, dst = 1;  // lengths
    std::int64_t window = 1, stride = 1, dilation = 1;
    std::int64_t pad_begin = 0, pad_end = 0;
    std::int64_t src_stride = 0, dst_stride = 0;  // elements

    // Real cells of the window of output `o` are first + i * dilation, i in [0, count).
    struct Cells {
        std::int64_t first = 0, count = 0;
        std::int64_t counted = 0;  // what an average with pads divides by on this axis
    };
    CONVLENS_HD constexpr Cells cells(std::int64_t o) const {
        const std::int64_t start = o * stride - pad_begin;
        const auto up_to = [&](std::int64_t limit) {  // cells of the window below `limit`
            return limit <= start ? 0 : std::min(window, (limit - start + dilation - 1) / dilation);
        };
        const std::int64_t skipped = up_to(0);
        Cells result;
        result.first = start + skipped * dilation;
        result.count = up_to(src) - skipped;
        result.counted = up_to(src + pad_end);
        return result;
    }
};

struct PoolingParams {
    PoolKind kind = PoolKind::max;
    ElementType type = ElementType::f32;
    std::int64_t batch = 0, channels = 0;
    std::int64_t src_batch_stride = 0, src_channel_stride = 0;
    std::int64_t dst_batch_stride = 0, dst_channel_stride = 0;
    std::int64_t src_offset = 0, dst_offset = 0;
    std::array<PoolAxis, 3> axes{};  // D H W; missing leading ones have length 1
};

}  // namespace convlens::kernels
