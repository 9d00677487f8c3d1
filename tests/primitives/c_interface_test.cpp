// The C interface does what the C++ one does, for every operation; its lists, texts and versions.
#include <atomic>
#include <set>
#include <thread>

#include "c_problem_of.h"
#include "c_structs.h"
#include "sample_problems.h"

namespace convlens::test {
namespace {

void succeed(convlens_status status) { ASSERT_EQ(status, CONVLENS_SUCCESS) << convlens_last_error(); }

class CInterface : public ::testing::Test {
  protected:
    void SetUp() override {
        convlens_context_options options = convlens_context_options_default();
        options.backend = on_gpu ? CONVLENS_CUDA : CONVLENS_CPU;
        options.threads = 2;
        succeed(convlens_context_create(&options, &context_));
    }
    void TearDown() override { succeed(convlens_context_destroy(context_)); }
    convlens_context* context_ = nullptr;
};

// Memory of the backend with contents, through the C interface.
class Memory {
  public:
    Memory(convlens_context* context, std::size_t bytes) : context_(context) {
        succeed(convlens_allocate(context, bytes, &data_));
    }
    Memory(convlens_context* context, const void* host, std::size_t bytes) : Memory(context, bytes) {
        succeed(convlens_upload(context, data_, host, bytes));
    }
    ~Memory() { EXPECT_EQ(convlens_release(context_, data_), CONVLENS_SUCCESS); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    void* data() const { return data_; }

  private:
    convlens_context* context_;
    void* data_ = nullptr;
};

std::vector<float> numbers(std::size_t count, std::int64_t seed) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(noise({static_cast<std::int64_t>(i), seed})) * 0.25f + 0.6f;
    return values;
}

// Host data for a problem: sources (empty where absent) and plain weights.
struct HostData {
    std::vector<std::vector<float>> sources;
    std::vector<float> weights;

