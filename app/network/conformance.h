// ONNX backend tests: directories that hold model.onnx and test_data_set_N/{input,output}_I.pb.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convlens/plan.h"

namespace convlens::network {

enum class Conformance : std::uint8_t { passed, failed, not_supported };
const char* to_string(Conformance status) noexcept;

struct ConformanceCase {
    std::string name;  // path below the given directory
    Conformance status = Conformance::not_supported;
    std::string reason;  // empty when passed
};

struct ConformanceReport {
    int passed = 0, failed = 0, not_supported = 0;
    std::vector<ConformanceCase> cases;  // sorted by name
};

// Runs every test below `directory`. Results must agree within rtol 1e-3 and atol 1e-7 as the ONNX project
// asks. Inputs of the tests that are weights or shapes here (a filter, a Reshape's shape) are given as
// constants. Throws Error(bad_parameter) when the directory can't be read or holds no test.
ConformanceReport run_conformance(Context& context, const std::string& directory,
                                  const std::function<void(const ConformanceCase&)>& progress = {});

}  // namespace convlens::network
