// gpu_tests: the library's tests over the rows of the CUDA backend. Without a GPU it says why and counts as skipped.
#include <gtest/gtest.h>

#include <cstdio>

#include "convlens/convlens.hpp"

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::string why;
    const auto devices = convlens::cuda_devices(&why);
    if (devices.empty()) {
        std::printf("gpu tests skipped: %s\n", why.c_str());
        return 77;
    }
    std::printf("on %s, compute capability %d.%d\n", devices[0].name.c_str(), devices[0].compute_major,
                devices[0].compute_minor);
    return RUN_ALL_TESTS();
}