    explicit HostData(const Problem& problem) {
        for (std::size_t i = 0; i < source_count(problem); ++i) {
            const auto desc = source_desc(problem, i);
            sources.push_back(numbers(desc ? desc->bytes() / sizeof(float) : 0, static_cast<int>(i) + 1));
        }
        weights = numbers(weights_bytes(problem) / sizeof(float), 77);
    }
};

std::vector<std::byte> run_in_cpp(const Problem& problem, const std::string& algorithm,
                                  const HostData& data) {
    const auto plan = make_plan(context(), problem, {.algorithm = algorithm});
    std::vector<Buffer> sources;
    std::vector<const void*> pointers;
    for (const auto& source : data.sources) {
        sources.emplace_back(context(), source.data(), source.size() * sizeof(float));
        pointers.push_back(sources.back().data());
    }
    const Buffer packed = pack_weights(context(), *plan, data.weights.data());
    const Buffer workspace(context(), plan->info().workspace_bytes);
    const Buffer dst(context(), destination_of(problem).bytes());
    context().fill(dst.data(), 0xFF, dst.bytes());
    plan->execute(context(), {.sources = pointers,
                              .weights = packed.data(),
                              .dst = dst.data(),
                              .workspace = workspace.data(),
                              .workspace_bytes = workspace.bytes()});
    std::vector<std::byte> result(dst.bytes());
    context().download(result.data(), dst.data(), dst.bytes());
    return result;
}

void run_in_c(convlens_context* context, convlens_problem* problem, const std::string& algorithm,
              const HostData& data, std::vector<std::byte>& result) {
    convlens_plan_options options = convlens_plan_options_default();
    options.algorithm = algorithm.c_str();
    convlens_plan* plan = nullptr;
    succeed(convlens_plan_create(context, problem, &options, &plan));
    convlens_plan_info info = convlens_plan_info_default();
    succeed(convlens_plan_get_info(plan, &info));
    EXPECT_EQ(info.algorithm, algorithm);
    EXPECT_STREQ(info.operation, convlens_problem_operation(problem));
    EXPECT_EQ(info.weights_bytes, data.weights.size() * sizeof(float));
    std::vector<std::unique_ptr<Memory>> sources;
    std::vector<const void*> pointers;
    for (const auto& source : data.sources) {
        sources.push_back(std::make_unique<Memory>(context, source.data(), source.size() * sizeof(float)));
        pointers.push_back(sources.back()->data());
    }
    const Memory packed(context, info.packed_bytes), workspace(context, info.workspace_bytes);
    const Memory dst(context, result.size());
    succeed(convlens_plan_pack_weights(plan, context, data.weights.data(), packed.data()));
    succeed(convlens_fill(context, dst.data(), 0xFF, result.size()));
    succeed(convlens_fill(context, workspace.data(), 0xFF, info.workspace_bytes));
    convlens_arguments arguments = convlens_arguments_default();
    arguments.sources = pointers.data();
    arguments.source_count = pointers.size();
    arguments.weights = packed.data();
    arguments.dst = dst.data();
    arguments.workspace = workspace.data();
    arguments.workspace_bytes = info.workspace_bytes;
    succeed(convlens_plan_execute(plan, context, &arguments));
    succeed(convlens_download(context, result.data(), dst.data(), result.size()));
    succeed(convlens_plan_destroy(plan));
}

TEST_F(CInterface, EveryAlgorithmOfEveryOperationGivesWhatCppGives) {
    std::set<std::string> operations;
    for (const Problem& sample : sample_problems()) {
        SCOPED_TRACE(operation_name(sample));
        convlens_problem* problem = nullptr;
        succeed(create_from_c(sample, &problem));
        ASSERT_STREQ(convlens_problem_operation(problem), operation_name(sample));
        operations.insert(operation_name(sample));
        const HostData data(sample);
        convlens_candidates* list = nullptr;
        succeed(convlens_candidates_create(context_, problem, &list));
        const auto expected = candidates(context(), sample);
        std::size_t count = 0;
        succeed(convlens_candidates_count(list, &count));
        ASSERT_EQ(count, expected.size());
        for (std::size_t i = 0; i < count; ++i) {
            convlens_candidate row = convlens_candidate_default();
            succeed(convlens_candidates_get(list, i, &row));
            EXPECT_EQ(row.algorithm, expected[i].algorithm);
            EXPECT_EQ(row.reason, expected[i].reason);
            EXPECT_EQ(row.applicable != 0, expected[i].applicable);
            EXPECT_EQ(row.packed_bytes, expected[i].packed_bytes);
            EXPECT_EQ(row.error_class, static_cast<int>(expected[i].error_class));
            EXPECT_EQ(row.measured, 0);
            if (row.applicable == 0 || row.deterministic == 0) continue;
            std::vector<std::byte> result(destination_of(sample).bytes());
            run_in_c(context_, problem, row.algorithm, data, result);
            EXPECT_EQ(result, run_in_cpp(sample, row.algorithm, data)) << row.algorithm;
        }
        succeed(convlens_candidates_destroy(list));
        succeed(convlens_problem_destroy(problem));
    }
    EXPECT_EQ(operations.size(), std::variant_size_v<Problem>);
}

TEST_F(CInterface, SourcesAreTold) {
    for (const Problem& sample : sample_problems()) {
        convlens_problem* problem = nullptr;
        succeed(create_from_c(sample, &problem));
        std::size_t count = 0;
        succeed(convlens_problem_source_count(problem, &count));
        ASSERT_EQ(count, source_count(sample));
        for (std::size_t i = 0; i < count; ++i) {
            convlens_tensor tensor{};
            std::int32_t absent = -1;
            succeed(convlens_problem_source(problem, i, &tensor, &absent));
            const auto desc = source_desc(sample, i);
            EXPECT_EQ(absent, desc ? 0 : 1);
            if (!desc) continue;
            std::size_t bytes = 0;
            succeed(convlens_tensor_bytes(&tensor, &bytes));
            EXPECT_EQ(bytes, desc->bytes());
        }
        succeed(convlens_problem_destroy(problem));
    }
}

TEST_F(CInterface, HeuristicBeginsWithThePlansChoiceAndFindMeasures) {
    convlens_problem* problem = nullptr;
    succeed(create_from_c(convolution_samples()[1], &problem));
    convlens_plan* plan = nullptr;
    succeed(convlens_plan_create(context_, problem, nullptr, &plan));
    convlens_plan_info info = convlens_plan_info_default();
    succeed(convlens_plan_get_info(plan, &info));
    convlens_candidates* ranked = nullptr;
    succeed(convlens_heuristic(context_, problem, nullptr, &ranked));
    convlens_candidate first = convlens_candidate_default();
    succeed(convlens_candidates_get(ranked, 0, &first));
    EXPECT_STREQ(first.algorithm, info.algorithm);

    convlens_plan_options tight = convlens_plan_options_default();
    tight.workspace_limit = 0;
    convlens_candidates* small = nullptr;
    succeed(convlens_heuristic(context_, problem, &tight, &small));
    std::size_t count = 0;
    succeed(convlens_candidates_count(small, &count));
    EXPECT_GT(count, 0u);
    for (std::size_t i = 0; i < count; ++i) {
        convlens_candidate row = convlens_candidate_default();
        succeed(convlens_candidates_get(small, i, &row));
        EXPECT_EQ(row.workspace_bytes, 0u) << row.algorithm;
    }

    convlens_find_options options = convlens_find_options_default();
    options.samples = 2;
    options.budget_ms = 50;
    options.warm = 1;
    options.cold_bytes = 1 << 16;
    int asked = 0;
    options.cancelled = [](void* user) { return ++*static_cast<int*>(user) < 0 ? 1 : 0; };
    options.user = &asked;
    convlens_candidates* found = nullptr;
    succeed(convlens_find(context_, problem, &options, &found));
    EXPECT_GT(asked, 0);
    int measured = 0;
    succeed(convlens_candidates_count(found, &count));
    for (std::size_t i = 0; i < count; ++i) {
        convlens_candidate row = convlens_candidate_default();
        succeed(convlens_candidates_get(found, i, &row));
        if (row.measured == 0) continue;
        ++measured;
        EXPECT_GT(row.median_ms, 0);
        EXPECT_GT(row.cold_ms, 0);
        EXPECT_GE(row.max_error, 0);
        EXPECT_LT(row.max_error, 1e-2);
    }
    EXPECT_GT(measured, 1);
    // Lists and plans live on without problem and context.
    succeed(convlens_problem_destroy(problem));
    succeed(convlens_candidates_get(found, 0, &first));
    for (convlens_candidates* list : {ranked, small, found}) succeed(convlens_candidates_destroy(list));
    succeed(convlens_plan_destroy(plan));
}

TEST_F(CInterface, PackedOnTheHostIsPackedInTheBackend) {
    const Problem sample = convolution_samples()[1];
    convlens_problem* problem = nullptr;
    succeed(create_from_c(sample, &problem));
    convlens_plan* plan = nullptr;
    succeed(convlens_plan_create(context_, problem, nullptr, &plan));
    convlens_plan_info info = convlens_plan_info_default();
    succeed(convlens_plan_get_info(plan, &info));
    const HostData data(sample);
    Workspace host(info.packed_bytes);
    std::memset(host.data(), 0, info.packed_bytes);
    succeed(convlens_plan_pack_weights(plan, nullptr, data.weights.data(), host.data()));
    std::vector<std::byte> zeros(info.packed_bytes), there(info.packed_bytes);
    const Memory packed(context_, zeros.data(), zeros.size());
    succeed(convlens_plan_pack_weights(plan, context_, data.weights.data(), packed.data()));
    succeed(convlens_download(context_, there.data(), packed.data(), there.size()));
    EXPECT_TRUE(host.intact());
    EXPECT_TRUE(on_gpu || std::memcmp(host.data(), there.data(), there.size()) == 0);
    succeed(convlens_plan_destroy(plan));
    succeed(convlens_problem_destroy(problem));
}

TEST(CStructs, ACCompilerLaysThemOutAsACppOne) {
    const std::vector<std::size_t> expected{sizeof(convlens_convolution_desc),
                                            sizeof(convlens_convolution_bwd_data_desc),
                                            sizeof(convlens_convolution_bwd_filter_desc),
                                            sizeof(convlens_convolution_bwd_bias_desc),
                                            sizeof(convlens_transposed_convolution_desc),
                                            sizeof(convlens_fully_connected_desc),
                                            sizeof(convlens_pooling_desc),
                                            sizeof(convlens_activation_desc),
                                            sizeof(convlens_batch_normalization_desc),
                                            sizeof(convlens_elementwise_desc),
                                            sizeof(convlens_softmax_desc),
                                            sizeof(convlens_lrn_desc),
                                            sizeof(convlens_concat_desc),
                                            sizeof(convlens_transform_desc),
                                            sizeof(convlens_device_info),
                                            sizeof(convlens_context_options),
                                            sizeof(convlens_plan_options),
                                            sizeof(convlens_plan_info),
                                            sizeof(convlens_arguments),
                                            sizeof(convlens_candidate),
                                            sizeof(convlens_find_options)};
    std::size_t sizes[64] = {};
    for (auto* ask : {&c_struct_sizes, &c_default_sizes}) {
        const std::size_t count = ask(sizes, 64);
        EXPECT_EQ(std::vector<std::size_t>(sizes, sizes + count), expected);
    }
    EXPECT_EQ(c_small_convolution(), 0) << convlens_last_error();
}

TEST(CLibrary, VersionAndTexts) {
    EXPECT_STREQ(convlens_version(), version());
    EXPECT_EQ(convlens_version_number(), CONVLENS_VERSION);
    EXPECT_STREQ(convlens_status_text(CONVLENS_SUCCESS), "success");
    EXPECT_STREQ(convlens_status_text(CONVLENS_BAD_PARAMETER), "bad_parameter");
    EXPECT_STREQ(convlens_status_text(CONVLENS_NOT_SUPPORTED), "not_supported");
    EXPECT_STREQ(convlens_status_text(CONVLENS_RUNTIME_FAILURE), "runtime_failure");
    EXPECT_STREQ(convlens_status_text(99), "unknown");
    EXPECT_STREQ(convlens_status_text(-1), "unknown");
    for (const auto type : {CONVLENS_F32, CONVLENS_F64, CONVLENS_F16, CONVLENS_BF16, CONVLENS_I8, CONVLENS_U8,
                            CONVLENS_I32, CONVLENS_I64, CONVLENS_BOOL})
        EXPECT_EQ(convlens_data_type_size(type), size_of(static_cast<DataType>(type)));
    EXPECT_EQ(convlens_data_type_size(256), 0u);
    EXPECT_EQ(convlens_data_type_size(-1), 0u);
    EXPECT_EQ(convlens_convolution_output_size(11, 3, 1, 2, 2, 2),
              convolution_output_size(11, 3, 1, 2, 2, 2));
    EXPECT_EQ(convlens_convolution_output_size(11, 3, 1, 2, 0, 2), 0);
    EXPECT_EQ(convlens_pooling_output_size(5, 2, 0, 0, 2, 1, 1), 3);
    EXPECT_EQ(convlens_transposed_output_size(4, 3, 1, 0, 2, 1, 0), 8);
}

TEST(CLibrary, TheLastErrorIsTheThreadsOwn) {
    convlens_problem* none = nullptr;
    ASSERT_EQ(convlens_problem_create_lrn(nullptr, &none), CONVLENS_BAD_PARAMETER);
    const std::string here = convlens_last_error();
    std::string before, after;
    std::thread([&] {
        before = convlens_last_error();
        (void)convlens_context_synchronize(nullptr);
        after = convlens_last_error();
    }).join();
    EXPECT_EQ(before, "");
    EXPECT_NE(after.find("context"), std::string::npos) << after;
    EXPECT_EQ(convlens_last_error(), here);
}

// Several threads with a context each share problem and plan.
TEST(CThreads, OnePlanRunsInManyContexts) {
    const Problem sample = convolution_samples()[1];
    const HostData data(sample);
    convlens_problem* problem = nullptr;
    succeed(create_from_c(sample, &problem));
    const auto expected = run_in_cpp(sample, "direct", data);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            convlens_context_options options = convlens_context_options_default();
            options.backend = on_gpu ? CONVLENS_CUDA : CONVLENS_CPU;
            options.threads = 1;
            convlens_context* own = nullptr;
            succeed(convlens_context_create(&options, &own));
            for (int i = 0; i < 20; ++i) {
                std::vector<std::byte> result(expected.size());
                run_in_c(own, problem, "direct", data, result);
                if (result != expected) ++wrong;
            }
            succeed(convlens_context_destroy(own));
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    succeed(convlens_problem_destroy(problem));
}

}  // namespace
}  // namespace convlens::test
