#include "primitives/convolution/convolution_gemm_cpu.h"

#include <algorithm>

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/convolution/im2col_gemm.h"
#include "kernels/cpu/convolution/implicit_gemm.h"
#include "kernels/cpu/convolution/pointwise.h"
#include "primitives/convolution_geometry.h"
#include "primitives/kernel_activation.h"

namespace convlens {
namespace {

using Problem = ConvolutionProblem;

// Entries of a precomputed offset table: 8 MiB, far above what pays.
constexpr std::size_t most_table_entries = std::size_t{1} << 20;

const float* floats(const void* pointer) { return static_cast<const float*>(pointer); }

std::string reject_common(const Problem& problem) {
    if (problem.src.type != DataType::f32 || problem.dst.type != DataType::f32)
        return std::string("only f32 is supported, src is ") + to_string(problem.src.type);
    if (problem.window.rank() > 3) return "more than three spatial axes";
    return {};
}

// Execution's pointers with the descriptors' offsets.
cpu::ConvolutionOperands operands_of(const Problem& problem, const ExecuteArgs& args) {
    cpu::ConvolutionOperands operands;
    operands.src = floats(args.sources[0]) + problem.src.offset;
    operands.bias = problem.has_bias ? floats(args.sources[1]) : nullptr;
    operands.residual = problem.has_residual ? floats(args.sources[2]) + problem.dst.offset : nullptr;
    operands.packed = floats(args.weights);
    operands.dst = static_cast<float*>(args.dst) + problem.dst.offset;
    operands.activation = kernel_activation(problem.activation);
    return operands;
}

class Im2colGemmPlan final : public Plan {
  public:
    Im2colGemmPlan(const Problem& problem, PlanInfo info)
        : Plan(problem, std::move(info)), problem_(problem), geometry_(convolution_geometry(problem)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::filter_matrix_pack(geometry_, floats(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::im2col_gemm(geometry_, operands_of(problem_, args), args.workspace, context.pool());
    }
    Problem problem_;
    cpu::ConvolutionGeometry geometry_;
};

enum class Variant { computed, precomputed, pointwise };

class ImplicitGemmPlan final : public Plan {
  public:
    ImplicitGemmPlan(const Problem& problem, PlanInfo info, const cpu::ImplicitGemm& params, Variant variant)
        : Plan(problem, std::move(info)), problem_(problem), params_(params), variant_(variant) {
        if (variant != Variant::precomputed) return;
        table_.resize(cpu::implicit_gemm_table_size(params.geometry));
        cpu::implicit_gemm_fill_table(params.geometry, table_);
    }

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::implicit_gemm_pack(params_, floats(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const cpu::ConvolutionOperands operands = operands_of(problem_, args);
        if (variant_ == Variant::pointwise)
            cpu::pointwise(params_, operands, args.workspace, context.pool());
        else
            cpu::implicit_gemm(params_, operands, table_, args.workspace, context.pool());
    }
    Problem problem_;
    cpu::ImplicitGemm params_;
    Variant variant_;
    std::vector<std::int64_t> table_;
};

std::unique_ptr<Plan> make_variant(const Problem& problem, const Context& context, PlanInfo info, Variant variant) {
    const cpu::ImplicitGemm params = cpu::implicit_gemm_params(convolution_geometry(problem), context.threads());
    info.workspace_bytes = params.workspace_bytes;
    info.packed_bytes = cpu::implicit_gemm_packed_size(params) * sizeof(float);
    info.work.executed_flops = cpu::filter_matrix_flops(params.geometry);
    return std::make_unique<ImplicitGemmPlan>(problem, std::move(info), params, variant);
}

}  // namespace

std::string reject_im2col_gemm(const Problem& problem, const Context&) {
    if (std::string reason = reject_common(problem); !reason.empty()) return reason;
    if (!cpu::im2col_gemm_workspace(convolution_geometry(problem)))
        return "the matrix would be larger than 63 bits can count";
    return {};
}

std::unique_ptr<Plan> make_im2col_gemm(const Problem& problem, const Context&, PlanInfo info) {
    const cpu::ConvolutionGeometry geometry = convolution_geometry(problem);
    info.workspace_bytes = cpu::im2col_gemm_workspace(geometry).value_or(0);
    info.packed_bytes = cpu::filter_matrix_size(geometry) * sizeof(float);
    info.work.executed_flops = cpu::filter_matrix_flops(geometry);
    return std::make_unique<Im2colGemmPlan>(problem, std::move(info));
}

std::string reject_implicit_gemm(const Problem& problem, const Context&) { return reject_common(problem); }

std::unique_ptr<Plan> make_implicit_gemm(const Problem& problem, const Context& context, PlanInfo info) {
    return make_variant(problem, context, std::move(info), Variant::computed);
}

std::string reject_implicit_precomp_gemm(const Problem& problem, const Context&) {
    if (std::string reason = reject_common(problem); !reason.empty()) return reason;
    const std::size_t entries = cpu::implicit_gemm_table_size(convolution_geometry(problem));
    if (entries > most_table_entries || (entries == 0 && !problem.dst.is_empty()))
        return "the table of offsets would have more than 1048576 entries";
    return {};
}

std::unique_ptr<Plan> make_implicit_precomp_gemm(const Problem& problem, const Context& context, PlanInfo info) {
    return make_variant(problem, context, std::move(info), Variant::precomputed);
}

std::string reject_pointwise(const Problem& problem, const Context&) {
    if (std::string reason = reject_common(problem); !reason.empty()) return reason;
    for (int axis = 0; axis < problem.window.rank(); ++axis) {
        if (problem.weights[axis + 2] != 1) return "the window has more than one cell";
        const std::int64_t last = (problem.dst.dims[axis + 2] - 1) * problem.window.strides[axis];
        if (problem.window.pads_begin[axis] != 0 || last >= problem.src.dims[axis + 2])
            return "the window reaches into the padding";
    }
    return {};
}

std::unique_ptr<Plan> make_pointwise(const Problem& problem, const Context& context, PlanInfo info) {
    return make_variant(problem, context, std::move(info), Variant::pointwise);
}

}  // namespace convlens
