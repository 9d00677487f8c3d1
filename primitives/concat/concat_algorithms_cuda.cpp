#include <vector>

#include "kernels/cuda/transform/transform.h"
#include "primitives/concat/concat_params.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {
namespace {

using Copies = std::vector<cuda::StridedCopy>;

Copies copies_of(const ConcatProblem& problem) {
    Copies copies;
    for (const kernels::TransformParams& slice : concat_params_of(problem))
        copies.push_back(cuda::make_strided_copy(slice.src, slice.dst));
    return copies;
}

void run_copies(const Copies& copies, const ExecuteArgs& args, cuda::Stream stream) {
    cuda::concat_copies(copies, args.sources.data(), args.dst, stream);
}

void run_direct(const ConcatParams& copies, const ExecuteArgs& args, cuda::Stream stream) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        cuda::transform_direct(copies[i], args.sources[i], args.dst, stream);
}

constexpr auto list =
    copy_and_direct<ConcatProblem>(cuda_rows::make_kernel_plan<ConcatProblem, copies_of, run_copies>,
                                   cuda_rows::make_kernel_plan<ConcatProblem, concat_params_of, run_direct>);

}  // namespace

template <>
std::span<const Algorithm<ConcatProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens
