#include "kernels/cpu/convolution/winograd_bwd_filter.h"

#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/convolution/winograd_conditions.h"

namespace convlens::convolution_rows {
namespace {

using P = ConvolutionBwdFilterProblem;

template <int window>
std::string reject(const P& problem, const Context&) {
    for (const TensorDesc* desc : {&problem.src, &problem.dst})
        if (desc->type != DataType::f32)
            return std::string("only f32 is supported, not ") + to_string(desc->type);
    return reject_winograd_window(problem.window, problem.dst.dims, problem.groups, window);
}

class WinogradPlan final : public Plan {
  public:
    WinogradPlan(const P& problem, PlanInfo info, const cpu::WinogradBwdFilter& params)
        : Plan(problem, std::move(info)), params_(params) {
        apply_scales();
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::convolution_winograd_bwd_filter(params_, static_cast<const float*>(args.sources[0]),
                                             static_cast<const float*>(args.sources[1]),
                                             static_cast<float*>(args.dst), args.workspace, context.pool());
    }
    cpu::WinogradBwdFilter params_;
};

template <int tile>
std::unique_ptr<Plan> make(const P& problem, const Context&, PlanInfo info) {
    const cpu::WinogradBwdFilter params = cpu::winograd_bwd_filter(bwd_filter_params(problem), tile);
    info.workspace_bytes = cpu::winograd_bwd_filter_workspace_bytes(params);
    info.work.executed_flops = cpu::winograd_bwd_filter_operations(params);
    return std::make_unique<WinogradPlan>(problem, std::move(info), params);
}

// Both transforms cost by C + K what the products save by C * K, and the sums are read and written once a
// chunk.
template <int tile>
bool preferred(const P& problem, const Context&) {
    const std::int64_t c = problem.src.dims[1], k = problem.diff.dims[1];
    const std::int64_t tiles = problem.diff.dims[0] * ((problem.diff.dims[2] + tile - 1) / tile) *
                               ((problem.diff.dims[3] + tile - 1) / tile);
    return c * k >= 16 * (c + k) && tiles >= 64;
}

}  // namespace

BwdFilterRow bwd_filter_winograd_4x4() {
    return {"winograd_4x4", ErrorClass::winograd, true, reject<3>, preferred<4>, make<4>};
}
BwdFilterRow bwd_filter_winograd_2x2() {
    return {"winograd_2x2", ErrorClass::winograd, true, reject<3>, preferred<2>, make<2>};
}
BwdFilterRow bwd_filter_winograd_2x2_5x5() {
    return {"winograd_2x2_5x5", ErrorClass::winograd, true, reject<5>, preferred<2>, make<2>};
}

}  // namespace convlens::convolution_rows
