// Parameters of the batch normalisation kernels, made from the problem (inside the library only).
#pragma once

#include "kernels/common/batch_normalization.h"
#include "primitives/kernel_activation.h"
#include "primitives/layout_of.h"
#include "primitives/rows.h"

namespace convlens {

inline kernels::BatchNormalizationParams batch_normalization_params_of(
    const BatchNormalizationProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.epsilon,
            kernel_activation(problem.activation)};
}

// One value a channel, seen with the dims of src.
inline kernels::Layout channel_layout(const TensorDesc& src) {
    kernels::Layout layout = layout_of(src);
    layout.strides = {};
    layout.strides[1] = 1;
    layout.offset = 0;
    return layout;
}

inline kernels::BatchNormalizationBlocks batch_normalization_blocks_of(
    const BatchNormalizationProblem& problem) {
    const kernels::Layout channel = channel_layout(problem.src);
    return {kernels::join({layout_of(problem.src), channel, channel, channel, layout_of(problem.dst)}),
            problem.src.dims[1], problem.epsilon, kernel_activation(problem.activation)};
}

inline kernels::ChannelStatistics channel_statistics(const ExecuteArgs& args) {
    return {floats(args.sources[1]), floats(args.sources[2]), floats(args.sources[3]),
            floats(args.sources[4])};
}

}  // namespace convlens
