// The subcommands that list something: `convlens commands`, `convlens info`, `convlens conformance`.
#pragma once

#include "app/cli/options.h"

namespace convlens::cli {

int list_commands();
int info(const InfoOptions& options);
int conformance(const ConformanceOptions& options);

}  // namespace convlens::cli
