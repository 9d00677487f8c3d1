// The processor's rows of the filter gradient but for the definition.
#include <vector>

#include "kernels/cpu/convolution/bwd_filter_depthwise.h"
#include "kernels/cpu/convolution/bwd_filter_gemm.h"
#include "kernels/cpu/convolution/bwd_filter_im2col.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens::convolution_rows {
namespace {

using P = ConvolutionBwdFilterProblem;

// Entries of a precomputed table: 512 KiB, a plan is to stay small.
constexpr std::size_t most_table_entries = std::size_t{1} << 16;

constexpr const char* workspace_too_large = "its workspace would have more bytes than 62 bits can count";

std::string reject_f64(const P& problem) {
    if (problem.src.type == DataType::f64) return "sums are f32; f64 is not supported";
    if (is_floating_point(problem.src.type)) return {};
    return std::string("only floating-point types are supported, not ") + to_string(problem.src.type);
}

std::string reject_unless_all_f32(const P& problem) {
    for (const TensorDesc* desc : {&problem.src, &problem.dst})
        if (desc->type != DataType::f32)
            return std::string("only f32 is supported, not ") + to_string(desc->type);
    return {};
}

enum class Variant { computed, precomputed, pointwise };

template <Variant variant>
std::optional<cpu::BwdFilterGemm> gemm_params(const P& problem, const Context& context) {
    const kernels::BwdFilterParams params = bwd_filter_params(problem);
    return variant == Variant::pointwise ? cpu::bwd_filter_pointwise_params(params, context.threads())
                                         : cpu::bwd_filter_gemm_params(params, context.threads());
}

template <Variant variant>
class GemmPlan final : public Plan {
  public:
    GemmPlan(const P& problem, PlanInfo info, const cpu::BwdFilterGemm& params)
        : Plan(problem, std::move(info)), params_(params) {
        apply_scales();
        if constexpr (variant == Variant::precomputed) {
            const auto& geometry = params_.gradient.geometry;
            table_.resize(cpu::bwd_filter_table_size(geometry));
            cpu::bwd_filter_fill_table(geometry, table_);
        }
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::bwd_filter_gemm(params_, args.sources[0], args.sources[1], args.dst, table_, args.workspace,
                             context.pool());
    }
    cpu::BwdFilterGemm params_;
    std::vector<std::int64_t> table_;
};

template <Variant variant>
std::unique_ptr<Plan> make_gemm(const P& problem, const Context& context, PlanInfo info) {
    const cpu::BwdFilterGemm params = gemm_params<variant>(problem, context).value();
    info.workspace_bytes = params.workspace_bytes;
    info.work.executed_flops = cpu::bwd_filter_gemm_operations(params);
    return std::make_unique<GemmPlan<variant>>(problem, std::move(info), params);
}

template <Variant variant>
std::string reject_gemm(const P& problem, const Context& context) {
    if (auto reason = reject_f64(problem); !reason.empty()) return reason;
    if constexpr (variant == Variant::precomputed) {
        const auto geometry = bwd_filter_params(problem).geometry;
        const std::size_t entries = cpu::bwd_filter_table_size(geometry);
        if (entries == 0 || entries > most_table_entries)
            return "the table of places would have no entries or more than 65536";
    }
    if constexpr (variant == Variant::pointwise)
        for (int axis = 0; axis < problem.window.rank(); ++axis) {
            if (problem.dst.dims[axis + 2] != 1) return "the window has more than one cell";
            const std::int64_t last = problem.diff.dims[axis + 2] - 1;
            if (problem.window.pads_begin[axis] != 0 ||
                (last > 0 && last > (problem.src.dims[axis + 2] - 1) / problem.window.strides[axis]))
                return "the window reaches into the padding";
        }
    if (!gemm_params<variant>(problem, context)) return workspace_too_large;
    return {};
}

class Im2colPlan final : public Plan {
  public:
    Im2colPlan(const P& problem, PlanInfo info)
        : Plan(problem, std::move(info)), params_(bwd_filter_params(problem)) {
        apply_scales();
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::bwd_filter_im2col(params_, static_cast<const float*>(args.sources[0]),
                               static_cast<const float*>(args.sources[1]), static_cast<float*>(args.dst),
                               args.workspace, context.pool());
    }
    kernels::BwdFilterParams params_;
};

std::string reject_im2col(const P& problem, const Context&) {
    if (auto reason = reject_unless_all_f32(problem); !reason.empty()) return reason;
    if (!cpu::bwd_filter_im2col_workspace(bwd_filter_params(problem))) return workspace_too_large;
    return {};
}

std::unique_ptr<Plan> make_im2col(const P& problem, const Context&, PlanInfo info) {
    info.workspace_bytes = cpu::bwd_filter_im2col_workspace(bwd_filter_params(problem)).value();
    return std::make_unique<Im2colPlan>(problem, std::move(info));
}

class DepthwisePlan final : public Plan {
  public:
    DepthwisePlan(const P& problem, PlanInfo info)
        : Plan(problem, std::move(info)), params_(bwd_filter_params(problem)) {
        apply_scales();
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::bwd_filter_depthwise(params_, static_cast<const float*>(args.sources[0]),
                                  static_cast<const float*>(args.sources[1]), static_cast<float*>(args.dst),
                                  args.workspace, context.pool());
    }
    kernels::BwdFilterParams params_;
};

std::string reject_depthwise(const P& problem, const Context&) {
    if (auto reason = reject_unless_all_f32(problem); !reason.empty()) return reason;
    const std::int64_t channels = problem.src.dims[1];
    if (problem.groups != channels)
        return "depthwise needs as many groups as source channels, here " + std::to_string(problem.groups) +
               " and " + std::to_string(channels);
    return {};
}

std::unique_ptr<Plan> make_depthwise(const P& problem, const Context&, PlanInfo info) {
    info.workspace_bytes = cpu::bwd_filter_depthwise_workspace(bwd_filter_params(problem));
    return std::make_unique<DepthwisePlan>(problem, std::move(info));
}

// With one channel it is a dense convolution that has nothing to vectorise over.
bool depthwise_preferred(const P& problem, const Context&) { return problem.groups > 1; }

}  // namespace

BwdFilterRow bwd_filter_depthwise() {
    return {"depthwise", ErrorClass::fp32, true, reject_depthwise, depthwise_preferred, make_depthwise};
}
BwdFilterRow bwd_filter_pointwise() {
    return {"pointwise", ErrorClass::fp32,
            true,        reject_gemm<Variant::pointwise>,
            always<P>,   make_gemm<Variant::pointwise>};
}
BwdFilterRow bwd_filter_implicit_precomp_gemm() {
    return {"implicit_precomp_gemm",           ErrorClass::fp32, true,
            reject_gemm<Variant::precomputed>, always<P>,        make_gemm<Variant::precomputed>};
}
BwdFilterRow bwd_filter_implicit_gemm() {
    return {"implicit_gemm",
            ErrorClass::fp32,
            true,
            reject_gemm<Variant::computed>,
            always<P>,
            make_gemm<Variant::computed>};
}
BwdFilterRow bwd_filter_im2col_gemm() {
    return {"im2col_gemm", ErrorClass::fp32, true, reject_im2col, always<P>, make_im2col};
}

}  // namespace convlens::convolution_rows
