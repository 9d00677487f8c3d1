// Messages to standard error: one line each.
#pragma once

#include <string>

namespace convlens::cli {

void note(const std::string& text);      // "convlens: ..."
void complain(const std::string& text);  // "convlens: error: ..."

}  // namespace convlens::cli
