// A context in a stream of the caller's: work goes there, may be captured there, and memory of every kind
// that the device can address serves.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "convlens/convlens.h"
#include "convlens/convlens.hpp"

namespace convlens::test {
namespace {

#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

ElementwiseProblem sum_of_two() {
    const TensorDesc x = TensorDesc::packed({2, 3, 37, 41});
    return {ElementwiseKind::add, x, x, x, {}};
}

class UserStream : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i % 251) - 100.0f;
    }
    void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }

    // dst = 2 values, by a plan on this context; checked after the context has been waited for.
    void run(Context& context, float* src, float* dst) {
        const auto plan = make_plan(context, sum_of_two());
        const void* sources[] = {src, src};
        plan->execute(context, {.sources = sources, .dst = dst});
    }
    bool is_twice(const std::vector<float>& result) const {
        for (std::size_t i = 0; i < values_.size(); ++i)
            if (result[i] != 2 * values_[i]) return false;
        return true;
    }
    std::vector<float> fetch(const float* dst) const {
        std::vector<float> result(values_.size());
        EXPECT_EQ(cudaMemcpy(result.data(), dst, bytes(), cudaMemcpyDefault), cudaSuccess);
        return result;
    }
    std::size_t bytes() const { return values_.size() * sizeof(float); }

    cudaStream_t stream_ = nullptr;
    std::vector<float> values_ = std::vector<float>(2 * 3 * 37 * 41);
};

TEST_F(UserStream, WorkIsCapturedThere) {
    Context context({.backend = Backend::cuda, .threads = 1, .stream = stream_});
    EXPECT_EQ(context.stream(), stream_);
    const Buffer src(context, values_.data(), bytes()), dst(context, bytes());
    context.fill(dst.data(), 0xFF, bytes());
    context.synchronize();
    auto* x = reinterpret_cast<float*>(src.data());
    auto* y = reinterpret_cast<float*>(dst.data());
    ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    run(context, x, y);
    cudaGraph_t graph = nullptr;
    ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
    std::size_t nodes = 0;
    ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_GE(nodes, 1u);
    EXPECT_FALSE(is_twice(fetch(y)));  // nothing has run yet
    cudaGraphExec_t executable = nullptr;
    ASSERT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    ASSERT_CUDA(cudaGraphLaunch(executable, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    EXPECT_TRUE(is_twice(fetch(y)));
    ASSERT_CUDA(cudaGraphExecDestroy(executable));
    ASSERT_CUDA(cudaGraphDestroy(graph));
}

TEST_F(UserStream, MayBeChanged) {
    Context context({.backend = Backend::cuda, .threads = 1});
    void* const own = context.stream();
    EXPECT_NE(own, nullptr);
    context.set_stream(stream_);
    EXPECT_EQ(context.stream(), stream_);
    const Buffer src(context, values_.data(), bytes()), dst(context, bytes());
    run(context, reinterpret_cast<float*>(src.data()), reinterpret_cast<float*>(dst.data()));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    EXPECT_TRUE(is_twice(fetch(reinterpret_cast<float*>(dst.data()))));
    for (void* stream : {static_cast<void*>(cudaStreamLegacy), static_cast<void*>(cudaStreamPerThread),
                         static_cast<void*>(nullptr)}) {
        context.set_stream(stream);
        context.fill(dst.data(), 0xFF, bytes());
        run(context, reinterpret_cast<float*>(src.data()), reinterpret_cast<float*>(dst.data()));
        context.synchronize();
        EXPECT_TRUE(is_twice(fetch(reinterpret_cast<float*>(dst.data()))));
    }
    EXPECT_EQ(context.stream(), own);
}

TEST_F(UserStream, OfAnotherDeviceIsRefused) {
    int count = 0;
    ASSERT_CUDA(cudaGetDeviceCount(&count));
    if (count < 2) GTEST_SKIP() << "there is one GPU only";
    ASSERT_CUDA(cudaSetDevice(0));
    try {
        const Context context({.backend = Backend::cuda, .threads = 1, .device = 1, .stream = stream_});
        FAIL() << "a stream of device 0 was taken for device 1";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::bad_parameter);
        EXPECT_NE(std::string(error.what()).find("stream"), std::string::npos) << error.what();
    }
    Context first({.backend = Backend::cuda, .threads = 1}),
        second({.backend = Backend::cuda, .threads = 1, .device = 1});
    const auto plan = make_plan(first, sum_of_two());
    try {
        plan->execute(second, {});
        FAIL() << "a plan for device 0 ran on device 1";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("device 1"), std::string::npos) << error.what();
    }
}

TEST_F(UserStream, ManagedAndPinnedMemoryServes) {
    Context context({.backend = Backend::cuda, .threads = 1, .stream = stream_});
    float *managed = nullptr, *pinned = nullptr;
    ASSERT_CUDA(cudaMallocManaged(reinterpret_cast<void**>(&managed), bytes(), cudaMemAttachGlobal));
    ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), bytes()));
    std::memcpy(managed, values_.data(), bytes());
    run(context, managed, pinned);
    context.synchronize();
    EXPECT_TRUE(is_twice(std::vector<float>(pinned, pinned + values_.size())));
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
    EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST_F(UserStream, ThroughTheCInterface) {
    convlens_context_options options = convlens_context_options_default();
    options.backend = CONVLENS_CUDA;
    options.stream = stream_;
    convlens_context* context = nullptr;
    ASSERT_EQ(convlens_context_create(&options, &context), CONVLENS_SUCCESS) << convlens_last_error();
    void* in_use = nullptr;
    EXPECT_EQ(convlens_context_get_stream(context, &in_use), CONVLENS_SUCCESS);
    EXPECT_EQ(in_use, stream_);
    EXPECT_EQ(convlens_context_set_stream(context, nullptr), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_context_get_stream(context, &in_use), CONVLENS_SUCCESS);
    EXPECT_NE(in_use, stream_);
    EXPECT_NE(in_use, nullptr);
    EXPECT_EQ(convlens_context_destroy(context), CONVLENS_SUCCESS);
    // The stream is still the user's.
    EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
}

}  // namespace
}  // namespace convlens::test
