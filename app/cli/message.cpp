#include "app/cli/message.h"

#include <cstdio>

namespace convlens::cli {
namespace {

void print(const char* head, const std::string& text) {
    // Names from files may hold anything; a terminal must not obey them.
    std::string line = head;
    for (const char c : text) line += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
    std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

void note(const std::string& text) { print("convlens: ", text); }
void complain(const std::string& text) { print("convlens: error: ", text); }

}  // namespace convlens::cli
