#include "primitives/transform/transform_params.h"

#include <array>
#include <vector>

#include "kernels/cpu/transform/strided_copy.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

struct CopyParams {
    std::vector<cpu::StridedCopy> copies;
    std::array<std::byte, 8> pad_value{};  // of dst's type
};

CopyParams copies_of(const TransformProblem& problem) {
    const cpu::TransformParams params = transform_params_of(problem);
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

constexpr auto list = copy_and_direct<TransformProblem>(
    make_kernel_plan<TransformProblem, copies_of, run_copies>,
    make_plain_plan<TransformProblem, transform_params_of, cpu::transform_direct>);

}  // namespace

template <>
std::span<const Algorithm<TransformProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<TransformProblem>();
    return list;
}

}  // namespace convlens
