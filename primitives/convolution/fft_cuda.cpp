// fft and fft_tiling: forward and the filter's gradient.
#include "kernels/cuda/convolution/fft.h"

#include "kernels/cuda/convolution/fft_bwd_filter.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/fft_conditions.h"
#include "primitives/convolution/rows_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

constexpr std::int64_t most_mebibytes = 1024;

// What is too large for any side, and for this device's.
std::string reject_geometry(const kernels::ConvolutionGeometry& g, bool whole) {
    if (auto reason = reject_fft_side(g, whole, cuda::fft_largest_side); !reason.empty()) return reason;
    if (!cuda::fft_fits(g)) return "the image or the filter is too large for 31-bit numbers";
    return {};
}
constexpr const char* no_side = "this GPU's shared memory holds no tile that is large enough";

// The device is asked for its code.
template <bool whole>
cuda::FftParams params_of(const ConvolutionProblem& problem, const Context& context) {
    context_device(context).activate();
    return cuda::fft_params(convolution_geometry(problem), kernel_activation(problem.activation),
                            traits_of(context), whole);
}

template <bool whole>
std::string reject(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    if (auto reason = reject_fft_window(problem.window, problem.groups); !reason.empty()) return reason;
    if (auto reason = reject_geometry(convolution_geometry(problem), whole); !reason.empty()) return reason;
    const cuda::FftParams params = params_of<whole>(problem, context);
    if (params.side == 0) return no_side;
    if (auto reason = reject_spectra(static_cast<double>(cuda::fft_packed_size(params)) * sizeof(float),
                                     "the spectra of the filter", most_mebibytes);
        !reason.empty())
        return reason;
    return reject_spectra(static_cast<double>(cuda::fft_workspace_bytes(params)), "the spectra of tiles",
                          most_mebibytes);
}

class FftPlan final : public ConvolutionPlan {
  public:
    FftPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::FftParams& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::fft_pack(params_, static_cast<const float*>(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const auto t = tensors(args);
        cuda::convolution_fft(params_, t.src, static_cast<const float*>(t.weights), t.bias, t.residual, t.dst,
                              args.workspace, stream);
    }
    cuda::FftParams params_;
};

template <bool whole>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cuda::FftParams params = params_of<whole>(problem, context);
    info.packed_bytes = cuda::fft_packed_size(params) * sizeof(float);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cuda::fft_workspace_bytes(params);
    info.work.executed_flops = cuda::fft_operations(params);
    return std::make_unique<FftPlan>(problem, std::move(info), params);
}

// Microseconds of the definition's products on the matrix units in plain TF32, in rounds of tiles of
// 128 x 128 (measured on an H200): what transforms must beat to stand before the rows of less precision.
double tensor_core_cost(const kernels::ConvolutionGeometry& g, const cuda::DeviceTraits& traits) {
    const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t tiles = ceil_div(g.batch * g.dst_cells(), 128) * ceil_div(g.outputs, 128);
    const auto rounds = static_cast<double>(ceil_div(tiles, std::max(1, traits.multiprocessors)));
    constexpr double tile_rate = 2.6e6;
    const double few_channels = g.channels < 8 ? 3.5 : 1;
    return 10 +
           rounds * 2 * 128 * 128 * static_cast<double>(g.channels * g.taps()) * few_channels / tile_rate;
}

// `problem` has passed reject().
template <bool whole>
bool preferred(const ConvolutionProblem& problem, const Context& context) {
    const kernels::ConvolutionGeometry g = convolution_geometry(problem);
    if (!large_window(g)) return false;
    const double cost = params_of<whole>(problem, context).cost;
    if (whole && reject<false>(problem, context).empty() && cost > params_of<false>(problem, context).cost)
        return false;
    return cost < tensor_core_cost(g, traits_of(context));
}

// The filter's gradient.

template <bool whole>
cuda::FftFilterParams filter_params_of(const ConvolutionBwdFilterProblem& problem, const Context& context) {
    const kernels::BwdFilterParams p = bwd_filter_params(problem);
    cuda::FftFilterParams params =
        cuda::fft_filter_params(p.geometry, p.filter_strides, traits_of(context), whole);
    params.alpha = p.alpha;
    params.beta = p.beta;
    return params;
}

template <bool whole>
std::string reject_filter(const ConvolutionBwdFilterProblem& problem, const Context& context) {
    if (problem.src.type != DataType::f32)
        return std::string("only f32 is supported, not ") + to_string(problem.src.type);
    if (auto reason = reject_fft_window(problem.window, problem.groups); !reason.empty()) return reason;
    if (auto reason = reject_geometry(bwd_filter_params(problem).geometry, whole); !reason.empty())
        return reason;
    const cuda::FftFilterParams params = filter_params_of<whole>(problem, context);
    if (params.side == 0) return no_side;
    return reject_spectra(static_cast<double>(cuda::fft_filter_workspace_bytes(params)),
                          "the spectra of the filter and of tiles", most_mebibytes);
}

class FftFilterPlan final : public CudaPlan {
  public:
    FftFilterPlan(const ConvolutionBwdFilterProblem& problem, PlanInfo info,
                  const cuda::FftFilterParams& params)
        : CudaPlan(problem, std::move(info)), params_(params), offsets_(bwd_filter_params(problem)) {
        apply_scales();
    }

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::convolution_fft_bwd_filter(params_, floats(args.sources[0]) + offsets_.src_offset,
                                         floats(args.sources[1]) + offsets_.diff_offset,
                                         static_cast<float*>(args.dst) + offsets_.dst_offset, args.workspace,
                                         stream);
    }
    cuda::FftFilterParams params_;
    kernels::BwdFilterParams offsets_;
};

template <bool whole>
std::unique_ptr<Plan> make_filter(const ConvolutionBwdFilterProblem& problem, const Context& context,
                                  PlanInfo info) {
    const cuda::FftFilterParams params = filter_params_of<whole>(problem, context);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cuda::fft_filter_workspace_bytes(params);
    info.work.executed_flops = cuda::fft_filter_operations(params);
    return std::make_unique<FftFilterPlan>(problem, std::move(info), params);
}

template <bool whole>
bool filter_preferred(const ConvolutionBwdFilterProblem& problem, const Context& context) {
    const kernels::ConvolutionGeometry g = bwd_filter_params(problem).geometry;
    if (!large_window(g)) return false;
    const double cost = filter_params_of<whole>(problem, context).cost;
    if (whole && reject_filter<false>(problem, context).empty() &&
        cost > filter_params_of<false>(problem, context).cost)
        return false;
    // As many tiles of the filter as fill the device, by shares of the long sums.
    constexpr double rate = 250e6;
    return cost < 10 + direct_work(problem).flops / rate;
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

}  // namespace convlens::cuda_rows::convolution
