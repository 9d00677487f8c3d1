#include "kernels/cuda/convolution/im2col_gemm.h"

#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

std::optional<cuda::Im2colGemm> params_of(const ConvolutionProblem& problem, const Context& context) {
    context_device(context).activate();
    return cuda::im2col_gemm_params(convolution_geometry(problem), traits_of(context));
}

std::string reject(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    if (!params_of(problem, context)) return cuda::window_gemm_limit;
    return {};
}

class Im2colGemmPlan final : public ConvolutionPlan {
  public:
    Im2colGemmPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::Im2colGemm& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::window_gemm_pack(params_.window, geometry_, static_cast<const float*>(weights),
                               static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const auto t = tensors(args);
        cuda::WindowGemmOperands operands;
        operands.src = t.src;
        operands.packed = static_cast<const float*>(t.weights);
        operands.bias = t.bias;
        operands.residual = t.residual;
        operands.dst = t.dst;
        operands.activation = activation_;
        cuda::im2col_gemm(params_, operands, args.workspace, stream);
    }
    cuda::Im2colGemm params_;
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cuda::Im2colGemm params = params_of(problem, context).value();
    info.workspace_bytes = cuda::im2col_gemm_workspace(params);
    info.packed_bytes =
        static_cast<std::size_t>(cuda::window_gemm_packed_size(params.window)) * sizeof(float);
    info.work.executed_flops = cuda::window_gemm_flops(params.window);
    return std::make_unique<Im2colGemmPlan>(problem, std::move(info), params);
}

}  // namespace

Row im2col_gemm() {
    return {"im2col_gemm", ErrorClass::fp32, true, reject, always<ConvolutionProblem>, make};
}

}  // namespace convlens::cuda_rows::convolution
