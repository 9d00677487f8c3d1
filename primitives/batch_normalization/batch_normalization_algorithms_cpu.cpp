#include <array>

#include "kernels/cpu/batch_normalization/batch_normalization.h"
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

constexpr std::array<Algorithm<BatchNormalizationProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<BatchNormalizationProblem>,
     always<BatchNormalizationProblem>, make_kernel_plan<BatchNormalizationProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<BatchNormalizationProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens
