// The C++ interface: every algorithm for one layer, timed; the fastest runs in memory of the caller's.
//
//   finder [cpu|cuda]
#include <convlens/convlens.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

namespace {

convlens::ConvolutionProblem layer() {
    convlens::ConvolutionProblem problem;
    problem.src = convlens::TensorDesc::channels_last({1, 32, 40, 56});  // dims are always N C H W
    problem.weights = {48, 32, 3, 3};                                    // K C R S
    problem.window = convlens::WindowDesc::unit(2);
    problem.window.pads_begin = problem.window.pads_end = {1, 1};
    problem.dst = convlens::TensorDesc::channels_last({1, 48, 40, 56});
    problem.has_bias = true;
    problem.activation = {convlens::ActivationKind::relu};
    return problem;
}

// The fastest row that was measured.
std::string fastest(const std::vector<convlens::Finding>& rows) {
    const convlens::Finding* best = nullptr;
    for (const auto& row : rows)
        if (row.measured && (best == nullptr || row.median_ms < best->median_ms)) best = &row;
    return best == nullptr ? std::string() : best->candidate.algorithm;
}

void run(convlens::Context& context, const convlens::ConvolutionProblem& problem,
         const std::string& algorithm) {
    const auto plan = convlens::make_plan(context, problem, {.algorithm = algorithm});
    const std::vector<float> src(problem.src.bytes() / sizeof(float), 0.5f);
    const std::vector<float> bias(static_cast<std::size_t>(problem.weights[0]), 1.0f);
    const std::vector<float> filter(static_cast<std::size_t>(problem.weights.product()), 0.25f);

    // A Buffer is memory of the backend; memory of your own does as well.
    const convlens::Buffer src_there(context, src.data(), problem.src.bytes());
    const convlens::Buffer bias_there(context, bias.data(), bias.size() * sizeof(float));
    const convlens::Buffer packed = convlens::pack_weights(context, *plan, filter.data());
    const convlens::Buffer workspace(context, plan->info().workspace_bytes);
    const convlens::Buffer dst(context, problem.dst.bytes());
    const void* sources[] = {src_there.data(), bias_there.data()};
    plan->execute(context, {.sources = sources,
                            .weights = packed.data(),
                            .dst = dst.data(),
                            .workspace = workspace.data(),
                            .workspace_bytes = workspace.bytes()});

    std::vector<float> result(problem.dst.bytes() / sizeof(float));
    context.download(result.data(), dst.data(), dst.bytes());
    // Away from the border 32 x 3 x 3 products of 0.5 and 0.25 are summed, and 1 is added.
    std::printf("%s: the largest of %zu values is %.4f, it should be %.4f\n", algorithm.c_str(),
                result.size(), *std::max_element(result.begin(), result.end()), 32 * 9 * 0.125 + 1);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        convlens::ContextOptions options;
        if (argc > 1 && std::strcmp(argv[1], "cuda") == 0) options.backend = convlens::Backend::cuda;
        convlens::Context context(options);
        std::printf("ConvLens %s on %s\n", convlens::version(), context.device_text().c_str());

        const auto rows = convlens::find(context, layer(), {.samples = 5, .budget_ms = 500});
        for (const auto& row : rows) {
            if (row.measured)
                std::printf("%-24s %8.3f ms, workspace %zu bytes, error %.1e\n",
                            row.candidate.algorithm.c_str(), row.median_ms, row.candidate.workspace_bytes,
                            row.max_error.value_or(0));
            else
                std::printf("%-24s %s%s\n", row.candidate.algorithm.c_str(), row.candidate.reason.c_str(),
                            row.failure.c_str());
        }
        run(context, layer(), fastest(rows));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "finder: %s\n", error.what());
        return 1;
    }
}
