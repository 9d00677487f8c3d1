// Every way in which a caller of the C interface can be wrong that can be seen: the right status, a message
// that names the argument, and nothing written.
#include "c_problem_of.h"
#include "sample_problems.h"

// A request for more memory than there is must come back as one to the library, not end the program.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
    return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
    return "allocator_may_return_null=1";
}

namespace convlens::test {
namespace {

::testing::AssertionResult refused(convlens_status status, convlens_status expected,
                                   const std::string& named) {
    const std::string text = convlens_last_error();
    if (status != expected)
        return ::testing::AssertionFailure() << convlens_status_text(status) << " instead of "
                                             << convlens_status_text(expected) << " (" << text << ")";
    if (text.find(named) == std::string::npos)
        return ::testing::AssertionFailure() << "'" << text << "' does not name '" << named << "'";
    return ::testing::AssertionSuccess();
}
#define EXPECT_BAD(call, named) EXPECT_TRUE(refused(call, CONVLENS_BAD_PARAMETER, named)) << #call

convlens_convolution_desc good_convolution() {
    convlens_convolution_desc d = convlens_convolution_default();
    EXPECT_EQ(convlens_tensor_packed(&d.src, CONVLENS_F32, convlens_dims4(2, 6, 11, 9)), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_tensor_packed(&d.dst, CONVLENS_F32, convlens_dims4(2, 4, 9, 8)), CONVLENS_SUCCESS);
    d.weights = convlens_dims4(4, 6, 3, 2);
    d.window = convlens_window_unit(2);
    return d;
}

struct Wrong {
    const char* named;
    void (*spoil)(convlens_convolution_desc&);
};

TEST(CMisuse, ConvolutionArguments) {
    const Wrong wrongs[] = {
        {"struct_size", [](auto& d) { d.struct_size = 0; }},
        {"struct_size", [](auto& d) { d.struct_size -= 8; }},
        {"struct_size", [](auto& d) { d.struct_size = std::size_t{1} << 40; }},
        {"src: rank 9", [](auto& d) { d.src.dims.rank = 9; }},
        {"src: rank -1", [](auto& d) { d.src.dims.rank = -1; }},
        {"src: rank 2", [](auto& d) { d.src.dims.rank = d.src.strides.rank = 2; }},
        {"src: 3 dims but 4 strides", [](auto& d) { d.src.dims.rank = 3; }},
        {"src: dim 1 is negative", [](auto& d) { d.src.dims.values[1] = -6; }},
        {"src: type", [](auto& d) { d.src.type = 256; }},
        {"src: type", [](auto& d) { d.src.type = -1; }},
        {"src: reserved", [](auto& d) { d.src.reserved = 7; }},
        {"dst: rank", [](auto& d) { d.dst.dims.rank = d.dst.strides.rank = 5; }},
        {"dst: type", [](auto& d) { d.dst.type = CONVLENS_F64; }},
        {"dst: stride 1", [](auto& d) { d.dst.strides.values[1] = 0; }},
        {"dst: stride 3", [](auto& d) { d.dst.strides.values[3] = -1; }},
        {"dst: batch", [](auto& d) { d.dst.dims.values[0] = 3; }},
        {"dst: length 8", [](auto& d) { d.dst.dims.values[2] = 8; }},
        {"dst: 5 channels", [](auto& d) { d.dst.dims.values[1] = 5; }},
        {"weights: 1 values", [](auto& d) { d.weights.rank = 3; }},
        {"weights: rank", [](auto& d) { d.weights.rank = 0; }},
        {"weights: rank 12", [](auto& d) { d.weights.rank = 12; }},
        {"weights: 5 channels", [](auto& d) { d.weights.values[1] = 5; }},
        {"weights", [](auto& d) { d.weights.values[2] = 0; }},
        {"weights: reserved", [](auto& d) { d.weights.reserved = 1; }},
        {"pads_begin: value -1", [](auto& d) { d.window.pads_begin.values[0] = -1; }},
        {"pads_begin: 3 values", [](auto& d) { d.window.pads_begin.rank = 3; }},
        {"pads_end: value -2", [](auto& d) { d.window.pads_end.values[1] = -2; }},
        {"pads_end: rank 9", [](auto& d) { d.window.pads_end.rank = 9; }},
        {"strides: value 0", [](auto& d) { d.window.strides.values[1] = 0; }},
        {"strides: 1 values", [](auto& d) { d.window.strides.rank = 1; }},
        {"dilations: value 0", [](auto& d) { d.window.dilations.values[0] = 0; }},
        {"window", [](auto& d) { d.window.dilations.values[0] = 100; }},
        {"groups: 0", [](auto& d) { d.groups = 0; }},
        {"groups: 4", [](auto& d) { d.groups = 4; }},
        {"mode", [](auto& d) { d.mode = 2; }},
        {"mode", [](auto& d) { d.mode = 256; }},
        {"alpha", [](auto& d) { d.alpha = NAN; }},
        {"beta", [](auto& d) { d.beta = NAN; }},
        {"beta", [](auto& d) { d.beta = 1, d.has_residual = 1; }},
        {"activation", [](auto& d) { d.activation.kind = 10; }},
        {"activation", [](auto& d) { d.activation.kind = 256; }},
        {"activation", [](auto& d) { d.activation.alpha = NAN; }},
        {"activation: reserved", [](auto& d) { d.activation.reserved = -1; }},
        {"desc: reserved", [](auto& d) { d.reserved = 1; }},
    };
    for (const Wrong& wrong : wrongs) {
        convlens_convolution_desc desc = good_convolution();
        wrong.spoil(desc);
        auto* problem = reinterpret_cast<convlens_problem*>(&desc);
        EXPECT_BAD(convlens_problem_create_convolution(&desc, &problem), wrong.named);
        EXPECT_EQ(problem, nullptr) << wrong.named;
    }
}

TEST(CMisuse, TheOtherOperationsArguments) {
    convlens_problem* problem = nullptr;
    const convlens_convolution_desc good = good_convolution();
    {
        convlens_convolution_bwd_data_desc d = convlens_convolution_bwd_data_default();
        d.src = good.dst, d.dst = good.src, d.weights = good.weights, d.window = good.window;
        d.window.strides.values[0] = 0;
        EXPECT_BAD(convlens_problem_create_convolution_bwd_data(&d, &problem), "strides: value 0");
        d.window = good.window, d.groups = 5;
        EXPECT_BAD(convlens_problem_create_convolution_bwd_data(&d, &problem), "groups");
        d.groups = 1, d.src.dims.values[2] = 10;
        EXPECT_BAD(convlens_problem_create_convolution_bwd_data(&d, &problem), "src");
    }
    {
        convlens_convolution_bwd_filter_desc d = convlens_convolution_bwd_filter_default();
        d.src = good.src, d.diff = good.dst, d.window = good.window;
        ASSERT_EQ(convlens_tensor_packed(&d.dst, CONVLENS_F32, good.weights), CONVLENS_SUCCESS);
        d.diff.dims.values[0] = 5;
        EXPECT_BAD(convlens_problem_create_convolution_bwd_filter(&d, &problem), "diff");
        d.diff = good.dst, d.dst.strides.values[0] = 0;
        EXPECT_BAD(convlens_problem_create_convolution_bwd_filter(&d, &problem), "dst: stride 0");
    }
    {
        convlens_convolution_bwd_bias_desc d = convlens_convolution_bwd_bias_default();
        d.src = good.dst;
        ASSERT_EQ(convlens_tensor_packed(&d.dst, CONVLENS_F32, convlens_dims1(3)), CONVLENS_SUCCESS);
        EXPECT_BAD(convlens_problem_create_convolution_bwd_bias(&d, &problem), "dst");
    }
    {
        convlens_pooling_desc d = convlens_pooling_default();
        d.src = good.src, d.dst = good.src, d.window = good.window;
        d.size = convlens_dims3(1, 1, 1);
        EXPECT_BAD(convlens_problem_create_pooling(&d, &problem), "size: 3 values");
        d.size = convlens_dims2(1, 1), d.kind = 259;
        EXPECT_BAD(convlens_problem_create_pooling(&d, &problem), "kind");
    }
    {
        convlens_elementwise_desc d = convlens_elementwise_default();
        d.a = d.b = d.dst = good.src;
        d.b.dims.values[1] = 2;
        EXPECT_BAD(convlens_problem_create_elementwise(&d, &problem), "b: dim 1");
        d.kind = 300;
        EXPECT_BAD(convlens_problem_create_elementwise(&d, &problem), "kind");
    }
    {
        convlens_softmax_desc d = convlens_softmax_default();
        d.src = d.dst = good.src, d.axis = 4;
        EXPECT_BAD(convlens_problem_create_softmax(&d, &problem), "axis: 4");
    }
    {
        convlens_lrn_desc d = convlens_lrn_default();
        d.src = d.dst = good.src, d.size = 0;
        EXPECT_BAD(convlens_problem_create_lrn(&d, &problem), "size: 0");
    }
    {
        convlens_concat_desc d = convlens_concat_default();
        d.dst = good.src;
        EXPECT_BAD(convlens_problem_create_concat(&d, &problem), "srcs: there are none");
        d.src_count = 2;
        EXPECT_BAD(convlens_problem_create_concat(&d, &problem), "srcs: null");
        d.srcs = &good.src, d.src_count = SIZE_MAX;
        EXPECT_BAD(convlens_problem_create_concat(&d, &problem), "src_count");
        const convlens_tensor two[2] = {good.src, good.src};
        d.srcs = two, d.src_count = 2;
        EXPECT_BAD(convlens_problem_create_concat(&d, &problem), "dst: length 6");
    }
    {
        convlens_transform_desc d = convlens_transform_default();
        d.src = d.dst = good.src, d.pads_begin = convlens_dims1(1);
        EXPECT_BAD(convlens_problem_create_transform(&d, &problem), "pads");
    }
    EXPECT_EQ(problem, nullptr);
}

// A caller compiled against a later header: zeros beyond what this library knows are harmless, anything else
// is told.
TEST(CMisuse, LaterStructs) {
    struct Later {
        convlens_convolution_desc known;
        std::int64_t unknown[3];
    } later{good_convolution(), {0, 0, 0}};
    later.known.struct_size = sizeof(Later);
    convlens_problem* problem = nullptr;
    EXPECT_EQ(convlens_problem_create_convolution(&later.known, &problem), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_problem_destroy(problem), CONVLENS_SUCCESS);
    later.unknown[2] = 1;
    EXPECT_TRUE(refused(convlens_problem_create_convolution(&later.known, &problem), CONVLENS_NOT_SUPPORTED,
                        "later version"));
    EXPECT_EQ(problem, nullptr);
}

TEST(CMisuse, Tensors) {
    convlens_tensor tensor;
    std::memset(&tensor, 0x5A, sizeof tensor);
    const convlens_tensor before = tensor;
    const auto untouched = [&] { return std::memcmp(&tensor, &before, sizeof tensor) == 0; };
    EXPECT_BAD(convlens_tensor_packed(nullptr, CONVLENS_F32, convlens_dims2(1, 1)), "tensor: null");
    EXPECT_BAD(convlens_tensor_packed(&tensor, 9, convlens_dims2(1, 1)), "type: 9");
    EXPECT_BAD(convlens_tensor_packed(&tensor, 256, convlens_dims2(1, 1)), "type: 256");
    EXPECT_BAD(convlens_tensor_channels_last(&tensor, CONVLENS_F32, convlens_dims2(1, -1)), "dims: dim 1");
    convlens_dims dims = convlens_dims2(1, 2);
    dims.rank = 9;
    EXPECT_BAD(convlens_tensor_packed(&tensor, CONVLENS_F32, dims), "dims: rank 9");
    EXPECT_BAD(convlens_tensor_packed(&tensor, CONVLENS_F32, convlens_dims3(INT64_MAX, 2, 2)), "dims");
    EXPECT_TRUE(untouched());
    std::size_t bytes = 77;
    EXPECT_BAD(convlens_tensor_bytes(nullptr, &bytes), "tensor: null");
    EXPECT_BAD(convlens_tensor_bytes(&tensor, &bytes), "tensor");
    EXPECT_EQ(bytes, 77u);
}

// A working plan, its data in the backend's memory, and arguments to spoil.
class CMisuseOfPlans : public ::testing::Test {
  protected:
    static constexpr std::size_t src_bytes = 2 * 6 * 11 * 9 * sizeof(float),
                                 dst_bytes = 2 * 4 * 9 * 8 * sizeof(float);

