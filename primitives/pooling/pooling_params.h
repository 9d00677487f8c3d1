// Parameters of the pooling kernels, made from the problem, and what its rows take (inside the library only).
#pragma once

#include <string>

#include "kernels/common/pooling.h"
#include "primitives/layout_of.h"
#include "primitives/rows.h"

namespace convlens {

inline kernels::PoolingParams pooling_params_of(const PoolingProblem& problem) {
    kernels::PoolingParams params;
    params.kind = static_cast<kernels::PoolKind>(problem.kind);
    params.type = element_type_of(problem.src.type);
    params.batch = problem.src.dims[0];
    params.channels = problem.src.dims[1];
    params.src_batch_stride = problem.src.strides[0];
    params.src_channel_stride = problem.src.strides[1];
    params.dst_batch_stride = problem.dst.strides[0];
    params.dst_channel_stride = problem.dst.strides[1];
    params.src_offset = problem.src.offset;
    params.dst_offset = problem.dst.offset;
    const int spatial = problem.window.rank();
    for (int i = 0; i < spatial; ++i) {
        kernels::PoolAxis& axis = params.axes[static_cast<std::size_t>(i + 3 - spatial)];
        axis.src = problem.src.dims[i + 2];
        axis.dst = problem.dst.dims[i + 2];
        axis.window = problem.size[i];
        axis.stride = problem.window.strides[i];
        axis.dilation = problem.window.dilations[i];
        axis.pad_begin = problem.window.pads_begin[i];
        axis.pad_end = problem.window.pads_end[i];
        axis.src_stride = problem.src.strides[i + 2];
        axis.dst_stride = problem.dst.strides[i + 2];
    }
    return params;
}

inline bool channels_contiguous(const TensorDesc& desc) { return desc.strides[1] == 1 || desc.dims[1] == 1; }

inline std::string reject_global_pooling(const PoolingProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    for (int i = 0; i < problem.size.rank(); ++i) {
        const std::int64_t begin = problem.window.pads_begin[i];
        if (problem.dst.dims[i + 2] != 1) return "there is more than one window";
        if (problem.window.dilations[i] != 1 && problem.size[i] != 1) return "the window is dilated";
        if (problem.size[i] - begin < problem.src.dims[i + 2] || begin >= problem.size[i])
            return "the window does not cover the whole source";
    }
    if (problem.src.strides[1] != 1 && problem.src.strides[problem.src.rank() - 1] != 1)
        return "neither the channels nor the last axis of the source is contiguous";
    return {};
}

inline std::string reject_channels_last_pooling(const PoolingProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    if (!channels_contiguous(problem.src)) return "the source's channels are not contiguous";
    if (!channels_contiguous(problem.dst)) return "the destination's channels are not contiguous";
    return {};
}

// One channel or a few leave vectors of channels empty; `rows` takes those.
inline bool has_many_channels(const PoolingProblem& problem, const Context&) {
    return problem.src.dims[1] >= 4;
}

}  // namespace convlens
