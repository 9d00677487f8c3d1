#include "kernels/cuda/convolution/winograd.h"

#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"
#include "primitives/convolution/winograd_conditions.h"

namespace convlens::cuda_rows::convolution {
namespace {

template <int tile, int window>
std::string reject(const ConvolutionProblem& problem, const Context&) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    if (auto reason = reject_winograd_window(problem, window); !reason.empty()) return reason;
    const kernels::ConvolutionGeometry geometry = convolution_geometry(problem);
    if (!cuda::winograd_fits(geometry, tile))
        return "the image or the filter is too large for 31-bit numbers";
    return {};
}

class WinogradPlan final : public ConvolutionPlan {
  public:
    WinogradPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::WinogradParams& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::winograd_pack(params_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const auto t = tensors(args);
        cuda::winograd(params_, t.src, static_cast<const float*>(t.weights), t.bias, t.residual, t.dst,
                       args.workspace, stream);
    }
    cuda::WinogradParams params_;
};

// The device is asked for its code.
cuda::WinogradParams params_of(const ConvolutionProblem& problem, const Context& context, int tile) {
    context_device(context).activate();
    return cuda::winograd_params(convolution_geometry(problem), tile, kernel_activation(problem.activation),
                                 traits_of(context));
}

template <int tile>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cuda::WinogradParams params = params_of(problem, context, tile);
    info.packed_bytes = cuda::winograd_packed_size(params) * sizeof(float);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cuda::winograd_workspace_bytes(params);
    info.work.executed_flops = cuda::winograd_operations(params);
    return std::make_unique<WinogradPlan>(problem, std::move(info), params);
}

// Both transforms cost by C + K what the products save by C * K.
bool channels_pay(const ConvolutionProblem& problem) {
    const std::int64_t c = problem.src.dims[1], k = problem.dst.dims[1];
    return c * k >= 32 * (c + k);
}

double cost(const ConvolutionProblem& problem, const Context& context, int tile) {
    return cuda::winograd_cost(params_of(problem, context, tile));
}

// The transformed filter is 4 times the plain one, of F(2x2) less than half of that: few tiles don't repay
// reading it. F(2x2) has four times the tiles.
bool preferred_4x4(const ConvolutionProblem& problem, const Context& context) {
    return channels_pay(problem) && winograd_tiles(problem, 4) >= 16 &&
           cost(problem, context, 4) <= cost(problem, context, 2);
}

bool preferred_2x2(const ConvolutionProblem& problem, const Context&) {
    return channels_pay(problem) && winograd_tiles(problem, 2) >= 16;
}

}  // namespace

Row winograd_4x4() {
    return {"winograd_4x4", ErrorClass::winograd, true, reject<4, 3>, preferred_4x4, make<4>};
}

Row winograd_2x2() {
    return {"winograd_2x2", ErrorClass::winograd, true, reject<2, 3>, preferred_2x2, make<2>};
}

Row winograd_2x2_5x5() {
    return {"winograd_2x2_5x5", ErrorClass::winograd, true, reject<2, 5>, preferred_2x2, make<2>};
}

}  // namespace convlens::cuda_rows::convolution