    void SetUp() override {
        convlens_context_options options = convlens_context_options_default();
        options.backend = on_gpu ? CONVLENS_CUDA : CONVLENS_CPU;
        options.threads = 1;
        ASSERT_EQ(convlens_context_create(&options, &context_), CONVLENS_SUCCESS) << convlens_last_error();
        const convlens_convolution_desc desc = good_convolution();
        ASSERT_EQ(convlens_problem_create_convolution(&desc, &problem_), CONVLENS_SUCCESS);
        convlens_plan_options named = convlens_plan_options_default();
        named.algorithm = "im2col_gemm";  // has a workspace
        ASSERT_EQ(convlens_plan_create(context_, problem_, &named, &plan_), CONVLENS_SUCCESS)
            << convlens_last_error();
        info_ = convlens_plan_info_default();
        ASSERT_EQ(convlens_plan_get_info(plan_, &info_), CONVLENS_SUCCESS);
        ASSERT_GT(info_.workspace_bytes, src_bytes);  // a source may lie in it
        src_ = memory(src_bytes);
        // dst lies in the middle of its memory, so that an overlap can begin before it.
        around_ = memory(3 * dst_bytes);
        dst_ = static_cast<std::byte*>(around_) + dst_bytes;
        packed_ = memory(info_.packed_bytes);
        workspace_ = memory(info_.workspace_bytes + 64);
        const std::vector<float> filter(4 * 6 * 3 * 2, 0.5f);
        ASSERT_EQ(convlens_plan_pack_weights(plan_, context_, filter.data(), packed_), CONVLENS_SUCCESS);
        sources_[0] = src_;
        arguments_ = convlens_arguments_default();
        arguments_.sources = sources_;
        arguments_.source_count = 1;
        arguments_.weights = packed_;
        arguments_.dst = dst_;
        arguments_.workspace = workspace_;
        arguments_.workspace_bytes = info_.workspace_bytes;
    }
    void TearDown() override {
        if (context_ == nullptr) return;
        for (void* each : memory_) EXPECT_EQ(convlens_release(context_, each), CONVLENS_SUCCESS);
        EXPECT_EQ(convlens_plan_destroy(plan_), CONVLENS_SUCCESS);
        EXPECT_EQ(convlens_problem_destroy(problem_), CONVLENS_SUCCESS);
        EXPECT_EQ(convlens_context_destroy(context_), CONVLENS_SUCCESS);
    }
    void* memory(std::size_t bytes) {
        void* data = nullptr;
        EXPECT_EQ(convlens_allocate(context_, bytes, &data), CONVLENS_SUCCESS);
        EXPECT_EQ(convlens_fill(context_, data, 0x3D, bytes), CONVLENS_SUCCESS);
        memory_.push_back(data);
        return data;
    }
    convlens_status execute() { return convlens_plan_execute(plan_, context_, &arguments_); }
    void expect_nothing_written() {
        std::vector<unsigned char> bytes(3 * dst_bytes);
        ASSERT_EQ(convlens_download(context_, bytes.data(), around_, bytes.size()), CONVLENS_SUCCESS);
        EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](unsigned char b) { return b == 0x3D; }));
    }

    convlens_context* context_ = nullptr;
    convlens_problem* problem_ = nullptr;
    convlens_plan* plan_ = nullptr;
    convlens_plan_info info_{};
    std::vector<void*> memory_;
    void *src_ = nullptr, *around_ = nullptr, *packed_ = nullptr, *workspace_ = nullptr;
    std::byte* dst_ = nullptr;
    const void* sources_[4] = {};
    convlens_arguments arguments_{};
};

