#include "primitives/concat/concat_params.h"

#include "kernels/cpu/transform/strided_copy.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

void run_direct(const ConcatParams& copies, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        if (copies[i].src.elements() > 0) cpu::transform_direct(copies[i], args.sources[i], args.dst, pool);
}

std::vector<cpu::StridedCopy> copies_of(const ConcatProblem& problem) {
    std::vector<cpu::StridedCopy> copies;
    for (const cpu::TransformParams& slice : concat_params_of(problem))
        copies.push_back(cpu::make_strided_copy(slice.src, slice.dst));
    return copies;
}

void run_copies(const std::vector<cpu::StridedCopy>& copies, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        cpu::strided_copy(copies[i], args.sources[i], args.dst, pool);
}

constexpr auto list =
    copy_and_direct<ConcatProblem>(make_kernel_plan<ConcatProblem, copies_of, run_copies>,
                                   make_kernel_plan<ConcatProblem, concat_params_of, run_direct>);

}  // namespace

template <>
std::span<const Algorithm<ConcatProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConcatProblem>();
    return list;
}

}  // namespace convlens
