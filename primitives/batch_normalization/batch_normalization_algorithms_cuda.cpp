#include "kernels/cuda/batch_normalization/batch_normalization.h"
#include "primitives/batch_normalization/batch_normalization_params.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {
namespace {

using Problem = BatchNormalizationProblem;

void run_direct(const kernels::BatchNormalizationParams& params, const ExecuteArgs& args,
                cuda::Stream stream) {
    cuda::batch_normalization_direct(params, args.sources[0], channel_statistics(args), args.dst, stream);
}

void run_blocks(const kernels::BatchNormalizationBlocks& params, const ExecuteArgs& args,
                cuda::Stream stream) {
    cuda::batch_normalization_blocks(params, floats(args.sources[0]), channel_statistics(args),
                                     static_cast<float*>(args.dst), stream);
}

constexpr auto list = blocks_and_direct<Problem>(
    cuda_rows::make_kernel_plan<Problem, batch_normalization_blocks_of, run_blocks>,
    cuda_rows::make_kernel_plan<Problem, batch_normalization_params_of, run_direct>);

}  // namespace

template <>
std::span<const Algorithm<BatchNormalizationProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens
