// The three f32 rows whose left matrix is never stored: pointwise, implicit_gemm, implicit_precomp_gemm.
#include "kernels/cuda/convolution/few_channels.h"
#include "kernels/cuda/gemm/window_gemm.h"
#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

// Entries of a table of offsets: 1 MiB.
constexpr std::int64_t most_table_entries = std::int64_t{1} << 16;

cuda::WindowGemmOperands operands_of(const auto& tensors, const kernels::Activation& activation) {
    cuda::WindowGemmOperands operands;
    operands.src = tensors.src;
    operands.packed = static_cast<const float*>(tensors.weights);
    operands.bias = tensors.bias;
    operands.residual = tensors.residual;
    operands.dst = tensors.dst;
    operands.activation = activation;
    return operands;
}

template <bool tabulated>
class ImplicitGemmPlan final : public ConvolutionPlan {
  public:
    ImplicitGemmPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::WindowGemmShape& shape)
        : ConvolutionPlan(problem, std::move(info)),
          shape_(shape),
          filter_floats_(cuda::window_gemm_packed_size(shape)) {}

  private:
    // The table lies behind the filter, whose size is a multiple of whole tiles.
    void pack_impl(const void* weights, void* packed) const override {
        auto* filter = static_cast<float*>(packed);
        cuda::window_gemm_pack(shape_, geometry_, static_cast<const float*>(weights), filter);
        if constexpr (tabulated)
            cuda::window_gemm_fill_table(shape_, geometry_,
                                         reinterpret_cast<cuda::ColumnEntry*>(filter + filter_floats_));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::WindowGemmOperands operands = operands_of(tensors(args), activation_);
        operands.workspace = static_cast<float*>(args.workspace);
        if constexpr (tabulated)
            operands.table = reinterpret_cast<const cuda::ColumnEntry*>(operands.packed + filter_floats_);
        cuda::window_gemm(shape_, operands, stream);
    }
    cuda::WindowGemmShape shape_;
    std::int64_t filter_floats_;
};

// The form of implicit_gemm for first layers.
class FewChannelsPlan final : public ConvolutionPlan {
  public:
    FewChannelsPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::FewChannels& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::few_channels_pack(params_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::few_channels(params_, operands_of(tensors(args), activation_), stream);
    }
    cuda::FewChannels params_;
};

std::optional<cuda::FewChannels> few_channels_of(const ConvolutionProblem& problem, const Context& context) {
    context_device(context).activate();
    return cuda::few_channels_params(convolution_geometry(problem), traits_of(context));
}

std::optional<cuda::WindowGemmShape> shape_of(const ConvolutionProblem& problem, const Context& context) {
    context_device(context).activate();
    return cuda::window_gemm_shape(convolution_geometry(problem), traits_of(context));
}

template <bool tabulated>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cuda::WindowGemmShape shape = shape_of(problem, context).value();
    info.workspace_bytes = cuda::window_gemm_workspace(shape);
    info.packed_bytes = static_cast<std::size_t>(cuda::window_gemm_packed_size(shape)) * sizeof(float);
    if constexpr (tabulated)
        info.packed_bytes += static_cast<std::size_t>(shape.padded_depth()) * sizeof(cuda::ColumnEntry);
    info.work.executed_flops = cuda::window_gemm_flops(shape);
    return std::make_unique<ImplicitGemmPlan<tabulated>>(problem, std::move(info), shape);
}

std::unique_ptr<Plan> make_computed(const ConvolutionProblem& problem, const Context& context,
                                    PlanInfo info) {
    const auto few = few_channels_of(problem, context);
    if (!few) return make<false>(problem, context, std::move(info));
    info.packed_bytes = static_cast<std::size_t>(cuda::few_channels_packed_size(*few)) * sizeof(float);
    info.work.executed_flops = cuda::few_channels_flops(*few);
    return std::make_unique<FewChannelsPlan>(problem, std::move(info), *few);
}

std::string reject_computed(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    if (!shape_of(problem, context)) return cuda::window_gemm_limit;
    return {};
}

std::string reject_precomputed(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_computed(problem, context); !reason.empty()) return reason;
    if (shape_of(problem, context)->padded_depth() > most_table_entries)
        return "the table of offsets would have more than 65536 entries";
    return {};
}

std::string reject_pointwise(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    for (int axis = 0; axis < problem.window.rank(); ++axis) {
        if (problem.weights[axis + 2] != 1) return "the window has more than one cell";
        const std::int64_t last = problem.dst.dims[axis + 2] - 1;
        if (problem.window.pads_begin[axis] != 0 ||
            (last > 0 && last > (problem.src.dims[axis + 2] - 1) / problem.window.strides[axis]))
            return "the window reaches into the padding";
    }
    return reject_computed(problem, context);
}

// The table spares a few instructions a step but is waited for at the start, which short runs don't repay.
// First layers have a form of their own in implicit_gemm.
constexpr double enough_flops = 1e9;

bool table_pays(const ConvolutionProblem& problem, const Context& context) {
    return direct_work(problem).flops >= enough_flops && !few_channels_of(problem, context);
}

}  // namespace

Row pointwise() {
    return {"pointwise", ErrorClass::fp32, true, reject_pointwise, always<ConvolutionProblem>, make<false>};
}
Row implicit_gemm() {
    return {"implicit_gemm", ErrorClass::fp32,           true,
            reject_computed, always<ConvolutionProblem>, make_computed};
}
Row implicit_precomp_gemm() {
    return {"implicit_precomp_gemm", ErrorClass::fp32, true, reject_precomputed, table_pays, make<true>};
}

}  // namespace convlens::cuda_rows::convolution