TEST_F(CMisuseOfPlans, ArgumentsOfExecute) {
    const convlens_arguments good = arguments_;
    const auto bad = [&](const char* named, const auto& spoil) {
        arguments_ = good;
        sources_[0] = src_;
        spoil();
        EXPECT_BAD(execute(), named);
    };
    EXPECT_BAD(convlens_plan_execute(nullptr, context_, &arguments_), "plan: null");
    EXPECT_BAD(convlens_plan_execute(plan_, nullptr, &arguments_), "context: null");
    EXPECT_BAD(convlens_plan_execute(plan_, context_, nullptr), "arguments: null");
    bad("struct_size", [&] { arguments_.struct_size = 0; });
    bad("sources: null", [&] { arguments_.sources = nullptr; });
    bad("takes 3 sources, 0", [&] { arguments_.source_count = 0; });
    bad("takes 3 sources, 4", [&] { arguments_.source_count = 4; });
    bad("sources", [&] { arguments_.source_count = SIZE_MAX; });
    bad("source 0 is null", [&] { sources_[0] = nullptr; });
    bad("weights are null", [&] { arguments_.weights = nullptr; });
    bad("dst is null", [&] { arguments_.dst = nullptr; });
    bad("workspace is null", [&] { arguments_.workspace = nullptr; });
    bad(std::to_string(info_.workspace_bytes).c_str(), [&] { --arguments_.workspace_bytes; });
    bad("workspace", [&] { arguments_.workspace_bytes = 0; });
    bad("workspace is not 64-byte aligned",
        [&] { arguments_.workspace = static_cast<std::byte*>(workspace_) + 4; });
    bad("overlaps dst", [&] { sources_[0] = dst_; });
    bad("overlaps dst", [&] { sources_[0] = dst_ + dst_bytes - 4; });
    bad("overlaps dst", [&] { sources_[0] = dst_ - src_bytes + 4; });
    bad("workspace and dst overlap", [&] { arguments_.workspace = dst_; });
    bad("workspace and source 0 overlap", [&] { sources_[0] = workspace_; });
    bad("weights and dst overlap", [&] { arguments_.weights = dst_ + 64; });
    expect_nothing_written();
    arguments_ = good;
    sources_[0] = src_;
    EXPECT_EQ(execute(), CONVLENS_SUCCESS) << convlens_last_error();
}

