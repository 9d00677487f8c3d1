// Plans: made once from a problem, executed many times.
//
//   Context context({.backend = Backend::cpu});
//   auto plan = make_plan(context, problem);
//   plan->pack_weights(filter, packed);          // once: packed holds plan->info().packed_bytes
//   plan->execute(context, {...});               // many times: no allocation, no choice
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convlens/context.h"
#include "convlens/error.h"
#include "convlens/problem.h"

#pragma GCC visibility push(default)
namespace convlens {

// How far a result may be from a double reference; the bounds of each class are stated in docs/primitives.md.
enum class ErrorClass : std::uint8_t { exact_order, fp32, winograd, fft, tf32, fp16, bf16 };
const char* to_string(ErrorClass error_class) noexcept;

// How exact an answer must at least be. fp32 admits the classes exact_order, fp32, winograd and fft; tf32
// adds tf32; fp16 and bf16 add tf32 and their own. A row of a class that is not admitted is taken only when
// it is named. Tensors of f16 or bf16 admit their own class always.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16 };
const char* to_string(Precision precision) noexcept;
bool admits(Precision precision, ErrorClass error_class) noexcept;

struct Work {
    double flops = 0;  // of the direct method: 2 x multiply-adds for convolutions (the "direct-equivalent")
    double executed_flops = 0;  // what the algorithm really does
    double bytes = 0;           // each source, weight and destination element moved once
};

struct PlanInfo {
    std::string operation;
    std::string algorithm;
    Backend backend = Backend::cpu;  // of the contexts that the plan is for
    int device = 0;                  // cuda: their device number
    ErrorClass error_class = ErrorClass::fp32;
    bool deterministic = true;
    std::size_t workspace_bytes = 0;
    std::size_t packed_bytes = 0;   // 0: no weights, or used as they are (see weights_bytes)
    std::size_t weights_bytes = 0;  // of the plain weights that pack_weights() reads
    Work work;
};

// All pointers are in the memory of the plan's backend.  Sources and their order: problem.h; trailing sources
// that are absent may be left out.  Source and destination must not overlap unless the problem says so (views
// into one buffer whose elements lie between each other, such as channel slices, don't overlap).  The
// workspace must be 64-byte aligned; it need not be clean and carries nothing between calls.  A base pointer
// of a tensor needs only the alignment of its element.
struct ExecuteArgs {
    std::span<const void* const> sources;
    const void* weights = nullptr;  // packed by pack_weights(), in the backend's memory
    void* dst = nullptr;
    void* workspace = nullptr;
    std::size_t workspace_bytes = 0;
};

class Plan {
  public:
    virtual ~Plan();
    const PlanInfo& info() const noexcept { return info_; }
    const Problem& problem() const noexcept { return problem_; }
    // Writes info().packed_bytes to `packed` (64-byte aligned) from plain weights in the problem's order.
    // alpha of the problem is part of them. Both are host memory on every backend: packing is the processor's
    // work, and `packed` is then uploaded. Throws Error(bad_parameter) for a null or unaligned pointer.
    void pack_weights(const void* weights, void* packed) const;
    // Runs.  Throws Error(bad_parameter), with nothing written, for a null pointer, a small or unaligned
    // workspace, a source that surely overlaps dst, a context of another backend or device, and on CUDA for a
    // pointer to host memory that the device can't address; else only starts the work (on the processor it is
    // done when the call returns).  Const: one plan may run on several contexts at once, each with its own
    // workspace.
    void execute(Context& context, const ExecuteArgs& args) const;

  protected:
    Plan(Problem problem, PlanInfo info);
    // For rows that multiply by the problem's alpha and beta themselves: weights are packed and dst is found
    // as they come. All others get alpha with the weights, and a dst that was multiplied by beta before, to
    // add to.
    void apply_scales() { weights_factor_ = dst_factor_ = 1; }

