// The CUDA bias gradient algorithms, best first, the naive reference last.
#include <array>

#include "kernels/cuda/convolution/bwd_bias.h"
#include "kernels/cuda/convolution/bwd_filter_direct.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {
namespace {

using P = ConvolutionBwdBiasProblem;

class BlocksPlan final : public cuda_rows::CudaPlan {
  public:
    BlocksPlan(const P& problem, PlanInfo info, const cuda::BwdBiasSums& sums)
        : CudaPlan(problem, std::move(info)), sums_(sums) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::convolution_bwd_bias_sums(sums_, args.sources[0], args.dst, args.workspace, stream);
    }
    cuda::BwdBiasSums sums_;
};

std::string reject_blocks(const P& problem, const Context& context) {
    if (auto reason = reject_unless_floating_point_data(problem, context); !reason.empty()) return reason;
    return cuda::bwd_bias_sums_reject(bwd_bias_params(problem));
}

std::unique_ptr<Plan> make_blocks(const P& problem, const Context& context, PlanInfo info) {
    const auto sums = cuda::bwd_bias_sums(bwd_bias_params(problem), traits_of(context));
    info.workspace_bytes = cuda::bwd_bias_sums_workspace_bytes(sums);
    return std::make_unique<BlocksPlan>(problem, std::move(info), sums);
}

constexpr std::array<Algorithm<P>, 2> rows = {
    {{"blocks", ErrorClass::fp32, true, reject_blocks, always<P>, make_blocks},
     {"direct", ErrorClass::exact_order, true, reject_unless_floating_point_data<P>, always<P>,
      cuda_rows::make_plain_plan<P, bwd_bias_params, cuda::convolution_bwd_bias_direct>}}};

}  // namespace

template <>
std::span<const Algorithm<ConvolutionBwdBiasProblem>> cuda_algorithms() {
    return rows;
}

}  // namespace convlens
