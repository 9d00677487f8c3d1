// The algorithm interface behind every operation's list (inside the library only).
//
// An algorithm is stateless: a row of functions. A new one is a new pair of files in
// kernels/<backend>/<operation>/ and one line in primitives/<operation>/<operation>_algorithms_<backend>.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "convlens/plan.h"

namespace convlens {

template <class P>
struct Algorithm {
    const char* name;
    ErrorClass error_class;
    bool deterministic;
    // Empty when this algorithm computes the (checked) problem rightly, else one sentence why not.
    std::string (*reject)(const P& problem, const Context& context);
    // Whether it is likely the fastest here; the first applicable and preferred row is the list's choice.
    bool (*preferred)(const P& problem, const Context& context);
    // The plan's info carries workspace, packed bytes and work; making it allocates nothing large.
    std::unique_ptr<Plan> (*make)(const P& problem, const Context& context, PlanInfo info);
};

// The ordered list of an operation on a backend: best first, the naive reference last. Specialised for each
// problem type in primitives/<operation>/.
template <class P>
std::span<const Algorithm<P>> algorithms(Backend backend);

// Whether a row of this class may answer a request of this precision; tensors of a 16-bit type ask for no
// more than their own class.
bool is_admitted(const Problem& problem, Precision precision, ErrorClass error_class);
// What every plan of a row says before the row's own figures.
PlanInfo base_info(const Problem& problem, const Context& context, const char* algorithm,
                   ErrorClass error_class, bool deterministic);
// Direct-equivalent operations and least traffic; algorithms replace executed_flops.
Work direct_work(const Problem& problem);
// Bytes of the plain weights (0 for operations without).
std::size_t weights_bytes(const Problem& problem);
// Number of entries in ExecuteArgs::sources, optional ones included.
std::size_t source_count(const Problem& problem);
// Which of the sources may be null (absent by the problem).
bool source_is_absent(const Problem& problem, std::size_t index);
// The layout of a source, or nothing when it is absent or the index is out of range.
std::optional<TensorDesc> source_desc(const Problem& problem, std::size_t index);

template <class P>
bool always(const P&, const Context&) {
    return true;
}
template <class P>
std::string never_rejects(const P&, const Context&) {
    return {};
}

}  // namespace convlens
