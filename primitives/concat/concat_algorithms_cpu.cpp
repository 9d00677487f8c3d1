#include <array>

#include "kernels/cpu/transform/strided_copy.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

// One copy for each source, into its slice of dst.
using ConcatParams = std::vector<cpu::TransformParams>;

ConcatParams params_of(const ConcatProblem& problem) {
    ConcatParams copies;
    const auto axis = static_cast<std::size_t>(problem.axis);
    cpu::Layout slice = layout_of(problem.dst);
    for (const TensorDesc& src : problem.srcs) {
        cpu::TransformParams copy;
        copy.src = layout_of(src);
        slice.dims[axis] = copy.src.dims[axis];
        copy.dst = slice;
        slice.offset += slice.dims[axis] * slice.strides[axis];
        copies.push_back(copy);
    }
    return copies;
}

void run_direct(const ConcatParams& copies, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        if (copies[i].src.elements() > 0) cpu::transform_direct(copies[i], args.sources[i], args.dst, pool);
}

std::vector<cpu::StridedCopy> copies_of(const ConcatProblem& problem) {
    std::vector<cpu::StridedCopy> copies;
    for (const cpu::TransformParams& slice : params_of(problem))
        copies.push_back(cpu::make_strided_copy(slice.src, slice.dst));
    return copies;
}

void run_copies(const std::vector<cpu::StridedCopy>& copies, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        cpu::strided_copy(copies[i], args.sources[i], args.dst, pool);
}

using Problem = ConcatProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"strided_copy", ErrorClass::exact_order, true, never_rejects<Problem>, always<Problem>,
     make_kernel_plan<Problem, copies_of, run_copies>},
    {"direct", ErrorClass::exact_order, true, never_rejects<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<ConcatProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConcatProblem>();
    return list;
}

}  // namespace convlens
