// The answer and the table of layers, for people.
#include <algorithm>
#include <cmath>

#include "app/cli/run.h"
#include "app/cli/text.h"

namespace convlens::cli {
namespace {

constexpr int bar_columns = 24;

// A bar in eighths of a column.
std::string bar(double share) {
    static constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * bar_columns * 8));
    std::string text;
    for (int i = 0; i < eighths / 8; ++i) text += "█";
    return text + parts[eighths % 8];
}

std::string percent(double share) { return std::isnan(share) ? "NaN" : fixed(100 * share, 1) + " %"; }

const Dims& output_dims(const network::Executor& executor, const network::Layer& layer) {
    static const Dims none;
    if (layer.outputs.empty()) return none;
    return executor.tensors()[static_cast<std::size_t>(layer.outputs.front())].desc.dims;
}

std::string milliseconds(const measure::Quantiles& q, double value) {
    return q.samples > 0 ? fixed(value, 3) : "–";
}

std::string rate(double work, double ms) {
    return ms > 0 && work > 0 ? three_digits(work / (ms * 1e6)) : "–";
}

std::string boxes_text(const std::vector<engine::FoundBox>& boxes) {
    TextTable table({{"box"},
                     {"score", true},
                     {"left", true},
                     {"top", true},
                     {"right", true},
                     {"bottom", true},
                     {"points", false, 80}});
    int number = 0;
    for (const engine::FoundBox& box : boxes) {
        std::string points;
        for (const auto& [x, y] : box.points)
            points += (points.empty() ? "" : "  ") + fixed(x, 0) + "," + fixed(y, 0);
        table.add({std::to_string(++number), percent(box.score), fixed(box.x0, 1), fixed(box.y0, 1),
                   fixed(box.x1, 1), fixed(box.y1, 1), points});
    }
    return table.text();
}

std::string classes_text(const std::vector<engine::ClassScore>& top) {
    TextTable table({{"", true}, {"class"}, {"score", true}, {"", false, bar_columns}});
    int place = 0;
    for (const engine::ClassScore& score : top)
        table.add({std::to_string(++place), score.label, percent(score.score), bar(score.score)});
    const std::string text = table.text();
    // The head says nothing that the rows don't.
    const std::size_t rows = text.find('\n', text.find('\n') + 1) + 1;
    return text.substr(rows);
}

double total_of(const std::vector<measure::Quantiles>& layers) {
    double sum = 0;
    for (const measure::Quantiles& q : layers) sum += q.median;
    return sum;
}

}  // namespace

std::string answer_text(const RunResult& result, const InputResult& input) {
    std::string text = input.name + "  " + std::to_string(input.width) + "×" + std::to_string(input.height) +
                       "  →  " + result.model_name + "  " + with_times_signs(input.input_dims.text()) + "\n";
    const engine::Outputs& out = input.outputs;
    if (!out.top.empty()) text += classes_text(out.top);
    if (out.heat_map)
        text += "heat map '" + out.heat_map->label + "': at most " + fixed(input.heat_most, 3) + "\n";
    if (!out.boxes.empty())
        text += boxes_text(out.boxes);
    else if (out.heat_map)
        text += "nothing found\n";
    if (out.picture) {
        const auto& tensor = result.executor->tensors()[static_cast<std::size_t>(out.picture->tensor)];
        text += "picture '" + tensor.name + "': " + std::to_string(tensor.desc.dims[3]) + "×" +
                std::to_string(tensor.desc.dims[2]) +
                " (--picture OUT.png writes it; --side 0 takes the whole input)\n";
    }
    if (out.top.empty() && !out.heat_map && !out.picture && out.boxes.empty())
        text +=
            "the output is a map without stated meaning (metadata convlens.output); --dump-maps writes it\n";
    return text + "\n";
}

