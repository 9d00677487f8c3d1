// The data gradient as one matrix product and a gathering sum, whatever the strides: transposed convolution
// of the gradient with the forward's filter, which has the order that it takes.
#include <algorithm>
#include <vector>

#include "kernels/cpu/transposed_convolution/col2im_gemm.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/convolution_geometry.h"
#include "primitives/rows.h"

namespace convlens::convolution_rows {
namespace {

using P = ConvolutionBwdDataProblem;

class Col2imPlan final : public Plan {
  public:
    Col2imPlan(const P& problem, PlanInfo info)
        : Plan(problem, std::move(info)),
          geometry_(convolution_geometry(problem)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset),
          accumulates_(problem.beta != 0) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        const auto* plain = static_cast<const float*>(weights);
        auto* to = static_cast<float*>(packed);
        if (!geometry_.flipped) return cpu::transposed_convolution_pack(geometry_, plain, to);
        std::vector<float> turned(info().weights_bytes / sizeof(float));
        const auto taps = static_cast<std::size_t>(geometry_.taps());
        for (std::size_t at = 0; at < turned.size(); at += taps)
            std::reverse_copy(plain + at, plain + at + taps,
                              turned.begin() + static_cast<std::ptrdiff_t>(at));
        cpu::transposed_convolution_pack(geometry_, turned.data(), to);
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        auto* dst = static_cast<float*>(args.dst) + dst_offset_;
        cpu::transposed_convolution_col2im_gemm(
            geometry_, static_cast<const float*>(args.sources[0]) + src_offset_,
            static_cast<const float*>(args.weights), nullptr, accumulates_ ? dst : nullptr, cpu::Activation{},
            dst, args.workspace, context.pool());
    }

    cpu::ConvolutionGeometry geometry_;
    std::int64_t src_offset_, dst_offset_;
    bool accumulates_;
};

std::string reject(const P& problem, const Context& context) {
    if (auto reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    if (cpu::transposed_convolution_workspace_bytes(convolution_geometry(problem)) > 0x1p62)
        return "the matrix of columns has more bytes than 63 bits can count";
    return {};
}

std::unique_ptr<Plan> make(const P& problem, const Context&, PlanInfo info) {
    const cpu::ConvolutionGeometry geometry = convolution_geometry(problem);
    info.packed_bytes = cpu::transposed_convolution_packed_size(geometry) * sizeof(float);
    info.workspace_bytes =
        problem.dst.is_empty()
            ? 0
            : static_cast<std::size_t>(cpu::transposed_convolution_workspace_bytes(geometry));
    return std::make_unique<Col2imPlan>(problem, std::move(info));
}

// Few channels leave most lanes of the other rows' products empty; here taps and channels are columns
// together.
bool preferred(const P& problem, const Context&) {
    std::int64_t taps = 1;
    for (int axis = 2; axis < problem.weights.rank(); ++axis) taps *= problem.weights[axis];
    return problem.groups == 1 && taps > 1 && problem.weights[1] < 8 && problem.weights[0] >= 16;
}

}  // namespace

BwdDataRow bwd_data_im2col_gemm() { return {"im2col_gemm", ErrorClass::fp32, true, reject, preferred, make}; }

}  // namespace convlens::convolution_rows
