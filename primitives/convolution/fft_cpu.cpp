// fft and fft_tiling: forward and the filter's gradient.
#include "kernels/cpu/convolution/fft.h"

#include "kernels/cpu/convolution/fft_bwd_filter.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/fft_conditions.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/kernel_plan.h"

namespace convlens::convolution_rows {
namespace {

// Lengths of one transform, and of a window where images are cut into tiles.
constexpr std::int64_t longest_whole = 4096, longest_window = 1024, most_mebibytes = 512;

std::string reject_geometry(const kernels::ConvolutionGeometry& g, bool whole) {
    // Numbers of channels are bounded so that sizes stay within 63 bits.
    if (g.channels > (1 << 24) || g.outputs > (1 << 24)) return "too many channels for their spectra";
    return reject_fft_side(g, whole, whole ? longest_whole : longest_window);
}

template <bool whole>
std::string reject(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    if (auto reason = reject_fft_window(problem.window, problem.groups); !reason.empty()) return reason;
    const cpu::ConvolutionGeometry g = convolution_geometry(problem);
    if (auto reason = reject_geometry(g, whole); !reason.empty()) return reason;
    const cpu::FftTiling tiling = cpu::fft_tiling(g, whole, context.threads());
    if (auto reason = reject_spectra(static_cast<double>(cpu::fft_packed_size(g, tiling)) * sizeof(float),
                                     "the spectra of the filter", most_mebibytes);
        !reason.empty())
        return reason;
    return reject_spectra(static_cast<double>(cpu::fft_workspace_bytes(tiling)), "the spectra of a tile",
                          most_mebibytes);
}

class FftPlan final : public ConvolutionPlan {
  public:
    FftPlan(const ConvolutionProblem& problem, PlanInfo info, cpu::FftTiling tiling)
        : ConvolutionPlan(problem, std::move(info)), tiling_(std::move(tiling)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::fft_pack(geometry_, tiling_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        cpu::convolution_fft(geometry_, tiling_, t.src, t.weights, t.bias, t.residual, activation_, t.dst,
                             args.workspace, context.pool());
    }
    cpu::FftTiling tiling_;
};

template <bool whole>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cpu::ConvolutionGeometry g = convolution_geometry(problem);
    cpu::FftTiling tiling = cpu::fft_tiling(g, whole, context.threads());
    info.packed_bytes = cpu::fft_packed_size(g, tiling) * sizeof(float);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cpu::fft_workspace_bytes(tiling);
    info.work.executed_flops = cpu::fft_operations(g, tiling);
    return std::make_unique<FftPlan>(problem, std::move(info), std::move(tiling));
}

// Products and transforms against the definition's operations, which the matrix products do at 1.6 times the
// rate. `problem` has passed reject().
template <bool whole>
bool preferred(const ConvolutionProblem& problem, const Context& context) {
    const cpu::ConvolutionGeometry g = convolution_geometry(problem);
    if (!large_window(g) || g.channels < 8 || g.outputs < 8) return false;
    const double cost = cpu::fft_tiling(g, whole, context.threads()).cost;
    if (whole && cost > cpu::fft_tiling(g, false, context.threads()).cost) return false;
    return 1.6 * cost < direct_work(problem).flops;
}

// The filter's gradient.

template <bool whole>
std::string reject_filter(const ConvolutionBwdFilterProblem& problem, const Context& context) {
    if (problem.src.type != DataType::f32)
        return std::string("only f32 is supported, not ") + to_string(problem.src.type);
    if (auto reason = reject_fft_window(problem.window, problem.groups); !reason.empty()) return reason;
    const cpu::ConvolutionGeometry g = bwd_filter_params(problem).geometry;
    if (auto reason = reject_geometry(g, whole); !reason.empty()) return reason;
    return reject_spectra(static_cast<double>(cpu::fft_filter_workspace_bytes(
                              cpu::fft_filter_tiling(g, whole, context.threads()))),
                          "the spectra of the filter and of a tile", most_mebibytes);
}

class FftFilterPlan final : public Plan {
  public:
    FftFilterPlan(const ConvolutionBwdFilterProblem& problem, PlanInfo info, cpu::FftFilterTiling tiling)
        : Plan(problem, std::move(info)), params_(bwd_filter_params(problem)), tiling_(std::move(tiling)) {
        apply_scales();
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::convolution_fft_bwd_filter(params_, tiling_, floats(args.sources[0]), floats(args.sources[1]),
                                        static_cast<float*>(args.dst), args.workspace, context.pool());
    }
    kernels::BwdFilterParams params_;
    cpu::FftFilterTiling tiling_;
};

template <bool whole>
std::unique_ptr<Plan> make_filter(const ConvolutionBwdFilterProblem& problem, const Context& context,
                                  PlanInfo info) {
    const cpu::ConvolutionGeometry g = bwd_filter_params(problem).geometry;
    cpu::FftFilterTiling tiling = cpu::fft_filter_tiling(g, whole, context.threads());
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cpu::fft_filter_workspace_bytes(tiling);
    info.work.executed_flops = cpu::fft_filter_operations(g, tiling);
    return std::make_unique<FftFilterPlan>(problem, std::move(info), std::move(tiling));
}

template <bool whole>
bool filter_preferred(const ConvolutionBwdFilterProblem& problem, const Context& context) {
    const cpu::ConvolutionGeometry g = bwd_filter_params(problem).geometry;
    if (!large_window(g) || g.channels < 8 || g.outputs < 8) return false;
    const double cost = cpu::fft_filter_tiling(g, whole, context.threads()).cost;
    if (whole && cost > cpu::fft_filter_tiling(g, false, context.threads()).cost) return false;
    // The sums of all frequencies are written and read besides.
    return 3 * cost < direct_work(problem).flops;
}

}  // namespace

Row fft() { return {"fft", ErrorClass::fft, true, reject<true>, preferred<true>, make<true>}; }
Row fft_tiling() {
    return {"fft_tiling", ErrorClass::fft, true, reject<false>, preferred<false>, make<false>};
}

BwdFilterRow bwd_filter_fft() {
    return {"fft", ErrorClass::fft, true, reject_filter<true>, filter_preferred<true>, make_filter<true>};
}
BwdFilterRow bwd_filter_fft_tiling() {
    return {"fft_tiling",         ErrorClass::fft,         true,
            reject_filter<false>, filter_preferred<false>, make_filter<false>};
}

}  // namespace convlens::convolution_rows
