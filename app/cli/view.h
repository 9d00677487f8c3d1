// `convlens view`: the window, or pictures of it.
#pragma once

#include "app/cli/options.h"

namespace convlens::cli {

// Returns the program's exit status; what went wrong is on standard error in one sentence.
int view(const ViewOptions& options);

}  // namespace convlens::cli
