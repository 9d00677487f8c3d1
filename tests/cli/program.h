// Runs the built program as a user would.
#pragma once

#include <string>
#include <vector>

namespace convlens::test {

struct ProgramRun {
    int status = -1;  // exit status; 128 + signal when it died of one
    std::string out, err;
};

// With standard input closed off and no display; `stdout_path` instead of a captured standard output.
ProgramRun run_program(const std::vector<std::string>& arguments, const std::string& stdout_path = {});

}  // namespace convlens::test
