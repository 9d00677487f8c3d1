#include <array>

#include "kernels/cpu/batch_normalization/batch_normalization.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::BatchNormalizationParams params_of(const BatchNormalizationProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.epsilon,
            kernel_activation(problem.activation)};
}

cpu::ChannelStatistics statistics(const ExecuteArgs& args) {
    return {floats(args.sources[1]), floats(args.sources[2]), floats(args.sources[3]),
            floats(args.sources[4])};
}

void run_direct(const cpu::BatchNormalizationParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::batch_normalization_direct(params, args.sources[0], statistics(args), args.dst, pool);
}

// One value a channel, seen with the dims of src.
cpu::Layout by_channel(const TensorDesc& src) {
    cpu::Layout layout = layout_of(src);
    layout.strides = {};
    layout.strides[1] = 1;
    layout.offset = 0;
    return layout;
}

cpu::BatchNormalizationBlocks block_params_of(const BatchNormalizationProblem& problem) {
    const cpu::Layout channel = by_channel(problem.src);
    return {cpu::join({layout_of(problem.src), channel, channel, channel, layout_of(problem.dst)}),
            problem.src.dims[1], problem.epsilon, kernel_activation(problem.activation)};
}

void run_blocks(const cpu::BatchNormalizationBlocks& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::batch_normalization_blocks(params, floats(args.sources[0]), statistics(args),
                                    static_cast<float*>(args.workspace), static_cast<float*>(args.dst), pool);
}

std::unique_ptr<Plan> make_blocks(const BatchNormalizationProblem& problem, const Context& context,
                                  PlanInfo info) {
    info.workspace_bytes = static_cast<std::size_t>(problem.src.dims[1]) * sizeof(float);
    return make_kernel_plan<BatchNormalizationProblem, block_params_of, run_blocks>(problem, context,
                                                                                    std::move(info));
}

using Problem = BatchNormalizationProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"blocks", ErrorClass::fp32, true, reject_unless_f32<Problem>, always<Problem>, make_blocks},
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<BatchNormalizationProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<BatchNormalizationProblem>();
    return list;
}

}  // namespace convlens
