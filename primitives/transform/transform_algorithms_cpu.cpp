#include <array>

#include "kernels/cpu/transform/strided_copy.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::TransformParams params_of(const TransformProblem& problem) {
    cpu::TransformParams params;
    params.src = layout_of(problem.src);
    params.dst = layout_of(problem.dst);
    bool padded = false;
    for (int axis = 0; axis < problem.pads_begin.rank(); ++axis) {
        params.pads_begin[static_cast<std::size_t>(axis)] = problem.pads_begin[axis];
        padded = padded || problem.pads_begin[axis] != 0 || problem.pads_end[axis] != 0;
    }
    if (padded) {
        constexpr cpu::Padding modes[] = {cpu::Padding::constant, cpu::Padding::edge, cpu::Padding::reflect};
        params.padding = modes[static_cast<std::size_t>(problem.pad_mode)];
    }
    params.pad_value = problem.pad_value;
    return params;
}

void run_direct(const cpu::TransformParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::transform_direct(params, args.sources[0], args.dst, pool);
}

struct CopyParams {
    std::vector<cpu::StridedCopy> copies;
    std::array<std::byte, 8> pad_value{};  // of dst's type
};

CopyParams copies_of(const TransformProblem& problem) {
    const cpu::TransformParams params = params_of(problem);
    CopyParams result;
    if (params.padding == cpu::Padding::none)
        result.copies.push_back(cpu::make_strided_copy(params.src, params.dst));
    else
        result.copies = cpu::make_padded_copies(params);
    cpu::store_element(params.dst.type, result.pad_value.data(), 0, params.pad_value);
    return result;
}

void run_copies(const CopyParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    for (const cpu::StridedCopy& copy : params.copies)
        cpu::strided_copy(copy, copy.from_pad_value ? params.pad_value.data() : args.sources[0], args.dst,
                          pool);
}

using Problem = TransformProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"strided_copy", ErrorClass::exact_order, true, never_rejects<Problem>, always<Problem>,
     make_kernel_plan<Problem, copies_of, run_copies>},
    {"direct", ErrorClass::exact_order, true, never_rejects<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<TransformProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<TransformProblem>();
    return list;
}

}  // namespace convlens
