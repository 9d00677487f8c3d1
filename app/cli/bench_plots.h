// The plots of bench's page, as SVG text: colours are the page's custom properties, so that they follow light
// and dark.
#pragma once

#include <string>
#include <vector>

#include "app/cli/bench.h"

namespace convlens::cli {

// Text as it stands in HTML and SVG.
std::string html_text(const std::string& text);

// Algorithms of one kind share a colour and a shape.
struct BenchKind {
    const char* key;    // of the CSS class
    const char* label;  // in the legend
};
const BenchKind& kind_of(const std::string& algorithm);
// Those that a direction has, in the legend's order.
std::vector<const BenchKind*> kinds_in(const BenchResult& result, BenchDirection direction);
// The mark of a kind alone, for the legend.
std::string legend_mark(const BenchKind& kind);

// One line a layer, one mark an algorithm.
std::string time_plot(const BenchResult& result, BenchDirection direction);
std::string workspace_plot(const BenchResult& result, BenchDirection direction);
std::string error_plot(const BenchResult& result, BenchDirection direction);
// Executed operations a byte against their rate, below what the machine can do; needs result.peaks.
std::string roofline_plot(const BenchResult& result, BenchDirection direction);

}  // namespace convlens::cli
