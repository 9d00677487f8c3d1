// A plan that is one kernel with its parameters, and the translation of descriptors into what kernels see.
#pragma once

#include <memory>
#include <utility>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/layout.h"
#include "primitives/algorithm.h"

namespace convlens {

// Params: a plain value made from the problem.  Run launches it:
// void (const Params&, const ExecuteArgs&, cpu::ThreadPool&).
template <class Params>
class KernelPlan final : public Plan {
  public:
    using Run = void (*)(const Params& params, const ExecuteArgs& args, cpu::ThreadPool& pool);
    KernelPlan(Problem problem, PlanInfo info, Params params, Run run)
        : Plan(std::move(problem), std::move(info)), params_(std::move(params)), run_(run) {}

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        run_(params_, args, context.pool());
    }
    Params params_;
    Run run_;
};

// Makes the plan of a row whose parameters are `params_of(problem)` and whose kernel is `run`.
template <class P, auto params_of, auto run>
std::unique_ptr<Plan> make_kernel_plan(const P& problem, const Context&, PlanInfo info) {
    using Params = decltype(params_of(problem));
    return std::make_unique<KernelPlan<Params>>(problem, std::move(info), params_of(problem), run);
}

inline cpu::Layout layout_of(const TensorDesc& desc) {
    cpu::Layout layout;
    layout.type = static_cast<cpu::ElementType>(desc.type);
    layout.rank = desc.rank();
    layout.offset = desc.offset;
    for (int axis = 0; axis < desc.rank(); ++axis) {
        layout.dims[static_cast<std::size_t>(axis)] = desc.dims[axis];
        layout.strides[static_cast<std::size_t>(axis)] = desc.strides[axis];
    }
    return layout;
}

inline cpu::Activation kernel_activation(const ActivationDesc& desc) {
    return {static_cast<cpu::ActivationKind>(desc.kind), desc.alpha, desc.beta};
}

static_assert(static_cast<int>(ActivationKind::hard_swish) ==
              static_cast<int>(cpu::ActivationKind::hard_swish));
static_assert(static_cast<int>(DataType::boolean) == static_cast<int>(cpu::ElementType::boolean));

// The same tensor with one axis reduced to its first index.
inline cpu::Layout without_axis(const TensorDesc& desc, int axis) {
    cpu::Layout layout = layout_of(desc);
    layout.dims[static_cast<std::size_t>(axis)] = 1;
    return layout;
}

inline bool is_f32(const TensorDesc& desc) { return desc.type == DataType::f32; }

// The rows with vector code take f32 only; `direct` takes every floating-point type.
template <class P>
std::string reject_unless_f32(const P& problem, const Context&) {
    if (is_f32(problem.dst)) return {};
    return std::string("only f32 is supported, not ") + to_string(problem.dst.type);
}

inline bool is_floating_point(DataType type) {
    return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16;
}

template <class P>
std::string reject_unless_floating_point(const P& problem, const Context&) {
    if (is_floating_point(problem.dst.type)) return {};
    return std::string("only floating-point types are supported, not ") + to_string(problem.dst.type);
}

inline const float* floats(const void* pointer) { return static_cast<const float*>(pointer); }

}  // namespace convlens
