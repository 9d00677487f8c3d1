// Figures over all layers: own rows against peers, the list's choice against the best.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <tuple>
#include <utility>

#include "app/cli/bench.h"

namespace convlens::cli {
namespace {

const LayerRow* best_of(const BenchResult& result, std::size_t layer, BenchDirection direction, bool peer) {
    const LayerRow* best = nullptr;
    for (const LayerRow& row : result.layer_rows)
        if (row.layer == layer && row.direction == direction && row.is_peer() == peer && row.admitted &&
            row.times.samples > 0 && (best == nullptr || row.times.median_ms < best->times.median_ms))
            best = &row;
    return best;
}

// Seconds that all processors were busy, and busy or idle; negative where the system does not say.
std::pair<double, double> machine_seconds() {
    std::ifstream file("/proc/stat");
    std::string word;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    if (!(file >> word >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal)) return {-1, 0};
    const double busy = user + nice + system + irq + soft + steal;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    return {busy / ticks, (busy + idle + wait) / ticks};
}

double own_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

SharedMachine::SharedMachine() : own_(own_seconds()) { std::tie(busy_, all_) = machine_seconds(); }

std::optional<double> SharedMachine::share() const {
    const auto [busy, all] = machine_seconds();
    if (busy_ < 0 || busy < 0 || all <= all_) return std::nullopt;
    return std::clamp((busy - busy_ - (own_seconds() - own_)) / (all - all_), 0.0, 1.0);
}

const LayerRow* best_own(const BenchResult& result, std::size_t layer, BenchDirection direction) {
    return best_of(result, layer, direction, false);
}

const LayerRow* best_peer(const BenchResult& result, std::size_t layer, BenchDirection direction) {
    return best_of(result, layer, direction, true);
}

std::vector<BenchDirection> directions_of(const BenchResult& result) {
    std::vector<BenchDirection> found;
    for (const LayerRow& row : result.layer_rows)
        if (std::find(found.begin(), found.end(), row.direction) == found.end())
            found.push_back(row.direction);
    return found;
}

std::vector<BenchSummary> summaries_of(const BenchResult& result) {
    std::vector<BenchSummary> summaries;
    for (const BenchDirection direction : directions_of(result)) {
        BenchSummary summary;
        summary.direction = direction;
        double logarithms = 0;
        for (std::size_t i = 0; i < result.layers.size(); ++i) {
            const LayerRow* own = best_own(result, i, direction);
            if (own == nullptr) continue;
            if (const LayerRow* peer = best_peer(result, i, direction)) {
                const double ratio = peer->times.median_ms / own->times.median_ms;
                logarithms += std::log(ratio);
                if (summary.compared++ == 0 || ratio < summary.least_of_peer) {
                    summary.least_of_peer = ratio;
                    summary.least_layer = result.layers[i].name;
                }
            }
            for (const LayerRow& row : result.layer_rows) {
                if (row.layer != i || row.direction != direction || !row.chosen || row.times.samples == 0)
                    continue;
                const double ratio = row.times.median_ms / own->times.median_ms;
                summary.chosen_within += ratio <= 1.1 ? 1 : 0;
                if (summary.chosen++ == 0 || ratio > summary.most_of_best) {
                    summary.most_of_best = ratio;
                    summary.most_layer = result.layers[i].name;
                }
            }
        }
        if (summary.compared > 0) summary.mean_of_peer = std::exp(logarithms / summary.compared);
        summaries.push_back(summary);
    }
    return summaries;
}

}  // namespace convlens::cli