  private:
    virtual void pack_impl(const void* weights, void* packed) const;
    virtual void execute_impl(Context& context, const ExecuteArgs& args) const = 0;
    // What execute needs to see that memory is not used twice.
    struct Range {
        std::ptrdiff_t begin = 0, end = 0;  // bytes from the pointer, end exclusive
        std::ptrdiff_t first = 0;           // of the element with index 0 ... 0
        bool dense = false;
        bool in_place = false;  // may be the very memory of dst
    };
    void check_overlap(const ExecuteArgs& args) const;
    void check_memory(const Context& context, const ExecuteArgs& args) const;
    Problem problem_;
    PlanInfo info_;
    std::vector<Range> source_ranges_;  // one a source; empty ranges for absent ones
    Range dst_range_;
    float weights_factor_ = 1;  // what plain weights are multiplied by before they are packed
    float dst_factor_ = 1;      // what dst is multiplied by before execute_impl, which adds to it
};

// Packs plain weights (host memory) and brings them to where the context computes; of 0 bytes without
// weights. Throws as Plan::pack_weights, and Error(bad_parameter) for a context that the plan is not for.
Buffer pack_weights(Context& context, const Plan& plan, const void* weights);
// The same into the caller's memory of the context's backend: info().packed_bytes, 64-byte aligned.
void pack_weights(Context& context, const Plan& plan, const void* weights, void* packed);

struct PlanOptions {
    std::string algorithm;  // empty: the list's choice
    std::size_t workspace_limit = std::numeric_limits<std::size_t>::max();
    Precision precision = Precision::fp32;
    // Without a name: the quickest row that find() has remembered for this very problem, device and version
    // (FindOptions::remember), if it is still there, can do the problem, is admitted and keeps the limit;
    // else the list's choice. Reads the user's cache file (docs/primitives.md) when it has changed.
    bool cached = false;
};

// Checks the problem and takes the named algorithm, or else the first of the list that is applicable,
// preferred at this size and within the workspace limit.  Throws Error(bad_parameter) for a malformed problem
// or an unknown name, Error(not_supported) with the reason when the named algorithm, or none, can do it.
std::unique_ptr<Plan> make_plan(Context& context, const Problem& problem, const PlanOptions& options = {});

// One row of an operation's algorithm list, for one problem.
struct Candidate {
    std::string algorithm;
    bool applicable = false;
    std::string reason;  // why not; empty when applicable
    bool preferred = false;
    ErrorClass error_class = ErrorClass::fp32;
    bool deterministic = true;
    std::size_t workspace_bytes = 0;
    std::size_t packed_bytes = 0;
    Work work;
};

// The whole list in its order: best first, the naive reference last.  Never throws for "not applicable".
// with_peers: rows of other libraries come before it (asking a peer may take it a while).
std::vector<Candidate> candidates(Context& context, const Problem& problem, bool with_peers = false);
// The rows of the list that make_plan would take with these options (their `algorithm` is ignored), the one
// that it takes first: those that are preferred at this size, then the others, in the list's order.  Nothing
// runs.  May be empty.
std::vector<Candidate> heuristic(Context& context, const Problem& problem, const PlanOptions& options = {});
// All algorithm names that an operation has on a backend, in list order.
std::vector<std::string> algorithm_names(const Problem& problem, Backend backend);
// Those of them that `name` means: the row of that name, else the family whose rows begin with it
// ("winograd": winograd_4x4, winograd_2x2). Empty for an unknown name. Wherever an algorithm is named, a
// family may be: its first row that is applicable and preferred is taken, else its first that is applicable.
std::vector<std::string> algorithms_meant(const Problem& problem, Backend backend, const std::string& name);

// Another library that stands in the lists as rows `NAME` and `NAME_...`: opened at run time where it is
// installed, chosen only when it is named.
struct PeerInfo {
    std::string name;  // "peer:onednn" (processor), "peer:cudnn" (CUDA)
    bool found = false;
    std::string text;  // version and file, or why it is not there and what would help
};
std::vector<PeerInfo> peers();

struct Finding {
    Candidate candidate;
    bool measured = false;
    double median_ms = 0, p10_ms = 0, p90_ms = 0;  // valid when measured
    int samples = 0;
    // Processor: median of the processor time that all threads of the process took for a run. On a machine
    // that is shared it says more than the clock; with one thread the two are the same elsewhere.
    std::optional<double> cpu_ms;
    std::optional<double> cold_ms;  // median with nothing of the problem in the last cache, where asked for
    std::optional<double>
        max_error;  // largest |y - reference| / largest |reference|, against the last algorithm of the list
    std::string failure;  // what execute threw, if it did
};

struct FindOptions {
    std::size_t workspace_limit = std::numeric_limits<std::size_t>::max();
    int samples = 10;         // per algorithm; fewer when the time budget ends first, at least 1
    double budget_ms = 2000;  // for the whole call
    // The budget counts the samples alone: data, packing and warm-up come before it.
    bool budget_of_samples = false;
    bool measure_error = true;
    bool peers = false;  // rows of other libraries too
    // Only rows of these names or families; empty: all.
    std::span<const std::string> algorithms;
    // Samples are runs of a recording (a CUDA graph), which leaves out what handing over costs the processor.
    // No effect on the processor.
    bool recorded = false;
    // Writes what was measured to the user's cache file, for PlanOptions::cached. Where that fails, one
    // message on standard error says why.
    bool remember = false;
    // A run that is not timed goes before each sample: threads are awake, the caches hold what the row left
    // there.
    bool warm = false;
    // Beside each sample one with cold caches: a buffer of this many bytes (larger than the last cache) is
    // written before it. 0: none.
    std::size_t cold_bytes = 0;
    // Real data in the problem's descriptors (sources in the backend's memory, plain weights in the host's);
    // empty: seeded random numbers of unit scale.
    std::span<const void* const> sources;
    const void* weights = nullptr;
    std::uint64_t seed = 1;
    // Asked between samples; true ends the search early with what was measured so far.
    bool (*cancelled)(void* user) = nullptr;
    void* user = nullptr;
};

// Times every applicable algorithm (interleaved, after a warm-up) in buffers of its own and returns all rows
// in list order.
std::vector<Finding> find(Context& context, const Problem& problem, const FindOptions& options = {});

}  // namespace convlens
#pragma GCC visibility pop
