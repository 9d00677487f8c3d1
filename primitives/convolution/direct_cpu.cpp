#include "kernels/cpu/convolution/direct.h"

#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens::convolution_rows {
namespace {

std::string reject(const ConvolutionProblem& problem, const Context&) { return reject_unless_f32(problem); }

class DirectPlan final : public ConvolutionPlan {
  public:
    DirectPlan(const ConvolutionProblem& problem, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::convolution_direct_pack(geometry_, static_cast<const float*>(weights),
                                     static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        cpu::convolution_direct(geometry_, t.src, t.weights, t.bias, t.residual, activation_, t.dst,
                                context.pool());
    }
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context&, PlanInfo info) {
    info.packed_bytes = cpu::convolution_direct_packed_size(convolution_geometry(problem)) * sizeof(float);
    return std::make_unique<DirectPlan>(problem, std::move(info));
}

}  // namespace

Row direct() { return {"direct", ErrorClass::exact_order, true, reject, always<ConvolutionProblem>, make}; }

}  // namespace convlens::convolution_rows