TEST_F(CMisuseOfPlans, PointersElsewhere) {
    std::size_t number = 5;
    EXPECT_BAD(convlens_plan_pack_weights(plan_, context_, nullptr, packed_), "weights: null");
    EXPECT_BAD(convlens_plan_pack_weights(plan_, context_, &number, nullptr), "packed: null");
    EXPECT_BAD(convlens_plan_pack_weights(plan_, context_, &number, static_cast<std::byte*>(packed_) + 4),
               "packed: not 64-byte aligned");
    EXPECT_BAD(convlens_plan_pack_weights(plan_, nullptr, nullptr, &number), "weights: null");
    EXPECT_BAD(convlens_plan_pack_weights(nullptr, context_, &number, packed_), "plan: null");
    EXPECT_BAD(convlens_plan_get_info(plan_, nullptr), "info: null");
    convlens_plan_info unset{};
    EXPECT_BAD(convlens_plan_get_info(plan_, &unset), "info: struct_size is 0");
    EXPECT_EQ(unset.algorithm, nullptr);
    EXPECT_BAD(convlens_upload(context_, nullptr, &number, 8), "dst: null");
    EXPECT_BAD(convlens_upload(context_, src_, nullptr, 8), "host: null");
    EXPECT_BAD(convlens_download(context_, nullptr, src_, 8), "host: null");
    EXPECT_BAD(convlens_download(context_, &number, nullptr, 8), "src: null");
    EXPECT_EQ(number, 5u);
    EXPECT_BAD(convlens_fill(context_, nullptr, 0, 8), "dst: null");
    EXPECT_BAD(convlens_fill(context_, src_, 256, 8), "value: 256");
    EXPECT_BAD(convlens_fill(context_, src_, -1, 8), "value: -1");
    EXPECT_BAD(convlens_allocate(context_, 8, nullptr), "memory: null");
    EXPECT_EQ(convlens_upload(context_, nullptr, nullptr, 0), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_release(context_, nullptr), CONVLENS_SUCCESS);
    EXPECT_BAD(convlens_context_get_stream(context_, nullptr), "stream: null");
    EXPECT_BAD(convlens_context_device_text(context_, nullptr), "text: null");
    void* huge = src_;
    EXPECT_TRUE(refused(convlens_allocate(context_, SIZE_MAX / 4, &huge), CONVLENS_RUNTIME_FAILURE,
                        std::to_string(SIZE_MAX / 4)));
    EXPECT_EQ(huge, nullptr);
}

