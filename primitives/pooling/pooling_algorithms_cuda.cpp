#include <array>

#include "kernels/cuda/pooling/pooling.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/pooling/pooling_params.h"

namespace convlens {
namespace {

using cuda_rows::make_plain_plan;
using Problem = PoolingProblem;

void run_global(const kernels::PoolingParams& params, const ExecuteArgs& args, cuda::Stream stream) {
    cuda::pooling_global(params, floats(args.sources[0]), static_cast<float*>(args.dst), args.workspace,
                         stream);
}

std::unique_ptr<Plan> make_global(const Problem& problem, const Context& context, PlanInfo info) {
    info.workspace_bytes = cuda::pooling_global_workspace_bytes(pooling_params_of(problem));
    return cuda_rows::make_kernel_plan<Problem, pooling_params_of, run_global>(problem, context,
                                                                               std::move(info));
}

constexpr std::array<Algorithm<Problem>, 4> list = {{
    {"global", ErrorClass::fp32, true, reject_global_pooling, always<Problem>, make_global},
    {"channels_last", ErrorClass::fp32, true, reject_channels_last_pooling, has_many_channels,
     make_plain_plan<Problem, pooling_params_of, cuda::pooling_channels_last>},
    {"rows", ErrorClass::fp32, true, reject_unless_f32<Problem>, always<Problem>,
     make_plain_plan<Problem, pooling_params_of, cuda::pooling_rows>},
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<Problem>, always<Problem>,
     make_plain_plan<Problem, pooling_params_of, cuda::pooling_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<PoolingProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens
