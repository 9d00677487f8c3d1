#include <array>

#include "kernels/cpu/activation/activation.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::ActivationParams params_of(const ActivationProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), kernel_activation(problem.activation)};
}

void run_direct(const cpu::ActivationParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::activation_direct(params, args.sources[0], args.dst, pool);
}

struct BlockParams {
    cpu::JointShape shape;
    cpu::Activation activation;
};

BlockParams block_params_of(const ActivationProblem& problem) {
    return {cpu::join({layout_of(problem.src), layout_of(problem.dst)}),
            kernel_activation(problem.activation)};
}

void run_blocks(const BlockParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::activation_blocks(params.shape, params.activation, floats(args.sources[0]),
                           static_cast<float*>(args.dst), pool);
}

using Problem = ActivationProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"blocks", ErrorClass::fp32, true, reject_unless_f32<Problem>, always<Problem>,
     make_kernel_plan<Problem, block_params_of, run_blocks>},
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<ActivationProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ActivationProblem>();
    return list;
}

}  // namespace convlens