TEST_F(CMisuseOfPlans, PlansAndLists) {
    auto* plan = reinterpret_cast<convlens_plan*>(this);
    convlens_plan_options options = convlens_plan_options_default();
    EXPECT_BAD(convlens_plan_create(nullptr, problem_, nullptr, &plan), "context: null");
    EXPECT_EQ(plan, nullptr);
    EXPECT_BAD(convlens_plan_create(context_, nullptr, nullptr, &plan), "problem: null");
    EXPECT_BAD(convlens_plan_create(context_, problem_, nullptr, nullptr), "plan");
    options.algorithm = "winograt";
    EXPECT_BAD(convlens_plan_create(context_, problem_, &options, &plan), "winograt");
    options = convlens_plan_options_default();
    options.precision = 4;
    EXPECT_BAD(convlens_plan_create(context_, problem_, &options, &plan), "precision 4");
    options = convlens_plan_options_default();
    options.algorithm = "depthwise";
    EXPECT_TRUE(refused(convlens_plan_create(context_, problem_, &options, &plan), CONVLENS_NOT_SUPPORTED,
                        "depthwise"));
    options.algorithm = "im2col_gemm";
    options.workspace_limit = info_.workspace_bytes - 1;
    EXPECT_TRUE(refused(convlens_plan_create(context_, problem_, &options, &plan), CONVLENS_NOT_SUPPORTED,
                        "workspace"));
    EXPECT_EQ(plan, nullptr);
    convlens_candidates* list = nullptr;
    EXPECT_BAD(convlens_candidates_create(context_, nullptr, &list), "problem: null");
    EXPECT_BAD(convlens_candidates_create(context_, problem_, nullptr), "candidates");
    ASSERT_EQ(convlens_candidates_create(context_, problem_, &list), CONVLENS_SUCCESS);
    std::size_t count = 0;
    ASSERT_EQ(convlens_candidates_count(list, &count), CONVLENS_SUCCESS);
    convlens_candidate row = convlens_candidate_default();
    EXPECT_BAD(convlens_candidates_get(list, count, &row), "index: " + std::to_string(count));
    EXPECT_EQ(row.algorithm, nullptr);
    EXPECT_BAD(convlens_candidates_get(list, 0, nullptr), "candidate: null");
    EXPECT_BAD(convlens_candidates_count(list, nullptr), "count: null");
    EXPECT_EQ(convlens_candidates_destroy(list), CONVLENS_SUCCESS);
    convlens_find_options find = convlens_find_options_default();
    find.sources = sources_, find.source_count = 1;
    EXPECT_BAD(convlens_find(context_, problem_, &find, &list), "sources");
    find = convlens_find_options_default();
    find.budget_ms = NAN;
    EXPECT_BAD(convlens_find(context_, problem_, &find, &list), "budget_ms");
    EXPECT_EQ(list, nullptr);
    convlens_tensor tensor{};
    std::int32_t absent = 3;
    EXPECT_BAD(convlens_problem_source(problem_, 3, &tensor, &absent), "index: 3");
    EXPECT_BAD(convlens_problem_source(problem_, 0, nullptr, &absent), "source: null");
    EXPECT_BAD(convlens_problem_source(problem_, 0, &tensor, nullptr), "absent: null");
    EXPECT_EQ(absent, 3);
    EXPECT_EQ(convlens_problem_operation(nullptr), nullptr);
}