std::string layer_text(const RunResult& result, bool profile) {
    const network::Executor& executor = *result.executor;
    const measure::PassTimes& times = result.times;
    std::vector<TextTable::Column> columns = {{"", true},
                                              {"layer", false, 30},
                                              {"operation", false, 20},
                                              {"output", false, 18},
                                              {"algorithm", false, 22},
                                              {"ms", true}};
    if (profile) {
        for (const char* title : {"p10", "p90", "cpu ms", "GFLOP/s", "executed", "GB/s"})
            columns.push_back({title, true});
    }
    columns.push_back({"share", true});
    columns.push_back({"workspace", true});
    TextTable table(columns);
    const double sum = total_of(times.layer_ms);
    for (std::size_t i = 0; i < executor.layers().size(); ++i) {
        const network::Layer& layer = executor.layers()[i];
        const measure::Quantiles ms = i < times.layer_ms.size() ? times.layer_ms[i] : measure::Quantiles{};
        const measure::Quantiles cpu =
            i < times.layer_cpu_ms.size() ? times.layer_cpu_ms[i] : measure::Quantiles{};
        std::string op = layer.op;
        if (!layer.fused.empty()) op += " +" + std::to_string(layer.fused.size());
        std::vector<std::string> cells = {std::to_string(i + 1),
                                          layer.name,
                                          op,
                                          with_times_signs(output_dims(executor, layer).text()),
                                          layer.plan.algorithm,
                                          milliseconds(ms, ms.median)};
        if (profile) {
            const Work& work = layer.plan.work;
            for (std::string cell : {milliseconds(ms, ms.p10), milliseconds(ms, ms.p90),
                                     milliseconds(cpu, cpu.median), rate(work.flops, ms.median),
                                     rate(work.executed_flops, ms.median), rate(work.bytes, ms.median)})
                cells.push_back(std::move(cell));
        }
        cells.push_back(sum > 0 ? percent(ms.median / sum) : "–");
        cells.push_back(layer.plan.workspace_bytes > 0
                            ? byte_text(static_cast<double>(layer.plan.workspace_bytes))
                            : "–");
        table.add(std::move(cells));
    }
    const network::MemoryReport memory = executor.memory();
    std::string text = table.text();
    text += "\npass        " + fixed(times.total_ms.median, 3) + " ms median of " +
            std::to_string(times.total_ms.samples) + "  (p10 " + fixed(times.total_ms.p10, 3) + ", p90 " +
            fixed(times.total_ms.p90, 3) + ")\n";
    text += "layers      " + fixed(times.sum_layers_ms, 3) + " ms sum within a pass (median), " +
            fixed(times.unexplained_ms, 3) + " ms between them\n";
    text += "memory      " + byte_text(static_cast<double>(memory.weights_bytes)) + " weights, " +
            byte_text(static_cast<double>(memory.activations_bytes)) + " activations, " +
            byte_text(static_cast<double>(memory.workspace_bytes)) + " workspace; " +
            byte_text(static_cast<double>(memory.peak_bytes)) + " in all\n";
    text += "run         " + result.device + ", " + result.precision + ", " + result.mode +
            (result.batch > 1 ? ", batch " + std::to_string(result.batch) : "") + "\n";
    if (times.contended)
        text += "note        the machine was shared meanwhile: take the times as upper bounds\n";
    return text;
}

std::string explain_text(const RunResult& result) {
    const network::Executor& executor = *result.executor;
    std::string text = "\nalgorithms by layer, best first (> runs now)\n";
    for (std::size_t i = 0; i < executor.layers().size(); ++i) {
        const network::Layer& layer = executor.layers()[i];
        text += std::to_string(i + 1) + "  " + shortened(layer.name, 60) + "  " + layer.op +
                (layer.summary.empty() ? "" : "  " + layer.summary) + "\n";
        if (!layer.fused.empty()) {
            text += "     with";
            for (const std::string& name : layer.fused) text += " " + shortened(name, 40);
            text += "\n";
        }
        for (const Candidate& row : executor.layer_candidates(static_cast<int>(i))) {
            std::string name = row.algorithm;
            name.resize(std::max<std::size_t>(name.size(), 22), ' ');
            text += (row.algorithm == layer.plan.algorithm ? "   > " : "     ") + name + " ";
            if (row.applicable)
                text += std::string(to_string(row.error_class)) +
                        (row.workspace_bytes > 0
                             ? ", workspace " + byte_text(static_cast<double>(row.workspace_bytes))
                             : "") +
                        (row.preferred ? "" : ", not preferred at this size") + "\n";
            else
                text += "no: " + row.reason + "\n";
        }
    }
    return text;
}

}  // namespace convlens::cli
