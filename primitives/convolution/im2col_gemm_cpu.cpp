#include "kernels/cpu/convolution/im2col_gemm.h"

#include "kernels/cpu/convolution/filter_matrix.h"
#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens::convolution_rows {
namespace {

std::string reject(const ConvolutionProblem& problem, const Context&) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    if (!cpu::im2col_gemm_workspace(convolution_geometry(problem)))
        return "the matrix of one image would have more bytes than 63 bits can count";
    return {};
}

class Im2colGemmPlan final : public ConvolutionPlan {
  public:
    Im2colGemmPlan(const ConvolutionProblem& problem, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::filter_matrix_pack(geometry_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        cpu::im2col_gemm(geometry_, {t.src, t.weights, t.bias, t.residual, t.dst, activation_},
                         args.workspace, context.pool());
    }
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context&, PlanInfo info) {
    const cpu::ConvolutionGeometry geometry = convolution_geometry(problem);
    info.workspace_bytes = cpu::im2col_gemm_workspace(geometry).value_or(0);
    info.packed_bytes = cpu::filter_matrix_size(geometry) * sizeof(float);
    info.work.executed_flops = cpu::filter_matrix_flops(geometry);
    return std::make_unique<Im2colGemmPlan>(problem, std::move(info));
}

}  // namespace

Row im2col_gemm() {
    return {"im2col_gemm", ErrorClass::fp32, true, reject, always<ConvolutionProblem>, make};
}

}  // namespace convlens::convolution_rows
