#include <array>

#include "kernels/cpu/transform/transform.h"
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

template <auto kernel>
void run(const ConcatParams& copies, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        if (copies[i].src.elements() > 0) kernel(copies[i], args.sources[i], args.dst, pool);
}

constexpr std::array<Algorithm<ConcatProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, never_rejects<ConcatProblem>, always<ConcatProblem>,
     make_kernel_plan<ConcatProblem, params_of, run<cpu::transform_direct>>},
}};

}  // namespace

template <>
std::span<const Algorithm<ConcatProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens
