// The processor's fully connected algorithms, best first, the naive reference last.
#include <array>

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/convolution/pointwise.h"
#include "kernels/cpu/fully_connected/fully_connected.h"
#include "primitives/algorithm.h"
#include "primitives/device.h"
#include "primitives/fully_connected/fully_connected_conditions.h"
#include "primitives/kernel_activation.h"

namespace convlens {
namespace {

using Kernel = void (*)(const cpu::FullyConnected&, cpu::ThreadPool&);

// Weights as they are.
template <Kernel kernel>
class PlainPlan final : public Plan {
  public:
    PlainPlan(const FullyConnectedProblem& problem, PlanInfo info)
        : Plan(problem, std::move(info)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset),
          has_bias_(problem.has_bias),
          has_residual_(problem.has_residual) {
        params_.m = problem.src.dims[0];
        params_.n = problem.outputs;
        params_.k = problem.src.dims[1];
        params_.src_row = problem.src.strides[0];
        params_.src_column = problem.src.strides[1];
        params_.dst_row = problem.dst.strides[0];
        params_.dst_column = problem.dst.strides[1];
        params_.activation = kernel_activation(problem.activation);
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::FullyConnected params = params_;
        params.src = floats(args.sources[0]) + src_offset_;
        params.weights = floats(args.weights);
        if (has_bias_) params.bias = floats(args.sources[1]);
        if (has_residual_) params.residual = floats(args.sources[2]) + dst_offset_;
        params.dst = static_cast<float*>(args.dst) + dst_offset_;
        kernel(params, context.pool());
    }
    cpu::FullyConnected params_;
    std::int64_t src_offset_, dst_offset_;
    bool has_bias_, has_residual_;
};

template <Kernel kernel>
std::unique_ptr<Plan> make_plain(const FullyConnectedProblem& problem, const Context&, PlanInfo info) {
    return std::make_unique<PlainPlan<kernel>>(problem, std::move(info));
}

class GemmPlan final : public Plan {
  public:
    GemmPlan(const FullyConnectedProblem& problem, PlanInfo info, const cpu::ImplicitGemm& params)
        : Plan(problem, std::move(info)),
          params_(params),
          activation_(kernel_activation(problem.activation)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset),
          has_bias_(problem.has_bias),
          has_residual_(problem.has_residual) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::implicit_gemm_pack(params_, floats(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::ConvolutionOperands operands;
        operands.src = floats(args.sources[0]) + src_offset_;
        operands.packed = floats(args.weights);
        if (has_bias_) operands.bias = floats(args.sources[1]);
        if (has_residual_) operands.residual = floats(args.sources[2]) + dst_offset_;
        operands.dst = static_cast<float*>(args.dst) + dst_offset_;
        operands.activation = activation_;
        cpu::pointwise(params_, operands, args.workspace, context.pool());
    }
    cpu::ImplicitGemm params_;
    cpu::Activation activation_;
    std::int64_t src_offset_, dst_offset_;
    bool has_bias_, has_residual_;
};

std::unique_ptr<Plan> make_gemm(const FullyConnectedProblem& problem, const Context& context, PlanInfo info) {
    const cpu::ImplicitGemm params = cpu::implicit_gemm_params(cell_geometry(problem), context.threads());
    info.workspace_bytes = params.workspace_bytes;
    info.packed_bytes = cpu::implicit_gemm_packed_size(params) * sizeof(float);
    info.work.executed_flops = cpu::filter_matrix_flops(params.geometry);
    return std::make_unique<GemmPlan>(problem, std::move(info), params);
}

// Each weight is read once, but every row of src costs a pass over the cached weights.
bool few_rows(const FullyConnectedProblem& problem, const Context&) { return problem.src.dims[0] <= 2; }

constexpr std::array<Algorithm<FullyConnectedProblem>, 3> list = {{
    // Before gemm: with one or two rows of src only the reading of weights counts.
    {"gemv", ErrorClass::fp32, true, reject_gemv, few_rows, make_plain<cpu::fully_connected_gemv>},
    {"gemm", ErrorClass::fp32, true, reject_unless_f32, always<FullyConnectedProblem>, make_gemm},
    {"direct", ErrorClass::exact_order, true, reject_unless_f32, always<FullyConnectedProblem>,
     make_plain<cpu::fully_connected_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<FullyConnectedProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<FullyConnectedProblem>();
    return list;
}

}  // namespace convlens
