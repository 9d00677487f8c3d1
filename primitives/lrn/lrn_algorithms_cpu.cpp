#include <array>

#include "kernels/cpu/lrn/lrn.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::LrnParams params_of(const LrnProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.size,
            problem.alpha,          problem.beta,           problem.k};
}

void run_direct(const cpu::LrnParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::lrn_direct(params, args.sources[0], args.dst, pool);
}

cpu::LrnBlocks block_params_of(const LrnProblem& problem) {
    return {cpu::join({without_axis(problem.src, 1), without_axis(problem.dst, 1)}),
            problem.src.dims[1],
            problem.src.strides[1],
            problem.dst.strides[1],
            problem.size,
            problem.alpha,
            problem.beta,
            problem.k};
}

void run_blocks(const cpu::LrnBlocks& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::lrn_blocks(params, floats(args.sources[0]), static_cast<float*>(args.dst), pool);
}

std::string reject_blocks(const LrnProblem& problem, const Context& context) {
    if (problem.size > cpu::LrnBlocks::strip)
        return "a window of more than " + std::to_string(cpu::LrnBlocks::strip) + " channels";
    return reject_unless_f32(problem, context);
}

using Problem = LrnProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"blocks", ErrorClass::fp32, true, reject_blocks, always<Problem>,
     make_kernel_plan<Problem, block_params_of, run_blocks>},
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<LrnProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<LrnProblem>();
    return list;
}

}  // namespace convlens
