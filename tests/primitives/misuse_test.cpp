// What a caller of the C++ interface can be wrong in beside the problem itself (problem_test.cpp): contexts,
// plans, pointers. Each error names the argument, and nothing is written. And problems as text.
#include <set>

#include "primitives/problem_text.h"
#include "sample_problems.h"

namespace convlens::test {
namespace {

template <class Work>
void expect_error(Status status, const std::string& named, const Work& work) {
    try {
        work();
        ADD_FAILURE() << "nothing was said of " << named;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        EXPECT_NE(std::string(error.what()).find(named), std::string::npos)
            << error.what() << " names no " << named;
    }
}

TEST(Misuse, Contexts) {
    expect_error(Status::bad_parameter, "threads: -1", [] { Context({.threads = -1}); });
    expect_error(Status::bad_parameter, "threads: 1025", [] { Context({.threads = 1025}); });
    expect_error(Status::bad_parameter, "backend", [] { Context({.backend = static_cast<Backend>(2)}); });
    int something = 0;
    expect_error(Status::bad_parameter, "stream", [&] { Context({.threads = 1, .stream = &something}); });
    Context processor({.threads = 1});
    EXPECT_EQ(processor.stream(), nullptr);
    expect_error(Status::not_supported, "stream", [&] { processor.set_stream(&something); });
    expect_error(Status::not_supported, "recorded", [&] { Recording(processor, [] {}); });
    const bool has_devices = !cuda_devices().empty();
    expect_error(has_devices ? Status::bad_parameter : Status::not_supported, has_devices ? "device" : "CUDA",
                 [] { Context({.backend = Backend::cuda, .device = 4096}); });
    expect_error(Status::runtime_failure, "bytes",
                 [&] { processor.release(processor.allocate(SIZE_MAX / 4)); });
    expect_error(Status::bad_parameter, "axes", [] { Dims({1, 2, 3, 4, 5, 6, 7, 8, 9}); });
}

TEST(Misuse, Plans) {
    ConvolutionProblem problem;
    problem.src = TensorDesc::packed({2, 6, 11, 9});
    problem.weights = {4, 6, 3, 2};
    problem.window = WindowDesc::unit(2);
    problem.dst = TensorDesc::packed({2, 4, 9, 8});
    const auto plan = make_plan(context(), problem, {.algorithm = "im2col_gemm"});
    const std::size_t needed = plan->info().workspace_bytes;
    ASSERT_GT(needed, problem.src.bytes());  // a source may lie in the workspace
    EXPECT_EQ(plan->info().backend, context().backend());
    const std::vector<float> filter(4 * 6 * 3 * 2, 0.5f);
    const Buffer src(context(), problem.src.bytes()), workspace(context(), needed + 64);
    const Buffer around(context(), 3 * problem.dst.bytes());
    const Buffer packed = pack_weights(context(), *plan, filter.data());
    context().fill(around.data(), 0x3D, around.bytes());
    std::byte* const dst = around.data() + problem.dst.bytes();
    const void* sources[] = {src.data(), nullptr, nullptr, nullptr};
    const ExecuteArgs good{.sources = std::span(sources).first(1),
                           .weights = packed.data(),
                           .dst = dst,
                           .workspace = workspace.data(),
                           .workspace_bytes = needed};
    const auto bad = [&](const std::string& named, const auto& spoil) {
        ExecuteArgs args = good;
        sources[0] = src.data();
        spoil(args);
        expect_error(Status::bad_parameter, named, [&] { plan->execute(context(), args); });
    };
    bad("takes 3 sources, 0", [](auto& a) { a.sources = {}; });
    bad("takes 3 sources, 4", [&](auto& a) { a.sources = sources; });
    bad("source 0 is null", [&](auto&) { sources[0] = nullptr; });
    bad("weights", [](auto& a) { a.weights = nullptr; });
    bad("dst", [](auto& a) { a.dst = nullptr; });
    bad("workspace is null", [](auto& a) { a.workspace = nullptr; });
    bad(std::to_string(needed - 1), [&](auto& a) { a.workspace_bytes = needed - 1; });
    bad("64-byte aligned", [&](auto& a) { a.workspace = workspace.data() + 4; });
    bad("source 0 overlaps dst", [&](auto&) { sources[0] = dst + 4; });
    bad("workspace and dst overlap", [&](auto& a) { a.workspace = dst; });
    bad("workspace and source 0 overlap", [&](auto&) { sources[0] = workspace.data(); });
    expect_error(Status::bad_parameter, "weights", [&] { plan->pack_weights(nullptr, nullptr); });
    expect_error(Status::bad_parameter, "packed: null", [&] { plan->pack_weights(filter.data(), nullptr); });
    Workspace host(plan->info().packed_bytes + 64);
    expect_error(Status::bad_parameter, "packed: not 64-byte aligned",
                 [&] { plan->pack_weights(filter.data(), static_cast<std::byte*>(host.data()) + 4); });
    expect_error(Status::bad_parameter, "weights: null",
                 [&] { (void)pack_weights(context(), *plan, nullptr); });
    expect_error(Status::bad_parameter, "packed: not 64-byte aligned",
                 [&] { pack_weights(context(), *plan, filter.data(), packed.data() + 8); });
    if (on_gpu) {
        Context processor({.threads = 1});
        expect_error(Status::bad_parameter, "backend cuda", [&] { plan->execute(processor, good); });
        expect_error(Status::bad_parameter, "backend cuda",
                     [&] { (void)pack_weights(processor, *plan, filter.data()); });
        const auto on_processor = make_plan(processor, problem);
        expect_error(Status::bad_parameter, "backend cpu", [&] { on_processor->execute(context(), good); });
    }
    std::vector<unsigned char> bytes(around.bytes());
    context().download(bytes.data(), around.data(), bytes.size());
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](unsigned char b) { return b == 0x3D; }));
    sources[0] = src.data();
    plan->execute(context(), good);
    context().synchronize();
}

TEST(ProblemText, SaysEverythingInOneLine) {
    std::set<std::string> texts;
    const auto samples = sample_problems();
    for (const Problem& problem : samples) {
        const std::string text = to_text(problem);
        EXPECT_EQ(text.find('\n'), std::string::npos);
        EXPECT_EQ(text.rfind(operation_name(problem), 0), 0u) << text;
        texts.insert(text);
    }
    EXPECT_EQ(texts.size(), samples.size());
    auto p = std::get<ConvolutionProblem>(samples[0]);
    EXPECT_EQ(
        to_text(p),
        "convolution src f32 2x6x11x9 channels-last, weights 4x3x3x2, dst f32 2x4x6x9 packed, pads 1,2 2,0, "
        "strides "
        "2,1, dilations 1,2, groups 2, convolution, alpha 0.75, beta 0, bias, residual, clip, of -0.5 and 2");
    const std::string before = to_text(p);
    p.src.offset = 3;
    EXPECT_NE(to_text(p), before);
    p.src.offset = 0;
    p.src.strides[0] += 1;
    EXPECT_NE(to_text(p), before);
}

}  // namespace
}  // namespace convlens::test
