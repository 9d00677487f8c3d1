// The page of `convlens bench --html`: plots and tables in one file that needs nothing beside it.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "app/cli/bench.h"
#include "app/cli/bench_plots.h"
#include "app/cli/text.h"

namespace convlens::cli {
namespace {

// Both colour schemes give the same order of lightness to ground, band, grid, marks and text.
constexpr const char* style = R"(
:root{color-scheme:light dark;--ground:#fbfbfa;--card:#fff;--band:#f5f5f3;--line:#e3e3df;--axis:#a3a39d;--ink:#1d1d1b;--soft:#5c5c57;
--implicit:#2a6fc9;--im2col:#c0650c;--winograd:#7448c4;--fft:#0d857a;--special:#43801f;--tensor:#c2336d;--direct:#85857f;--roof:#1d1d1b}
@media(prefers-color-scheme:dark){:root{--ground:#161614;--card:#1e1e1c;--band:#252523;--line:#363633;--axis:#73736d;--ink:#eeeeea;--soft:#a9a9a2;
--implicit:#5e9ff0;--im2col:#e8974a;--winograd:#a98bec;--fft:#35bcae;--special:#7fbd57;--tensor:#f0749f;--direct:#8f8f88;--roof:#eeeeea}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Inter,sans-serif}
main{max-width:1200px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}h2{font-size:20px;margin:44px 0 4px}h3{font-size:15px;margin:0 0 2px}
p{margin:0 0 12px;max-width:76ch}.soft,figcaption{color:var(--soft)}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0 8px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 16px;min-width:200px;flex:1}
.tile b{display:block;font-size:22px;font-weight:600;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
figure{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px;margin:12px 0;overflow-x:auto}
figcaption{font-size:13px;margin-bottom:8px;max-width:100ch}
.pair{display:flex;flex-wrap:wrap;gap:12px}.pair figure{margin:0;flex:1 1 auto}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:10px 0;font-size:13px;color:var(--soft)}.legend span{display:inline-flex;align-items:center;gap:6px}
svg{display:block}svg text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}
svg .name,svg .strong{fill:var(--ink)}svg .small{font-size:11px}svg .remark{fill:var(--ink)}
.grid{stroke:var(--line)}.axis{stroke:var(--axis)}.roof{stroke:var(--roof);stroke-width:2;stroke-linecap:round}.band{fill:var(--band)}
.m{stroke:var(--card);stroke-width:1}.m:hover{stroke:var(--ink);stroke-width:2}.m.faint{opacity:.35}
.m.implicit{fill:var(--implicit)}.m.im2col{fill:var(--im2col)}.m.winograd{fill:var(--winograd)}.m.fft{fill:var(--fft)}
.m.special{fill:var(--special)}.m.tensor{fill:var(--tensor)}.m.direct{fill:var(--direct)}
.m.peer{fill:none;stroke:var(--ink);stroke-width:1.6;pointer-events:all}.m.best{stroke:var(--ink);stroke-width:1.8}
details{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:6px 0;padding:0 16px}
summary{cursor:pointer;padding:9px 0;font-weight:600}summary span{font-weight:400;color:var(--soft)}
table{border-collapse:collapse;width:100%;font-size:13px;margin:0 0 14px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-weight:500}th,td{padding:4px 10px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
.n{text-align:right}td.why{color:var(--soft)}.wide{overflow-x:auto}
)";

const char* name_of(BenchDirection direction) {
    return direction == BenchDirection::fwd        ? "Forward"
           : direction == BenchDirection::bwd_data ? "Data gradient"
                                                   : "Filter gradient";
}

std::string tile(const std::string& figure, const std::string& what) {
    return "<div class=\"tile\"><b>" + html_text(figure) + "</b><span>" + html_text(what) + "</span></div>\n";
}

std::string tiles(const BenchResult& result) {
    std::string out;
    const auto summaries = summaries_of(result);
    const auto prefix = [&](const BenchSummary& s) {
        return summaries.size() > 1 ? std::string(name_of(s.direction)) + ": " : std::string();
    };
    for (const BenchSummary& s : summaries) {
        if (s.compared > 0)
            out += tile("×" + three_digits(s.mean_of_peer),
                        prefix(s) + "peer's time over the best own, geometric mean of " +
                            std::to_string(s.compared) + " layers; least ×" + three_digits(s.least_of_peer) +
                            " (" + s.least_layer + ")");
        if (s.chosen > 0)
            out +=
                tile(std::to_string(s.chosen_within) + " of " + std::to_string(s.chosen),
                     prefix(s) + "layers where the list's choice is within 10 % of the best own row; most ×" +
                         three_digits(s.most_of_best) + " (" + s.most_layer + ")");
    }
    if (result.peaks) {
        out += tile(three_digits(result.peaks->gflops) + " GFLOP/s",
                    "large matrix product, by " + result.peaks->gflops_row);
        out += tile(three_digits(result.peaks->gbytes_per_s) + " GB/s", "large copy, read and written");
    }
    return out.empty() ? out : "<section class=\"tiles\">\n" + out + "</section>\n";
}

std::string figure(const std::string& title, const std::string& caption, const std::string& plot) {
    if (plot.empty()) return {};
    return "<figure><h3>" + html_text(title) + "</h3><figcaption>" + html_text(caption) + "</figcaption>\n" +
           plot + "</figure>\n";
}

std::string cell(const std::string& text, const char* css = "") {
    return std::string("<td") + (css[0] != '\0' ? std::string(" class=\"") + css + "\"" : "") + ">" +
           html_text(text) + "</td>";
}

std::string table_row(const LayerRow& row) {
    std::string out = "<tr>" + cell((row.chosen ? "> " : "") + row.candidate.algorithm +
                                    (row.channels_last ? "" : " (packed)"));
    if (row.times.samples == 0) {
        const char* word = row.status == BenchStatus::failed    ? "failed: "
                           : row.status == BenchStatus::skipped ? "left out: "
                                                                : "";
        return out + "<td class=\"why\" colspan=\"7\">" + html_text(word + row.reason) + "</td></tr>\n";
    }
    char error[32] = "–";
    if (row.max_error) std::snprintf(error, sizeof error, "%.1e", *row.max_error);
    const std::size_t workspace = row.candidate.workspace_bytes;
    out += cell(three_digits(row.times.median_ms), "n") +
           cell(three_digits(row.times.p10_ms) + " to " + three_digits(row.times.p90_ms), "n") +
           cell(row.cold_ms ? three_digits(*row.cold_ms) : "–", "n") +
           cell(three_digits(row.candidate.work.flops / (row.times.median_ms * 1e6)), "n") +
           cell(workspace > 0 ? byte_text(static_cast<double>(workspace)) : "–", "n") + cell(error, "n") +
           cell(std::string(to_string(row.candidate.error_class)) +
                (row.candidate.deterministic ? "" : ", not deterministic"));
    return out + "</tr>\n";
}

std::string layer_table(const BenchResult& result, std::size_t layer, BenchDirection direction) {
    std::vector<const LayerRow*> rows;
    for (const LayerRow& row : result.layer_rows)
        if (row.layer == layer && row.direction == direction && (row.channels_last || row.times.samples > 0))
            rows.push_back(&row);
    if (rows.empty()) return {};
    std::stable_sort(rows.begin(), rows.end(), [](const LayerRow* a, const LayerRow* b) {
        const bool ran[2] = {a->times.samples > 0, b->times.samples > 0};
        return ran[0] != ran[1] ? ran[0] : ran[0] && a->times.median_ms < b->times.median_ms;
    });
    const BenchLayer& l = result.layers[layer];
    std::string about = with_times_signs(Dims{l.n, l.c, l.h, l.w}.text()) + " → " +
                        with_times_signs(output_of(l).text()) + ", " + std::to_string(l.r) + "×" +
                        std::to_string(l.s) + ", stride " + std::to_string(l.stride) + ", pad " +
                        std::to_string(l.pad);
    if (l.dilation != 1) about += ", dilation " + std::to_string(l.dilation);
    if (l.groups != 1) about += ", " + std::to_string(l.groups) + " groups";
    std::string out =
        "<details><summary>" + html_text(l.name) + " <span>" + html_text(about) +
        "</span></summary><div class=\"wide\"><table><tr><th>algorithm</th><th class=\"n\">ms</th>"
        "<th class=\"n\">p10 to p90</th><th class=\"n\">cold ms</th><th class=\"n\">GFLOP/s</th>"
        "<th class=\"n\">workspace</th><th class=\"n\">error</th><th>class</th></tr>\n";
    for (const LayerRow* row : rows) out += table_row(*row);
    return out + "</table></div></details>\n";
}

std::string direction_section(const BenchResult& result, BenchDirection direction) {
    std::string out = std::string("<h2>") + name_of(direction) + "</h2>\n<div class=\"legend\">";
    for (const BenchKind* kind : kinds_in(result, direction))
        out += "<span>" + legend_mark(*kind) + html_text(kind->label) + "</span>";
    out += "</div>\n";
    out +=
        figure("Time",
               "Median of each algorithm, logarithmic; left is better. The outlined mark is the best own row "
               "that this precision admits; it is named at the right, with the time of the best peer as a "
               "multiple of its own.",
               time_plot(result, direction));
    out +=
        "<div class=\"pair\">" +
        figure("Workspace", "Memory that the caller lends for a call.", workspace_plot(result, direction)) +
        figure("Error", "Largest difference from the reference over its largest value.",
               error_plot(result, direction)) +
        "</div>\n";
    out += figure("Roofline",
                  "Operations that are really executed, a byte that must be moved, against their rate. The "
                  "roof is what "
                  "this machine did in a large copy and a large matrix product just now: layers that fit the "
                  "caches may "
                  "stand above its slope. Large marks are the best own row and the best peer of each layer.",
                  roofline_plot(result, direction));
    for (std::size_t i = 0; i < result.layers.size(); ++i) out += layer_table(result, i, direction);
    return out;
}

std::string networks(const BenchResult& result) {
    std::string out =
        "<h2>Networks</h2><figure class=\"wide\"><table><tr><th>network</th><th>input</th><th>mode</th><th "
        "class=\"n\">ms</th>"
        "<th class=\"n\">p10 to p90</th><th class=\"n\">GFLOP/s</th><th class=\"n\">weights</th>"
        "<th class=\"n\">activations</th><th class=\"n\">workspace</th></tr>\n";
    for (const NetworkRow& row : result.network_rows) {
        out += "<tr>" + cell(row.model) + cell(with_times_signs(row.input.text())) + cell(row.mode);
        if (row.times.samples == 0) {
            out += "<td class=\"why\" colspan=\"6\">" + html_text(row.reason) + "</td></tr>\n";
            continue;
        }
        out += cell(three_digits(row.times.median_ms), "n") +
               cell(three_digits(row.times.p10_ms) + " to " + three_digits(row.times.p90_ms), "n") +
               cell(three_digits(row.flops / (row.times.median_ms * 1e6)), "n") +
               cell(byte_text(static_cast<double>(row.memory.weights_bytes)), "n") +
               cell(byte_text(static_cast<double>(row.memory.activations_bytes)), "n") +
               cell(byte_text(static_cast<double>(row.memory.workspace_bytes)), "n") + "</tr>\n";
    }
    return out + "</table></figure>\n";
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return text;
}

}  // namespace

std::string bench_html(const BenchResult& result) {
    std::string about = result.device + " · " + today() + " · convlens " + version() + " · suite " +
                        result.suite + " · " + to_string(result.type) + " tensors, precision " +
                        result.precision;
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<title>convlens bench: " +
        html_text(result.suite + ", " + result.device) + "</title>\n<style>" + style +
        "</style></head>\n<body><main>\n<h1>" +
        (result.layers.empty() ? "Networks, timed" : "Convolutions by every algorithm, timed") +
        "</h1>\n<p class=\"soft\">" + html_text(about) + "</p>\n";
    out += tiles(result);
    if (result.shared.value_or(0) > shared_too_much)
        out += "<p><b>Other programs took " + std::to_string(std::lround(100 * *result.shared)) +
               " % of the processor meanwhile</b>: times and ratios say little, those of peers least.</p>\n";
    for (const PeerInfo& peer : peers())
        if (std::any_of(result.layer_rows.begin(), result.layer_rows.end(),
                        [&](const LayerRow& row) { return row.candidate.algorithm.starts_with(peer.name); }))
            out += "<p class=\"soft\">" + html_text(peer.name + ": " + peer.text) + "</p>\n";
    for (const BenchDirection direction : directions_of(result)) out += direction_section(result, direction);
    if (!result.network_rows.empty()) out += networks(result);
    return out + "</main></body></html>\n";
}

}  // namespace convlens::cli
