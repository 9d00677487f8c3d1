// What the finder measured, kept in a text file over runs of programs (inside the library only).
//
// One record a line: version | device | problem | row=milliseconds/workspace bytes, quickest first. Lines
// that begin with # are remarks. The user's file is CONVLENS_CACHE, else $XDG_CACHE_HOME/convlens/plans.txt,
// else
// ~/.cache/convlens/plans.txt; after it comes /etc/convlens/plans.txt, which is only read. A record of the
// user's file goes before one of the system's. Times are of tensors that begin at multiples of 256 bytes.
#pragma once

#include <string>
#include <vector>

#include "convlens/plan.h"

namespace convlens {

// The rows that were measured for this problem on this device by this version, quickest first; empty: none.
// Never throws; what can't be read in a file is passed over with one message on standard error.
std::vector<std::string> remembered_rows(const Context& context, const Problem& problem) noexcept;
// Writes the record of what was measured (peers left out) in place of an older one. Other programs may do the
// same at the same time. Returns why not, or nothing.
std::string remember_rows(const Context& context, const Problem& problem,
                          const std::vector<Finding>& findings) noexcept;

}  // namespace convlens
