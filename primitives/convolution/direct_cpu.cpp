#include "kernels/cpu/convolution/direct.h"

#include "primitives/convolution/convolution_plan.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/layout_of.h"
#include "primitives/rows.h"

namespace convlens::convolution_rows {
namespace {

class DirectPlan final : public ConvolutionPlan {
  public:
    DirectPlan(const ConvolutionProblem& problem, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)) {}

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cpu::convolution_direct_pack(geometry_, static_cast<const float*>(weights),
                                     static_cast<float*>(packed));
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Tensors t = tensors(args);
        cpu::convolution_direct(geometry_, t.src, t.weights, t.bias, t.residual, activation_, t.dst,
                                context.pool());
    }
};

class TypedDirectPlan final : public ConvolutionPlan {
  public:
    TypedDirectPlan(const ConvolutionProblem& problem, PlanInfo info)
        : ConvolutionPlan(problem, std::move(info)), type_(element_type_of(problem.dst.type)) {
        apply_scales();
    }

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        cpu::ConvolutionDirect p;
        p.geometry = geometry_;
        p.activation = activation_;
        p.type = type_;
        p.src = args.sources[0];
        p.src_offset = src_offset_;
        p.weights = args.weights;
        p.bias = has_bias_ ? args.sources[1] : nullptr;
        p.residual = has_residual_ ? args.sources[2] : accumulates_ ? args.dst : nullptr;
        p.dst = args.dst;
        p.dst_offset = dst_offset_;
        p.alpha = scales_.alpha;
        p.beta = scales_.residual;
        cpu::convolution_direct(p, context.pool());
    }
    kernels::ElementType type_;
};

std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context&, PlanInfo info) {
    if (!is_f32(problem.dst)) return std::make_unique<TypedDirectPlan>(problem, std::move(info));
    info.packed_bytes = cpu::convolution_direct_packed_size(convolution_geometry(problem)) * sizeof(float);
    return std::make_unique<DirectPlan>(problem, std::move(info));
}

}  // namespace

Row direct() {
    return {"direct",
            ErrorClass::exact_order,
            true,
            reject_unless_floating_point<ConvolutionProblem>,
            always<ConvolutionProblem>,
            make};
}

}  // namespace convlens::convolution_rows
