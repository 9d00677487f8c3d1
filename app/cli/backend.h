// Where networks run: what --backend, --device and --threads ask for, against what this machine has.
#pragma once

#include "app/cli/options.h"
#include "convlens/context.h"
#include "convlens/plan.h"

namespace convlens::cli {

// auto: cuda where the build and the machine have it, else the processor. Throws Error(not_supported) with
// the reason when cuda is asked for and not there.
ContextOptions context_options(const CommonOptions& common);
// "fp32", "tf32", "fp16", "bf16"; throws Error(bad_parameter) for another word, and Error(not_supported) for
// a precision that the backend has no rows of.
Precision parse_precision(const std::string& text, Backend backend);

}  // namespace convlens::cli
