#include "primitives/log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "primitives/algorithm.h"
#include "primitives/problem_text.h"

namespace convlens {
namespace {

// Topics are separated by commas.
bool is_asked_for(std::string_view topic) noexcept {
    const char* value = std::getenv("CONVLENS_LOG");
    if (value == nullptr) return false;
    std::string_view rest(value);
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        if (rest.substr(0, comma) == topic) return true;
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return false;
}

thread_local int pauses = 0;

std::string row_text(const Problem& problem, const Candidate& row, const PlanOptions& options) {
    std::string name = row.algorithm;
    name.resize(std::max<std::size_t>(name.size(), 24), ' ');
    if (!row.applicable) return name + " no: " + row.reason;
    std::string text = name + " workspace " + std::to_string(row.workspace_bytes) +
                       " bytes, packed weights " + std::to_string(row.packed_bytes) + " bytes, error class " +
                       to_string(row.error_class);
    if (!row.deterministic) text += ", not deterministic";
    if (!row.preferred) text += ", not preferred here";
    if (row.workspace_bytes > options.workspace_limit) text += ", above the workspace limit";
    if (!is_admitted(problem, options.precision, row.error_class)) text += ", beyond the precision asked for";
    return text;
}

}  // namespace

bool plans_are_logged() noexcept {
    static const bool asked = is_asked_for("plan");
    return asked && pauses == 0;
}

PlanLogPause::PlanLogPause() noexcept { ++pauses; }
PlanLogPause::~PlanLogPause() { --pauses; }

void log_plan(Context& context, const Problem& problem, const PlanOptions& options, const Plan* chosen,
              const char* failure) noexcept {
    try {
        std::string text = "convlens plan: " + to_text(problem) + "; on " + to_string(context.backend()) +
                           ", precision " + to_string(options.precision);
        if (options.workspace_limit != PlanOptions{}.workspace_limit)
            text += ", workspace limit " + std::to_string(options.workspace_limit);
        if (!options.algorithm.empty()) text += ", asked for " + options.algorithm;
        text += '\n';
        try {
            for (const Candidate& row : candidates(context, problem))
                text += "convlens plan:   " + row_text(problem, row, options) + '\n';
        } catch (const Error&) {  // malformed: `failure` says so
        }
        text += chosen != nullptr ? "convlens plan: -> " + chosen->info().algorithm
                                  : std::string("convlens plan: -> none: ") + failure;
        text += '\n';
        std::fwrite(text.data(), 1, text.size(), stderr);  // at once: threads don't mix their lines
    } catch (...) {                                        // printing never changes what the caller gets
    }
}

}  // namespace convlens