TEST_F(CMisuseOfPlans, HandlesOfAnotherKindAndDestroyedOnes) {
    EXPECT_BAD(convlens_context_synchronize(reinterpret_cast<convlens_context*>(plan_)),
               "context: it is a plan");
    EXPECT_BAD(convlens_plan_destroy(reinterpret_cast<convlens_plan*>(problem_)), "plan: it is a problem");
    EXPECT_BAD(convlens_problem_destroy(reinterpret_cast<convlens_problem*>(context_)),
               "problem: it is a context");
    alignas(16) std::byte other[64] = {};
    EXPECT_BAD(convlens_plan_destroy(reinterpret_cast<convlens_plan*>(other)), "plan: it is not a handle");
    EXPECT_BAD(convlens_plan_destroy(reinterpret_cast<convlens_plan*>(other + 1)),
               "plan: it is not a handle");

    convlens_plan* gone = nullptr;
    ASSERT_EQ(convlens_plan_create(context_, problem_, nullptr, &gone), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_plan_destroy(gone), CONVLENS_SUCCESS);
    EXPECT_BAD(convlens_plan_destroy(gone), "plan: it has been destroyed");
    EXPECT_BAD(convlens_plan_execute(gone, context_, &arguments_), "plan: it has been destroyed");
    convlens_plan_info info = convlens_plan_info_default();
    EXPECT_BAD(convlens_plan_get_info(gone, &info), "plan: it has been destroyed");
    // Also after many others have come and gone.
    for (int i = 0; i < 1000; ++i) {
        convlens_plan* next = nullptr;
        ASSERT_EQ(convlens_plan_create(context_, problem_, nullptr, &next), CONVLENS_SUCCESS);
        ASSERT_EQ(convlens_plan_destroy(next), CONVLENS_SUCCESS);
    }
    EXPECT_BAD(convlens_plan_execute(gone, context_, &arguments_), "plan: it has been destroyed");

    convlens_problem* old = nullptr;
    const convlens_convolution_desc desc = good_convolution();
    ASSERT_EQ(convlens_problem_create_convolution(&desc, &old), CONVLENS_SUCCESS);
    ASSERT_EQ(convlens_problem_destroy(old), CONVLENS_SUCCESS);
    EXPECT_BAD(convlens_plan_create(context_, old, nullptr, &gone), "problem: it has been destroyed");
    EXPECT_EQ(convlens_problem_operation(old), nullptr);
    convlens_context* other_context = nullptr;
    ASSERT_EQ(convlens_context_create(nullptr, &other_context), CONVLENS_SUCCESS);
    ASSERT_EQ(convlens_context_destroy(other_context), CONVLENS_SUCCESS);
    EXPECT_BAD(convlens_plan_execute(plan_, other_context, &arguments_), "context: it has been destroyed");
    EXPECT_BAD(convlens_context_destroy(other_context), "context: it has been destroyed");
    void* memory = nullptr;
    EXPECT_BAD(convlens_allocate(other_context, 8, &memory), "context: it has been destroyed");
    expect_nothing_written();
    EXPECT_EQ(convlens_plan_destroy(nullptr), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_problem_destroy(nullptr), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_context_destroy(nullptr), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_candidates_destroy(nullptr), CONVLENS_SUCCESS);
}

