#include "kernels/cpu/convolution/winograd.h"

#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/convolution/winograd_conditions.h"

namespace convlens::convolution_rows {
namespace {

template <int window>
std::string reject(const ConvolutionProblem& problem, const Context&) {
    if (auto reason = reject_unless_f32(problem); !reason.empty()) return reason;
    return reject_winograd_window(problem, window);
}

class WinogradPlan final : public ConvolutionPlan {
  public:
    WinogradPlan(const ConvolutionProblem& problem, PlanInfo info, const cpu::WinogradTiling& tiling)
        : ConvolutionPlan(problem, std::move(info)), tiling_(tiling) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::winograd_pack(geometry_, tiling_, static_cast<const float*>(weights),
                           static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        cpu::convolution_winograd(geometry_, tiling_, t.src, t.weights, t.bias, t.residual, activation_,
                                  t.dst, args.workspace, context.pool());
    }
    cpu::WinogradTiling tiling_;
};

template <int tile>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const cpu::ConvolutionGeometry geometry = convolution_geometry(problem);
    const cpu::WinogradTiling tiling = cpu::winograd_tiling(geometry, tile, context.threads());
    info.packed_bytes = cpu::winograd_packed_size(geometry, tiling) * sizeof(float);
    info.workspace_bytes = problem.dst.is_empty() ? 0 : cpu::winograd_workspace_bytes(tiling);
    info.work.executed_flops = cpu::winograd_operations(geometry, tiling);
    return std::make_unique<WinogradPlan>(problem, std::move(info), tiling);
}

// Both transforms cost by C + K what the products save by C * K.
bool channels_pay(const ConvolutionProblem& problem) {
    const std::int64_t c = problem.src.dims[1], k = problem.dst.dims[1];
    return c * k >= 16 * (c + k);
}

// The transformed filter is 4 times the plain one and is read once a chunk: few tiles don't repay that.
// F(2x2) has four times the tiles and less than half the filter.
constexpr std::int64_t enough_tiles = 32;

bool preferred_4x4(const ConvolutionProblem& problem, const Context&) {
    return channels_pay(problem) && winograd_tiles(problem, 4) >= enough_tiles;
}

bool preferred_2x2(const ConvolutionProblem& problem, const Context&) {
    return channels_pay(problem) && winograd_tiles(problem, 2) >= enough_tiles;
}

}  // namespace

Row winograd_4x4() { return {"winograd_4x4", ErrorClass::winograd, true, reject<3>, preferred_4x4, make<4>}; }

Row winograd_2x2() { return {"winograd_2x2", ErrorClass::winograd, true, reject<3>, preferred_2x2, make<2>}; }

Row winograd_2x2_5x5() {
    return {"winograd_2x2_5x5", ErrorClass::winograd, true, reject<5>, preferred_2x2, make<2>};
}

}  // namespace convlens::convolution_rows
