#include "primitives/transform/transform_params.h"

#include "kernels/cuda/transform/transform.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {
namespace {

struct CopyParams {
    bool padded = false;
    cuda::StridedCopy plain;
    cuda::PaddedCopy borders;
};

CopyParams copy_of(const TransformProblem& problem) {
    const kernels::TransformParams params = transform_params_of(problem);
    CopyParams result;
    result.padded = params.padding != kernels::Padding::none;
    if (result.padded)
        result.borders = cuda::make_padded_copy(params);
    else
        result.plain = cuda::make_strided_copy(params.src, params.dst);
    return result;
}

void run_copy(const CopyParams& params, const ExecuteArgs& args, cuda::Stream stream) {
    if (params.padded)
        cuda::padded_copy(params.borders, args.sources[0], args.dst, stream);
    else
        cuda::strided_copy(params.plain, args.sources[0], args.dst, stream);
}

constexpr auto list = copy_and_direct<TransformProblem>(
    cuda_rows::make_kernel_plan<TransformProblem, copy_of, run_copy>,
    cuda_rows::make_plain_plan<TransformProblem, transform_params_of, cuda::transform_direct>);

}  // namespace

template <>
std::span<const Algorithm<TransformProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens
