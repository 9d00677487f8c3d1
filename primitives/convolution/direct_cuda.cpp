#include "kernels/cuda/convolution/direct.h"

#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

class DirectPlan final : public ConvolutionPlan {
  public:
    DirectPlan(const ConvolutionProblem& problem, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)),
          type_(static_cast<kernels::ElementType>(problem.dst.type)) {
        apply_scales();
    }

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::ConvolutionDirect p;
        p.geometry = geometry_;
        p.activation = activation_;
        p.type = type_;
        p.src = args.sources[0];
        p.src_offset = src_offset_;
        p.weights = args.weights;
        p.bias = has_bias_ ? args.sources[1] : nullptr;
        p.residual = has_residual_ ? args.sources[2] : accumulates_ ? args.dst : nullptr;
        p.dst = args.dst;
        p.dst_offset = dst_offset_;
        p.alpha = scales_.alpha;
        p.beta = scales_.residual;
        cuda::convolution_direct(p, stream);
    }
    kernels::ElementType type_;
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context&, PlanInfo info) {
    return std::make_unique<DirectPlan>(problem, std::move(info));
}

}  // namespace

Row direct() {
    return {"direct",
            ErrorClass::exact_order,
            true,
            reject_unless_floating_point<ConvolutionProblem>,
            always<ConvolutionProblem>,
            make};
}

}  // namespace convlens::cuda_rows::convolution
