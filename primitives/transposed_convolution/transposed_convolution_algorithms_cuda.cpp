// The CUDA transposed convolution algorithms, best first, the naive reference last.
#include <array>

#include "kernels/cuda/transposed_convolution/col2im_gemm.h"
#include "kernels/cuda/transposed_convolution/direct.h"
#include "kernels/cuda/transposed_convolution/phase_gemm.h"
#include "primitives/convolution_geometry.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/kernel_activation.h"
#include "primitives/rows.h"

namespace convlens {
namespace {

using Transposed = TransposedConvolutionProblem;

class TransposedPlan : public cuda_rows::CudaPlan {
  protected:
    TransposedPlan(const Transposed& problem, PlanInfo info)
        : CudaPlan(problem, std::move(info)),
          geometry_(convolution_geometry(problem)),
          activation_(kernel_activation(problem.activation)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset) {}

    const float* src(const ExecuteArgs& args) const { return floats(args.sources[0]) + src_offset_; }
    float* dst(const ExecuteArgs& args) const { return static_cast<float*>(args.dst) + dst_offset_; }

    kernels::ConvolutionGeometry geometry_;
    kernels::Activation activation_;
    std::int64_t src_offset_, dst_offset_;
};

class DirectPlan final : public TransposedPlan {
  public:
    DirectPlan(const Transposed& problem, PlanInfo info) : TransposedPlan(problem, std::move(info)) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::transposed_convolution_direct(geometry_, src(args), floats(args.weights),
                                            floats(args.sources[1]), activation_, dst(args), stream);
    }
};

class Col2imGemmPlan final : public TransposedPlan {
  public:
    Col2imGemmPlan(const Transposed& problem, PlanInfo info, const cuda::Col2imGemmParams& params)
        : TransposedPlan(problem, std::move(info)), params_(params) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::col2im_gemm_pack(geometry_, floats(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::col2im_gemm(params_, src(args), floats(args.weights), floats(args.sources[1]), dst(args),
                          args.workspace, stream);
    }
    cuda::Col2imGemmParams params_;
};

class ImplicitGemmPlan final : public TransposedPlan {
  public:
    ImplicitGemmPlan(const Transposed& problem, PlanInfo info, cuda::PhaseGemm phases)
        : TransposedPlan(problem, std::move(info)), phases_(std::move(phases)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::phase_gemm_pack(phases_, geometry_, floats(weights), static_cast<float*>(packed));
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        cuda::phase_gemm(phases_, src(args), floats(args.weights), floats(args.sources[1]), dst(args),
                         args.workspace, stream);
    }
    cuda::PhaseGemm phases_;
};

std::unique_ptr<Plan> make_direct(const Transposed& problem, const Context&, PlanInfo info) {
    return std::make_unique<DirectPlan>(problem, std::move(info));
}

std::string reject_col2im_gemm(const Transposed& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    if (!cuda::col2im_gemm_fits(convolution_geometry(problem)))
        return "an image or its matrix of columns is too large for 31-bit numbers";
    return {};
}

// Sums of few products would show the error of a single one.
constexpr std::int64_t least_split_channels = 32;

std::string reject_col2im_gemm_split_tf32(const Transposed& problem, const Context& context) {
    if (auto reason = reject_col2im_gemm(problem, context); !reason.empty()) return reason;
    const std::int64_t channels = problem.src.dims[1] / problem.groups;
    if (channels < least_split_channels || channels % 4 != 0)
        return "the channels of a group must be a multiple of 4, at least " +
               std::to_string(least_split_channels) + ", not " + std::to_string(channels);
    if (traits_of(context).major < 8) return "the GPU has no TF32 (compute capability 8.0)";
    return {};
}

template <bool split>
std::unique_ptr<Plan> make_col2im_gemm(const Transposed& problem, const Context& context, PlanInfo info) {
    const kernels::ConvolutionGeometry geometry = convolution_geometry(problem);
    auto params =
        cuda::col2im_gemm_params(geometry, kernel_activation(problem.activation), traits_of(context));
    info.packed_bytes = cuda::col2im_gemm_packed_size(geometry) * sizeof(float);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cuda::col2im_gemm_workspace_bytes(params);
    params.split = split;
    return std::make_unique<Col2imGemmPlan>(problem, std::move(info), params);
}

std::string reject_implicit_gemm(const Transposed& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    const kernels::ConvolutionGeometry geometry = convolution_geometry(problem);
    if (cuda::phase_gemm_phases(geometry) > cuda::phase_gemm_most_phases)
        return "the strides make more than " + std::to_string(cuda::phase_gemm_most_phases) +
               " phases of outputs, a kernel each";
    if (!cuda::phase_gemm(geometry, kernel_activation(problem.activation), traits_of(context)))
        return cuda::window_gemm_limit;
    return {};
}

std::unique_ptr<Plan> make_implicit_gemm(const Transposed& problem, const Context& context, PlanInfo info) {
    auto phases = *cuda::phase_gemm(convolution_geometry(problem), kernel_activation(problem.activation),
                                    traits_of(context));
    info.packed_bytes = static_cast<std::size_t>(phases.packed_floats) * sizeof(float);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : phases.workspace_bytes;
    return std::make_unique<ImplicitGemmPlan>(problem, std::move(info), std::move(phases));
}

constexpr std::array<Algorithm<Transposed>, 4> rows = {{
    {"col2im_gemm_split_tf32", ErrorClass::fp32, true, reject_col2im_gemm_split_tf32, always<Transposed>,
     make_col2im_gemm<true>},
    {"col2im_gemm", ErrorClass::fp32, true, reject_col2im_gemm, always<Transposed>, make_col2im_gemm<false>},
    // No workspace, but a kernel for each phase of the strides: not quicker.
    {"implicit_gemm", ErrorClass::fp32, true, reject_implicit_gemm, always<Transposed>, make_implicit_gemm},
    {"direct", ErrorClass::exact_order, true, reject_unless_f32, always<Transposed>, make_direct},
}};

}  // namespace

template <>
std::span<const Algorithm<TransposedConvolutionProblem>> cuda_algorithms() {
    return rows;
}

}  // namespace convlens
