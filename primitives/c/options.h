// Options of plans from their struct (inside the library only).
#pragma once

#include "primitives/c/structs.h"

namespace convlens::c {

inline PlanOptions to_plan_options(const convlens_plan_options* options) {
    convlens_plan_options given = convlens_plan_options_default();
    if (options != nullptr) given = read_struct(options, given, "options");
    if (given.precision < CONVLENS_PRECISION_FP32 || given.precision > CONVLENS_PRECISION_BF16)
        throw Error(Status::bad_parameter,
                    "options: precision " + std::to_string(given.precision) + " does not exist");
    PlanOptions result;
    if (given.algorithm != nullptr) result.algorithm = given.algorithm;
    result.workspace_limit = given.workspace_limit;
    result.precision = static_cast<Precision>(given.precision);
    result.cached = given.cached != 0;
    return result;
}

}  // namespace convlens::c
