// Candidates, heuristic and finder of the C interface.
#include "primitives/c/options.h"

using namespace convlens;
using namespace convlens::c;

namespace {

CandidatesObject unmeasured(std::vector<Candidate> rows) {
    CandidatesObject list;
    for (Candidate& row : rows) list.emplace_back().candidate = std::move(row);
    return list;
}

// The caller's question whether to stop, with the C signature.
struct Cancel {
    int32_t (*ask)(void* user);
    void* user;
    static bool asked(void* cancel) {
        const auto* self = static_cast<const Cancel*>(cancel);
        return self->ask(self->user) != 0;
    }
};

}  // namespace

convlens_status convlens_candidates_create(convlens_context* context, const convlens_problem* problem,
                                           convlens_candidates** candidates) {
    return guarded([&] {
        const Result<convlens_candidates> result(candidates);
        Context& on = object(context).context;
        result.set(std::make_unique<CandidatesObject>(unmeasured(convlens::candidates(on, object(problem)))));
    });
}

convlens_status convlens_heuristic(convlens_context* context, const convlens_problem* problem,
                                   const convlens_plan_options* options, convlens_candidates** candidates) {
    return guarded([&] {
        const Result<convlens_candidates> result(candidates);
        Context& on = object(context).context;
        const Problem& asked = object(problem);
        result.set(
            std::make_unique<CandidatesObject>(unmeasured(heuristic(on, asked, to_plan_options(options)))));
    });
}

convlens_status convlens_find(convlens_context* context, const convlens_problem* problem,
                              const convlens_find_options* options, convlens_candidates** candidates) {
    return guarded([&] {
        const Result<convlens_candidates> result(candidates);
        Context& on = object(context).context;
        const Problem& asked = object(problem);
        convlens_find_options given = convlens_find_options_default();
        if (options != nullptr) given = read_struct(options, given, "options");
        if (given.source_count > 0) need(static_cast<const void*>(given.sources), "sources");
        if (!(given.budget_ms >= 0))
            throw Error(Status::bad_parameter,
                        "options: budget_ms " + std::to_string(given.budget_ms) + " is not a time");
        Cancel cancel{given.cancelled, given.user};
        FindOptions wanted;
        wanted.workspace_limit = given.workspace_limit;
        wanted.samples = given.samples;
        wanted.budget_ms = given.budget_ms;
        wanted.measure_error = given.measure_error != 0;
        wanted.sources = {given.sources, given.source_count};
        wanted.weights = given.weights;
        wanted.seed = given.seed;
        wanted.peers = given.peers != 0;
        wanted.remember = given.remember != 0;
        wanted.warm = given.warm != 0;
        wanted.recorded = given.recorded != 0;
        wanted.cold_bytes = given.cold_bytes;
        if (given.cancelled != nullptr) {
            wanted.cancelled = &Cancel::asked;
            wanted.user = &cancel;
        }
        result.set(std::make_unique<CandidatesObject>(find(on, asked, wanted)));
    });
}

convlens_status convlens_candidates_count(const convlens_candidates* candidates, size_t* count) {
    return guarded([&] {
        const auto& list = object(candidates);
        need(count, "count");
        *count = list.size();
    });
}

convlens_status convlens_candidates_get(const convlens_candidates* candidates, size_t index,
                                        convlens_candidate* candidate) {
    return guarded([&] {
        const auto& list = object(candidates);
        if (index >= list.size())
            throw Error(Status::bad_parameter, "index: " + std::to_string(index) + " is not below the " +
                                                   std::to_string(list.size()) + " candidates");
        const Finding& row = list[index];
        const Candidate& known = row.candidate;
        convlens_candidate values = convlens_candidate_default();
        values.algorithm = known.algorithm.c_str();
        values.reason = known.reason.c_str();
        values.failure = row.failure.c_str();
        values.applicable = known.applicable ? 1 : 0;
        values.preferred = known.preferred ? 1 : 0;
        values.error_class = static_cast<convlens_error_class>(known.error_class);
        values.deterministic = known.deterministic ? 1 : 0;
        values.workspace_bytes = known.workspace_bytes;
        values.packed_bytes = known.packed_bytes;
        values.flops = known.work.flops;
        values.executed_flops = known.work.executed_flops;
        values.bytes = known.work.bytes;
        values.measured = row.measured ? 1 : 0;
        values.samples = row.samples;
        values.median_ms = row.median_ms;
        values.p10_ms = row.p10_ms;
        values.p90_ms = row.p90_ms;
        values.cold_ms = row.cold_ms.value_or(-1.0);
        values.cpu_ms = row.cpu_ms.value_or(-1.0);
        values.max_error = row.max_error.value_or(-1.0);
        write_struct(candidate, values, "candidate");
    });
}

convlens_status convlens_candidates_destroy(convlens_candidates* candidates) { return destroy(candidates); }
