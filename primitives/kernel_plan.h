// A plan that is one kernel of the processor with its parameters.
#pragma once

#include <memory>
#include <utility>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"
#include "primitives/kernel_activation.h"
#include "primitives/layout_of.h"
#include "primitives/rows.h"

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

// The same for a kernel (params, source..., dst, pool).
template <class P, auto params_of, auto kernel, std::size_t sources = 1>
std::unique_ptr<Plan> make_plain_plan(const P& problem, const Context&, PlanInfo info) {
    using Params = decltype(params_of(problem));
    return std::make_unique<KernelPlan<Params>>(
        problem, std::move(info), params_of(problem),
        [](const Params& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
            call_kernel<kernel>(params, args, pool, std::make_index_sequence<sources>{});
        });
}

}  // namespace convlens
