#include <array>

#include "kernels/cpu/transposed_convolution/direct.h"
#include "primitives/algorithm.h"
#include "primitives/convolution_geometry.h"
#include "primitives/kernel_activation.h"

namespace convlens {
namespace {

using Problem = TransposedConvolutionProblem;

const float* floats(const void* pointer) { return static_cast<const float*>(pointer); }

std::string reject_types(const Problem& problem, const Context&) {
    if (problem.src.type != DataType::f32 || problem.dst.type != DataType::f32)
        return "only f32 is supported";
    if (problem.window.rank() > 3) return "more than three spatial axes";
    return {};
}

class DirectPlan final : public Plan {
  public:
    DirectPlan(const Problem& problem, PlanInfo info)
        : Plan(problem, std::move(info)),
          geometry_(convolution_geometry(problem)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset),
          activation_(kernel_activation(problem.activation)) {}

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::transposed_convolution_direct(geometry_, floats(args.sources[0]) + src_offset_,
                                           floats(args.weights), floats(args.sources[1]), activation_,
                                           static_cast<float*>(args.dst) + dst_offset_, context.pool());
    }
    cpu::ConvolutionGeometry geometry_;
    std::int64_t src_offset_, dst_offset_;
    cpu::Activation activation_;
};

std::unique_ptr<Plan> make_direct(const Problem& problem, const Context&, PlanInfo info) {
    return std::make_unique<DirectPlan>(problem, std::move(info));
}

constexpr std::array<Algorithm<Problem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_types, always<Problem>, make_direct},
}};

}  // namespace

template <>
std::span<const Algorithm<TransposedConvolutionProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens
