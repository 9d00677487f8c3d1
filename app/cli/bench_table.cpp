// The tables of `convlens bench`, for people.
#include <algorithm>
#include <cmath>

#include "app/cli/bench.h"
#include "app/cli/text.h"

namespace convlens::cli {
namespace {

std::string spread(const BenchTimes& times) {
    return times.samples > 1 ? three_digits(times.p10_ms) + " to " + three_digits(times.p90_ms) : "–";
}

std::string rate(double flops, const BenchTimes& times) {
    return times.samples > 0 && times.median_ms > 0 ? three_digits(flops / (times.median_ms * 1e6)) : "–";
}

std::string bytes_or_none(std::size_t bytes) {
    return bytes > 0 ? byte_text(static_cast<double>(bytes)) : "–";
}

std::string scientific(std::optional<double> value) {
    if (!value) return "–";
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", *value);
    return text;
}

std::string head_of(const BenchLayer& l, BenchDirection direction, DataType type) {
    std::string text =
        l.name + "  " + (direction == BenchDirection::fwd ? "" : to_string(direction) + std::string("  ")) +
        to_string(type) + " " + with_times_signs(Dims{l.n, l.c, l.h, l.w}.text()) + " → " +
        with_times_signs(output_of(l).text()) + ", " + std::to_string(l.r) + "×" + std::to_string(l.s) +
        ", stride " + std::to_string(l.stride) + ", pad " + std::to_string(l.pad);
    if (l.dilation != 1) text += ", dilation " + std::to_string(l.dilation);
    if (l.groups != 1) text += ", " + std::to_string(l.groups) + " groups";
    return text;
}

std::string layer_text(const BenchResult& result, std::size_t layer, BenchDirection direction) {
    std::vector<const LayerRow*> rows;
    bool cold = false;
    for (const LayerRow& row : result.layer_rows)
        if (row.layer == layer && row.direction == direction) {
            rows.push_back(&row);
            cold = cold || row.cold_ms;
        }
    std::stable_sort(rows.begin(), rows.end(), [](const LayerRow* a, const LayerRow* b) {
        const bool ran[2] = {a->status == BenchStatus::ok, b->status == BenchStatus::ok};
        if (ran[0] != ran[1]) return ran[0];
        return ran[0] && a->times.median_ms < b->times.median_ms;
    });
    std::vector<TextTable::Column> columns{
        {""}, {"algorithm", false, 32}, {"ms", true}, {"p10 to p90", true}};
    if (cold) columns.push_back({"cold ms", true});
    for (const char* title : {"GFLOP/s", "workspace", "error"}) columns.push_back({title, true});
    columns.push_back({"class"});
    TextTable table(columns);
    for (const LayerRow* row : rows) {
        if (row->status != BenchStatus::ok) break;
        std::vector<std::string> cells{row->chosen ? ">" : "",
                                       row->candidate.algorithm + (row->channels_last ? "" : " (packed)"),
                                       three_digits(row->times.median_ms), spread(row->times)};
        if (cold) cells.push_back(row->cold_ms ? three_digits(*row->cold_ms) : "–");
        for (const std::string& cell :
             {rate(row->candidate.work.flops, row->times), bytes_or_none(row->candidate.workspace_bytes),
              scientific(row->max_error),
              std::string(to_string(row->candidate.error_class)) +
                  (row->candidate.deterministic ? "" : ", not deterministic")})
            cells.push_back(cell);
        table.add(std::move(cells));
    }
    std::string text = head_of(result.layers[layer], direction, result.type) + "\n" + table.text();
    for (const LayerRow* row : rows)
        if (row->status != BenchStatus::ok && row->channels_last)
            text += "   " + row->candidate.algorithm +
                    (row->status == BenchStatus::failed    ? ": failed: "
                     : row->status == BenchStatus::skipped ? ": left out: "
                                                           : ": ") +
                    row->reason + "\n";
    return text + "\n";
}

std::string summary_text(const BenchResult& result) {
    std::string text;
    for (const BenchSummary& s : summaries_of(result)) {
        const std::string direction = std::string(to_string(s.direction)) +
                                      std::string(12 - std::string(to_string(s.direction)).size(), ' ');
        if (s.compared > 0)
            text += direction + "peer's time over the best own: geometric mean " +
                    three_digits(s.mean_of_peer) + " over " + std::to_string(s.compared) + " layers, least " +
                    three_digits(s.least_of_peer) + " (" + s.least_layer + ")\n";
        if (s.chosen > 0)
            text += direction + "the list's choice: within 10 % of the best own row in " +
                    std::to_string(s.chosen_within) + " of " + std::to_string(s.chosen) + " layers, most " +
                    three_digits(s.most_of_best) + " times the best (" + s.most_layer + ")\n";
    }
    return text;
}

std::string networks_text(const BenchResult& result) {
    TextTable table({{"network", false, 32},
                     {"input", false, 20},
                     {"mode"},
                     {"ms", true},
                     {"p10 to p90", true},
                     {"passes", true},
                     {"GFLOP/s", true},
                     {"weights", true},
                     {"activations", true},
                     {"workspace", true}});
    std::string reasons;
    for (const NetworkRow& row : result.network_rows) {
        if (row.status != BenchStatus::ok) {
            reasons += row.model + ", " + row.mode + ": " +
                       (row.status == BenchStatus::failed ? "failed: " : "") + row.reason + "\n";
            continue;
        }
        table.add({row.model, with_times_signs(row.input.text()), row.mode, three_digits(row.times.median_ms),
                   spread(row.times), std::to_string(row.times.samples), rate(row.flops, row.times),
                   bytes_or_none(row.memory.weights_bytes), bytes_or_none(row.memory.activations_bytes),
                   bytes_or_none(row.memory.workspace_bytes)});
    }
    return table.text() + reasons + "\n";
}

}  // namespace

std::string bench_text(const BenchResult& result) {
    std::string text;
    for (std::size_t i = 0; i < result.layers.size(); ++i)
        for (const BenchDirection direction : directions_of(result)) text += layer_text(result, i, direction);
    if (!result.network_rows.empty()) text += networks_text(result);
    text += "run         " + result.device + ", " + result.precision + "\n";
    if (!result.layers.empty())
        text +=
            std::string() +
            "            best first; > is the list's own choice at this precision; error against the last "
            "row of "
            "the list\n" +
            summary_text(result);
    if (!result.layers.empty() && result.shared.value_or(0) > shared_too_much)
        text += "note        other programs took " + std::to_string(std::lround(100 * *result.shared)) +
                " % of the processor meanwhile: times and ratios say little, those of peers least\n";
    const bool contended = std::any_of(result.network_rows.begin(), result.network_rows.end(),
                                       [](const NetworkRow& row) { return row.contended; });
    if (contended) text += "note        the machine was shared meanwhile: take the times as upper bounds\n";
    if (result.health && !result.health->throttled_by.empty())
        text += "note        the device was slowed down by " + result.health->throttled_by + "\n";
    return text;
}

}  // namespace convlens::cli
