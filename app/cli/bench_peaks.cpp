// What the machine can do at best, for the roofline of `convlens bench`.
#include <algorithm>

#include "app/cli/bench.h"

namespace convlens::cli {
namespace {

constexpr double budget_ms = 400;

double best_ms(const std::vector<Finding>& findings, Precision precision, const Finding** best) {
    *best = nullptr;
    for (const Finding& finding : findings) {
        const bool f32_asked = admits(precision, finding.candidate.error_class);
        if (finding.measured && f32_asked && (*best == nullptr || finding.p10_ms < (*best)->p10_ms))
            *best = &finding;
    }
    return *best != nullptr ? (*best)->p10_ms : 0;
}

FindOptions options_of(const std::vector<std::string>& rows) {
    FindOptions options;
    options.algorithms = rows;
    options.measure_error = false;
    options.budget_of_samples = true;
    options.budget_ms = budget_ms;
    options.samples = 20;
    options.warm = true;
    return options;
}

}  // namespace

BenchPeaks measure_peaks(Context& context, DataType type, Precision precision) {
    const bool cpu = context.backend() == Backend::cpu;
    BenchPeaks peaks;
    // A matrix product: every cell of one large picture, 1x1.
    const std::int64_t channels = cpu ? 768 : 4096, side = cpu ? 32 : 64;
    const BenchLayer product{"", 1, channels, side, side, channels, 1, 1, 1, 0, 1, 1};
    const Problem problem = problem_of(product, BenchDirection::fwd, type);
    std::vector<std::string> rows = algorithm_names(problem, context.backend());
    std::erase_if(rows, [](const std::string& row) {
        return row == "direct" || row.starts_with("winograd") || row.starts_with("fft");
    });
    const Finding* best = nullptr;
    const std::vector<Finding> products = find(context, problem, options_of(rows));
    if (const double ms = best_ms(products, precision, &best); ms > 0) {
        peaks.gflops = best->candidate.work.flops / (ms * 1e6);
        peaks.gflops_row = best->candidate.algorithm;
    }
    // Larger than any last cache.
    const std::int64_t elements = cpu ? std::int64_t{1} << 26 : std::int64_t{1} << 28;
    const TensorDesc line = TensorDesc::packed({elements});
    const std::vector<std::string> copy = {"strided_copy"};
    const std::vector<Finding> copies = find(context, TransformProblem{line, line, {}, {}}, options_of(copy));
    if (const double ms = best_ms(copies, Precision::fp32, &best); ms > 0)
        peaks.gbytes_per_s = 2.0 * static_cast<double>(line.bytes()) / (ms * 1e6);
    return peaks;
}

}  // namespace convlens::cli
