// The CUDA fully connected algorithms, best first, the naive reference last.
#include <array>

#include "kernels/cuda/fully_connected/fully_connected.h"
#include "kernels/cuda/gemm/window_gemm.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/fully_connected/fully_connected_conditions.h"
#include "primitives/kernel_activation.h"

namespace convlens {
namespace {

// Weights as they are: strides, extents and activation in a value, pointers added when it runs.
cuda::FullyConnected params_of(const FullyConnectedProblem& problem, const Context& context) {
    cuda::FullyConnected params;
    params.m = problem.src.dims[0];
    params.n = problem.outputs;
    params.k = problem.src.dims[1];
    params.src_row = problem.src.strides[0];
    params.src_column = problem.src.strides[1];
    params.dst_row = problem.dst.strides[0];
    params.dst_column = problem.dst.strides[1];
    params.activation = kernel_activation(problem.activation);
    context_device(context).activate();
    params.overlap = cuda::window_gemm_has_clusters();
    return params;
}

class FullyConnectedPlan : public cuda_rows::CudaPlan {
  protected:
    FullyConnectedPlan(const FullyConnectedProblem& problem, PlanInfo info)
        : CudaPlan(problem, std::move(info)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset),
          has_bias_(problem.has_bias),
          has_residual_(problem.has_residual) {}
    template <class Operands>
    void set_tensors(Operands& operands, const ExecuteArgs& args) const {
        operands.src = floats(args.sources[0]) + src_offset_;
        if (has_bias_) operands.bias = floats(args.sources[1]);
        if (has_residual_) operands.residual = floats(args.sources[2]) + dst_offset_;
        operands.dst = static_cast<float*>(args.dst) + dst_offset_;
    }

  private:
    std::int64_t src_offset_, dst_offset_;
    bool has_bias_, has_residual_;
};

using Kernel = void (*)(const cuda::FullyConnected&, cuda::Stream);

template <Kernel kernel>
class PlainPlan final : public FullyConnectedPlan {
  public:
    PlainPlan(const FullyConnectedProblem& problem, const Context& context, PlanInfo info)
        : FullyConnectedPlan(problem, std::move(info)), params_(params_of(problem, context)) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::FullyConnected params = params_;
        set_tensors(params, args);
        params.weights = floats(args.weights);
        kernel(params, stream);
    }
    cuda::FullyConnected params_;
};

template <Kernel kernel>
std::unique_ptr<Plan> make_plain(const FullyConnectedProblem& problem, const Context& context,
                                 PlanInfo info) {
    return std::make_unique<PlainPlan<kernel>>(problem, context, std::move(info));
}

class GemmPlan final : public FullyConnectedPlan {
  public:
    GemmPlan(const FullyConnectedProblem& problem, PlanInfo info, const cuda::WindowGemmShape& shape)
        : FullyConnectedPlan(problem, std::move(info)),
          shape_(shape),
          geometry_(cell_geometry(problem)),
          activation_(kernel_activation(problem.activation)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::window_gemm_pack(shape_, geometry_, floats(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::WindowGemmOperands operands;
        set_tensors(operands, args);
        operands.packed = floats(args.weights);
        operands.workspace = static_cast<float*>(args.workspace);
        operands.activation = activation_;
        cuda::window_gemm(shape_, operands, stream);
    }
    cuda::WindowGemmShape shape_;
    kernels::ConvolutionGeometry geometry_;
    kernels::Activation activation_;
};

std::optional<cuda::WindowGemmShape> shape_of(const FullyConnectedProblem& problem, const Context& context) {
    context_device(context).activate();
    return cuda::window_gemm_shape(cell_geometry(problem), traits_of(context));
}

std::string reject_gemm(const FullyConnectedProblem& problem, const Context& context) {
    if (std::string reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    if (!shape_of(problem, context)) return cuda::window_gemm_limit;
    return {};
}

std::unique_ptr<Plan> make_gemm(const FullyConnectedProblem& problem, const Context& context, PlanInfo info) {
    const cuda::WindowGemmShape shape = shape_of(problem, context).value();
    info.workspace_bytes = cuda::window_gemm_workspace(shape);
    info.packed_bytes = static_cast<std::size_t>(cuda::window_gemm_packed_size(shape)) * sizeof(float);
    info.work.executed_flops = cuda::window_gemm_flops(shape);
    return std::make_unique<GemmPlan>(problem, std::move(info), shape);
}

// Up to eight rows share one reading of the weights.
bool few_rows(const FullyConnectedProblem& problem, const Context&) { return problem.src.dims[0] <= 8; }

constexpr std::array<Algorithm<FullyConnectedProblem>, 3> list = {{
    // Before gemm: with few rows of src only the reading of weights counts.
    {"gemv", ErrorClass::fp32, true, reject_gemv, few_rows, make_plain<cuda::fully_connected_gemv>},
    {"gemm", ErrorClass::fp32, true, reject_gemm, always<FullyConnectedProblem>, make_gemm},
    {"direct", ErrorClass::exact_order, true, reject_unless_f32, always<FullyConnectedProblem>,
     make_plain<cuda::fully_connected_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<FullyConnectedProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens
