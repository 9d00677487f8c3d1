#include "primitives/batch_normalization/batch_normalization_params.h"

#include "kernels/cpu/batch_normalization/batch_normalization.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

void run_direct(const cpu::BatchNormalizationParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::batch_normalization_direct(params, args.sources[0], channel_statistics(args), args.dst, pool);
}

void run_blocks(const cpu::BatchNormalizationBlocks& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::batch_normalization_blocks(params, floats(args.sources[0]), channel_statistics(args),
                                    static_cast<float*>(args.workspace), static_cast<float*>(args.dst), pool);
}

using Problem = BatchNormalizationProblem;

std::unique_ptr<Plan> make_blocks(const Problem& problem, const Context& context, PlanInfo info) {
    info.workspace_bytes = static_cast<std::size_t>(problem.src.dims[1]) * sizeof(float);
    return make_kernel_plan<Problem, batch_normalization_blocks_of, run_blocks>(problem, context,
                                                                                std::move(info));
}

constexpr auto list = blocks_and_direct<Problem>(
    make_blocks, make_kernel_plan<Problem, batch_normalization_params_of, run_direct>);

}  // namespace

template <>
std::span<const Algorithm<BatchNormalizationProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<BatchNormalizationProblem>();
    return list;
}

}  // namespace convlens
