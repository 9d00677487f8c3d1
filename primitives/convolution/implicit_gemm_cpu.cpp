// The three rows whose left matrix is never stored: pointwise, implicit_gemm, implicit_precomp_gemm.
#include "kernels/cpu/convolution/implicit_gemm.h"

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/convolution/pointwise.h"
#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens::convolution_rows {
namespace {

// Entries of a precomputed table of offsets: 512 KiB, a plan is to stay small.
constexpr std::size_t most_table_entries = std::size_t{1} << 16;

enum class Variant { computed, precomputed, pointwise };

template <Variant variant>
class ImplicitGemmPlan final : public ConvolutionPlan {
  public:
    ImplicitGemmPlan(const ConvolutionProblem& problem, PlanInfo info, const cpu::ImplicitGemm& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {
        if constexpr (variant == Variant::precomputed) {
            table_.resize(cpu::implicit_gemm_table_size(geometry_));
            cpu::implicit_gemm_fill_table(geometry_, table_);
        }
    }

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::implicit_gemm_pack(params_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        const cpu::ConvolutionOperands operands{t.src, t.weights, t.bias, t.residual, t.dst, activation_};
        if constexpr (variant == Variant::pointwise)
            cpu::pointwise(params_, operands, args.workspace, context.pool());
        else
            cpu::implicit_gemm(params_, operands, table_, args.workspace, context.pool());
    }

    cpu::ImplicitGemm params_;
    std::vector<std::int64_t> table_;
};

template <Variant variant>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cpu::ImplicitGemm params =
        cpu::implicit_gemm_params(convolution_geometry(problem), context.threads());
    info.workspace_bytes = params.workspace_bytes;
    info.packed_bytes = cpu::implicit_gemm_packed_size(params) * sizeof(float);
    info.work.executed_flops = cpu::filter_matrix_flops(params.geometry);
    return std::make_unique<ImplicitGemmPlan<variant>>(problem, std::move(info), params);
}

std::string reject_computed(const ConvolutionProblem& problem, const Context&) {
    return reject_unless_f32(problem);
}

std::string reject_precomputed(const ConvolutionProblem& problem, const Context&) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    const std::size_t entries = cpu::implicit_gemm_table_size(convolution_geometry(problem));
    if (entries > most_table_entries || (entries == 0 && !problem.dst.is_empty()))
        return "the table of offsets would have more than 65536 entries";
    return {};
}

std::string reject_pointwise(const ConvolutionProblem& problem, const Context&) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    for (int axis = 0; axis < problem.window.rank(); ++axis) {
        if (problem.weights[axis + 2] != 1) return "the window has more than one cell";
        const std::int64_t last = problem.dst.dims[axis + 2] - 1;
        if (problem.window.pads_begin[axis] != 0 ||
            (last > 0 && last > (problem.src.dims[axis + 2] - 1) / problem.window.strides[axis]))
            return "the window reaches into the padding";
    }
    return {};
}

}  // namespace

Row pointwise() {
    return {"pointwise",      ErrorClass::fp32,           true,
            reject_pointwise, always<ConvolutionProblem>, make<Variant::pointwise>};
}
Row implicit_gemm() {
    return {"implicit_gemm", ErrorClass::fp32,           true,
            reject_computed, always<ConvolutionProblem>, make<Variant::computed>};
}
Row implicit_precomp_gemm() {
    return {"implicit_precomp_gemm", ErrorClass::fp32,           true,
            reject_precomputed,      always<ConvolutionProblem>, make<Variant::precomputed>};
}

}  // namespace convlens::convolution_rows