TEST_F(CMisuseOfPlans, ForeignContextsAndMemory) {
    if (!on_gpu) {
        void* stream = this;
        EXPECT_EQ(convlens_context_get_stream(context_, &stream), CONVLENS_SUCCESS);
        EXPECT_EQ(stream, nullptr);
        EXPECT_TRUE(refused(convlens_context_set_stream(context_, this), CONVLENS_NOT_SUPPORTED, "stream"));
        return;
    }
    convlens_context* processor = nullptr;
    ASSERT_EQ(convlens_context_create(nullptr, &processor), CONVLENS_SUCCESS);
    EXPECT_BAD(convlens_plan_execute(plan_, processor, &arguments_), "the plan is for the backend cuda");
    const std::vector<float> filter(4 * 6 * 3 * 2);
    EXPECT_BAD(convlens_plan_pack_weights(plan_, processor, filter.data(), packed_), "backend cuda");
    convlens_plan* host_plan = nullptr;
    ASSERT_EQ(convlens_plan_create(processor, problem_, nullptr, &host_plan), CONVLENS_SUCCESS);
    EXPECT_BAD(convlens_plan_execute(host_plan, context_, &arguments_), "the plan is for the backend cpu");
    EXPECT_EQ(convlens_plan_destroy(host_plan), CONVLENS_SUCCESS);
    EXPECT_EQ(convlens_context_destroy(processor), CONVLENS_SUCCESS);
    expect_nothing_written();
    // Host memory: refused where the device can't address it, and never the end of the process.
    std::vector<float> host(dst_bytes / sizeof(float));
    arguments_.dst = host.data();
    const convlens_status status = execute();
    EXPECT_TRUE(status == CONVLENS_SUCCESS || refused(status, CONVLENS_BAD_PARAMETER, "dst is host memory"));
    arguments_.dst = dst_;
    EXPECT_EQ(convlens_context_synchronize(context_), CONVLENS_SUCCESS) << convlens_last_error();
    EXPECT_EQ(execute(), CONVLENS_SUCCESS) << convlens_last_error();
    EXPECT_EQ(convlens_context_synchronize(context_), CONVLENS_SUCCESS) << convlens_last_error();
}

