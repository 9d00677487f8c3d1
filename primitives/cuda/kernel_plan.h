// Plans of the CUDA backend (inside the library only).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/cuda/stream.h"
#include "primitives/algorithm.h"
#include "primitives/cuda/device.h"
#include "primitives/kernel_activation.h"
#include "primitives/layout_of.h"
#include "primitives/rows.h"

namespace convlens::cuda_rows {

// A plan that launches kernels on the context's stream. Derive for plans with packed weights or state of
// their own; for the rest there is make_kernel_plan below.
class CudaPlan : public Plan {
  protected:
    using Plan::Plan;

  private:
    virtual void launch(cuda::Stream stream, const ExecuteArgs& args) const = 0;
    void execute_impl(Context& context, const ExecuteArgs& args) const final {
        context_device(context).activate();
        launch(stream_of(context), args);
        check_launch(info());
    }
    static void check_launch(const PlanInfo& info) {
        if (const char* error = cuda::take_launch_error())
            throw Error(Status::runtime_failure, info.operation + " by " + info.algorithm +
                                                     ": the device refused the launch: " + error);
    }
};

// Params: a plain value made from the problem.
template <class Params>
class KernelPlan final : public CudaPlan {
  public:
    using Run = void (*)(const Params& params, const ExecuteArgs& args, cuda::Stream stream);
    KernelPlan(Problem problem, PlanInfo info, Params params, Run run)
        : CudaPlan(std::move(problem), std::move(info)), params_(std::move(params)), run_(run) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override { run_(params_, args, stream); }
    Params params_;
    Run run_;
};

// Makes the plan of a row whose parameters are `params_of(problem)` and whose launcher is `run`.
template <class P, auto params_of, auto run>
std::unique_ptr<Plan> make_kernel_plan(const P& problem, const Context&, PlanInfo info) {
    using Params = decltype(params_of(problem));
    return std::make_unique<KernelPlan<Params>>(problem, std::move(info), params_of(problem), run);
}

// The same for a launcher (params, source..., dst, stream).
template <class P, auto params_of, auto launcher, std::size_t sources = 1>
std::unique_ptr<Plan> make_plain_plan(const P& problem, const Context&, PlanInfo info) {
    using Params = decltype(params_of(problem));
    return std::make_unique<KernelPlan<Params>>(
        problem, std::move(info), params_of(problem),
        [](const Params& params, const ExecuteArgs& args, cuda::Stream stream) {
            call_kernel<launcher>(params, args, stream, std::make_index_sequence<sources>{});
        });
}

}  // namespace convlens::cuda_rows
