#include <array>

#include "kernels/cpu/softmax/softmax.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::SoftmaxParams params_of(const SoftmaxProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.axis, problem.logarithm};
}

void run_direct(const cpu::SoftmaxParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::softmax_direct(params, args.sources[0], args.dst, pool);
}

cpu::SoftmaxBlocks block_params_of(const SoftmaxProblem& problem) {
    const int axis = problem.axis;
    return {cpu::join({without_axis(problem.src, axis), without_axis(problem.dst, axis)}),
            problem.src.dims[axis], problem.src.strides[axis], problem.dst.strides[axis], problem.logarithm};
}

void run_blocks(const cpu::SoftmaxBlocks& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::softmax_blocks(params, floats(args.sources[0]), static_cast<float*>(args.dst), pool);
}

using Problem = SoftmaxProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"blocks", ErrorClass::fp32, true, reject_unless_f32<Problem>, always<Problem>,
     make_kernel_plan<Problem, block_params_of, run_blocks>},
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<SoftmaxProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<SoftmaxProblem>();
    return list;
}

}  // namespace convlens
