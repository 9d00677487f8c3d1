#include "kernels/cuda/convolution/depthwise.h"

#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

std::string reject(const ConvolutionProblem& problem, const Context&) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    const std::int64_t channels = problem.src.dims[1];
    if (problem.groups != channels)
        return "depthwise needs as many groups as source channels, here " + std::to_string(problem.groups) +
               " and " + std::to_string(channels);
    return {};
}

class DepthwisePlan final : public ConvolutionPlan {
  public:
    DepthwisePlan(const ConvolutionProblem& problem, const Context& context, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)),
          params_(cuda::depthwise_params(geometry_, activation_, traits_of(context))) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::depthwise_pack(params_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const auto t = tensors(args);
        cuda::depthwise(params_, t.src, static_cast<const float*>(t.weights), t.bias, t.residual, t.dst,
                        stream);
    }
    cuda::DepthwiseParams params_;
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    return std::make_unique<DepthwisePlan>(problem, context, std::move(info));
}

// With one channel it is a dense convolution.
bool preferred(const ConvolutionProblem& problem, const Context&) { return problem.groups > 1; }

}  // namespace

Row depthwise() { return {"depthwise", ErrorClass::fp32, true, reject, preferred, make}; }

}  // namespace convlens::cuda_rows::convolution
