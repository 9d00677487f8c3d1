// The processor's transposed convolution algorithms, best first, the naive reference last.
#include <array>

#include "kernels/cpu/transposed_convolution/col2im_gemm.h"
#include "kernels/cpu/transposed_convolution/direct.h"
#include "primitives/algorithm.h"
#include "primitives/convolution_geometry.h"
#include "primitives/device.h"
#include "primitives/kernel_activation.h"
#include "primitives/rows.h"

namespace convlens {
namespace {

using Transposed = TransposedConvolutionProblem;

class TransposedPlan : public Plan {
  protected:
    TransposedPlan(const Transposed& problem, PlanInfo info)
        : Plan(problem, std::move(info)),
          geometry_(convolution_geometry(problem)),
          activation_(kernel_activation(problem.activation)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset) {}

    const float* src(const ExecuteArgs& args) const { return floats(args.sources[0]) + src_offset_; }
    float* dst(const ExecuteArgs& args) const { return static_cast<float*>(args.dst) + dst_offset_; }

    cpu::ConvolutionGeometry geometry_;
    cpu::Activation activation_;
    std::int64_t src_offset_, dst_offset_;
};

class DirectPlan final : public TransposedPlan {
  public:
    DirectPlan(const Transposed& problem, PlanInfo info) : TransposedPlan(problem, std::move(info)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::transposed_convolution_direct_pack(geometry_, floats(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::transposed_convolution_direct(geometry_, src(args), floats(args.weights),
                                           floats(args.sources[1]), activation_, dst(args), context.pool());
    }
};

class Col2imGemmPlan final : public TransposedPlan {
  public:
    Col2imGemmPlan(const Transposed& problem, PlanInfo info) : TransposedPlan(problem, std::move(info)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::transposed_convolution_pack(geometry_, floats(weights), static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::transposed_convolution_col2im_gemm(geometry_, src(args), floats(args.weights),
                                                floats(args.sources[1]), nullptr, activation_, dst(args),
                                                args.workspace, context.pool());
    }
};

std::unique_ptr<Plan> make_direct(const Transposed& problem, const Context&, PlanInfo info) {
    info.packed_bytes =
        cpu::transposed_convolution_direct_packed_size(convolution_geometry(problem)) * sizeof(float);
    return std::make_unique<DirectPlan>(problem, std::move(info));
}

std::string reject_col2im_gemm(const Transposed& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    if (cpu::transposed_convolution_workspace_bytes(convolution_geometry(problem)) > 0x1p62)
        return "the matrix of columns has more bytes than 63 bits can count";
    return {};
}

std::unique_ptr<Plan> make_col2im_gemm(const Transposed& problem, const Context&, PlanInfo info) {
    const cpu::ConvolutionGeometry geometry = convolution_geometry(problem);
    info.packed_bytes = cpu::transposed_convolution_packed_size(geometry) * sizeof(float);
    info.workspace_bytes =
        problem.dst.is_empty()
            ? 0
            : static_cast<std::size_t>(cpu::transposed_convolution_workspace_bytes(geometry));
    return std::make_unique<Col2imGemmPlan>(problem, std::move(info));
}

constexpr std::array<Algorithm<Transposed>, 2> rows = {{
    {"col2im_gemm", ErrorClass::fp32, true, reject_col2im_gemm, always<Transposed>, make_col2im_gemm},
    {"direct", ErrorClass::exact_order, true, reject_unless_f32, always<Transposed>, make_direct},
}};

}  // namespace

template <>
std::span<const Algorithm<TransposedConvolutionProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<TransposedConvolutionProblem>();
    return rows;
}

}  // namespace convlens
