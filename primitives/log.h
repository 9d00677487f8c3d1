// What the library prints to standard error when the environment's CONVLENS_LOG asks for it (inside the
// library only).
//
// CONVLENS_LOG=plan: the problem, every row of its list with its reason or its bytes, and the choice, for
// each plan that is made.
#pragma once

#include "convlens/plan.h"

namespace convlens {

// Read once; false while this thread pauses it.
bool plans_are_logged() noexcept;

// Plans that this thread makes in its lifetime are not printed: the finder asks for every row by name.
class PlanLogPause {
  public:
    PlanLogPause() noexcept;
    ~PlanLogPause();
    PlanLogPause(const PlanLogPause&) = delete;
    PlanLogPause& operator=(const PlanLogPause&) = delete;
};

// `chosen` is null where none was; `failure` says why then.
void log_plan(Context& context, const Problem& problem, const PlanOptions& options, const Plan* chosen,
              const char* failure) noexcept;

}  // namespace convlens
