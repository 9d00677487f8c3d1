#include "kernels/cpu/convolution/depthwise.h"

#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens::convolution_rows {
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
    DepthwisePlan(const ConvolutionProblem& problem, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::convolution_depthwise_pack(geometry_, static_cast<const float*>(weights),
                                        static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        cpu::convolution_depthwise(geometry_, t.src, t.weights, t.bias, t.residual, activation_, t.dst,
                                   context.pool());
    }
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context&, PlanInfo info) {
    return std::make_unique<DepthwisePlan>(problem, std::move(info));
}

// With one channel it is a dense convolution that has nothing to vectorise over.
bool preferred(const ConvolutionProblem& problem, const Context&) { return problem.groups > 1; }

}  // namespace

Row depthwise() { return {"depthwise", ErrorClass::fp32, true, reject, preferred, make}; }

}  // namespace convlens::convolution_rows