TEST(CMisuse, Contexts) {
    int elsewhere = 0;
    auto* context = reinterpret_cast<convlens_context*>(&elsewhere);
    convlens_context_options options = convlens_context_options_default();
    EXPECT_BAD(convlens_context_create(nullptr, nullptr), "context");
    options.threads = -1;
    EXPECT_BAD(convlens_context_create(&options, &context), "threads: -1");
    EXPECT_EQ(context, nullptr);
    options = convlens_context_options_default();
    options.threads = 1025;
    EXPECT_BAD(convlens_context_create(&options, &context), "threads: 1025");
    options = convlens_context_options_default();
    options.backend = 2;
    EXPECT_BAD(convlens_context_create(&options, &context), "backend");
    options.backend = 256;
    EXPECT_BAD(convlens_context_create(&options, &context), "backend");
    options = convlens_context_options_default();
    options.stream = &options;
    EXPECT_BAD(convlens_context_create(&options, &context), "stream");
    options = convlens_context_options_default();
    options.struct_size = 3;
    EXPECT_BAD(convlens_context_create(&options, &context), "struct_size is 3");
    EXPECT_EQ(context, nullptr);
    std::int32_t count = -1;
    EXPECT_BAD(convlens_cuda_device_count(nullptr), "count: null");
    const convlens_status status = convlens_cuda_device_count(&count);
    convlens_device_info info = convlens_device_info_default();
    if (status == CONVLENS_SUCCESS) {
        EXPECT_GT(count, 0);
        EXPECT_BAD(convlens_cuda_device(count, &info), "index");
        EXPECT_EQ(convlens_cuda_device(0, &info), CONVLENS_SUCCESS);
        EXPECT_NE(std::string(info.name), "");
        options = convlens_context_options_default();
        options.backend = CONVLENS_CUDA;
        options.device = 4096;
        EXPECT_BAD(convlens_context_create(&options, &context), "device");
    } else {
        EXPECT_TRUE(refused(status, CONVLENS_NOT_SUPPORTED, "CUDA"));
        EXPECT_EQ(count, 0);
        EXPECT_TRUE(refused(convlens_cuda_device(0, &info), CONVLENS_NOT_SUPPORTED, "CUDA"));
        options = convlens_context_options_default();
        options.backend = CONVLENS_CUDA;
        EXPECT_TRUE(refused(convlens_context_create(&options, &context), CONVLENS_NOT_SUPPORTED, "CUDA"));
    }
}

}  // namespace
}  // namespace convlens::test
