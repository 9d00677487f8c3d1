// The same target for libFuzzer (clang): descriptor_fuzzer [CORPUS] [-max_total_time=60]
#include <gtest/gtest.h>

#include "fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    ::testing::GTEST_FLAG(throw_on_failure) =
        true;  // a failure ends the run, so that libFuzzer keeps its bytes
    int count = 1;
    char name[] = "descriptor_fuzzer";
    char* arguments[] = {name, nullptr};
    ::testing::InitGoogleTest(&count, arguments);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)convlens::test::fuzz_one({data, size});
    return 0;
}
