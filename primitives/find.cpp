// The finder: every applicable algorithm of a list, timed in turn on the same data.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include "convlens/plan.h"
#include "primitives/algorithm.h"
#include "primitives/log.h"
#include "primitives/plan_cache.h"
#include "primitives/split_mix.h"

namespace convlens {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

double process_cpu_milliseconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

struct Random : SplitMix64 {
    using SplitMix64::SplitMix64;
    // Uniform with zero mean and unit variance.
    float unit() { return (static_cast<float>(next() >> 40) * 0x1p-24f - 0.5f) * 3.4641016f; }
};

// Bit patterns of a number of unit scale in each type. The 16-bit floats are cut, which is exact enough for
// data.
std::uint64_t random_bits(Random& random, DataType type, bool positive) {
    const float value = positive ? 0.25f + std::fabs(random.unit()) : random.unit();
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    switch (type) {
        case DataType::f32:
            return bits;
        case DataType::bf16:
            return bits >> 16;
        case DataType::f16: {
            const int exponent = static_cast<int>((bits >> 23) & 0xffu) - 127 + 15;
            const std::uint32_t sign = (bits >> 16) & 0x8000u;
            return exponent <= 0
                       ? sign
                       : sign | static_cast<std::uint32_t>(exponent) << 10 | ((bits >> 13) & 0x3ffu);
        }
        case DataType::f64: {
            const double wide = value;
            std::uint64_t wide_bits = 0;
            std::memcpy(&wide_bits, &wide, 8);
            return wide_bits;
        }
        case DataType::boolean:
            return random.next() & 1u;
        case DataType::u8:
            return random.next() & 0xffu;
        case DataType::i8:
            return random.next() & 0x7fu;
        case DataType::i32:
        case DataType::i64:
            return random.next() & 0xffffu;
    }
    return 0;
}

void fill_random(void* data, std::size_t elements, DataType type, Random& random, bool positive) {
    const std::size_t size = size_of(type);
    auto* bytes = static_cast<std::byte*>(data);
    // Large tensors repeat a block: their numbers would take longer than the search. A prime length fits no
    // axis.
    constexpr std::size_t block = 1048573;
    const std::size_t made = std::min(elements, block);
    for (std::size_t i = 0; i < made; ++i) {
        const std::uint64_t value = random_bits(random, type, positive);
        std::memcpy(bytes + i * size, &value, size);
    }
    for (std::size_t at = made; at < elements; at += made)
        std::memcpy(bytes + at * size, bytes, std::min(made, elements - at) * size);
}

// Variances, and operands whose logarithm, root, power or quotient is taken, must be positive.
bool needs_positive(const Problem& problem, std::size_t source) {
    if (std::holds_alternative<BatchNormalizationProblem>(problem)) return source == 4;
    const auto* p = std::get_if<ElementwiseProblem>(&problem);
    return p != nullptr && (p->kind == ElementwiseKind::pow || p->kind == ElementwiseKind::log ||
                            p->kind == ElementwiseKind::sqrt || p->kind == ElementwiseKind::div ||
                            p->kind == ElementwiseKind::reciprocal);
}

const TensorDesc& destination(const Problem& problem) {
    return std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem);
}

// Sources, weights and destination for one problem: all but the plain weights in the backend's memory.
struct Data {
    std::vector<Buffer> owned;
    std::vector<const void*> sources;
    std::vector<std::byte> owned_weights;
    const void* weights = nullptr;
    Buffer dst;

    Data(Context& context, const Problem& problem, const FindOptions& options) {
        Random random{options.seed * 0x2545f4914f6cdd1du + 1};
        const std::size_t count = source_count(problem);
        if (!options.sources.empty() && options.sources.size() != count)
            throw Error(Status::bad_parameter, "find: " + std::to_string(options.sources.size()) +
                                                   " sources were given, " + std::to_string(count) +
                                                   " are needed");
        for (std::size_t i = 0; i < count; ++i) {
            const void* given = options.sources.empty() ? nullptr : options.sources[i];
            const auto desc = source_desc(problem, i);
            if (given == nullptr && desc) {
                owned.push_back(random_source(context, *desc, random, needs_positive(problem, i)));
                given = owned.back().data();
            }
            sources.push_back(desc ? given : nullptr);
        }
        weights = options.weights;
        const std::size_t bytes = weights_bytes(problem);
        if (weights == nullptr && bytes > 0) {
            const DataType type = std::visit(
                [](const auto& p) {
                    if constexpr (requires { p.src.type; }) return p.src.type;
                    return p.dst.type;
                },
                problem);
            owned_weights.resize(bytes);
            fill_random(owned_weights.data(), bytes / size_of(type), type, random, false);
            weights = owned_weights.data();
        }
        dst = Buffer(context, destination(problem).bytes());
        context.fill(dst.data(), 0, dst.bytes());
    }

  private:
    static Buffer random_source(Context& context, const TensorDesc& desc, Random& random, bool positive) {
        Buffer source(context, desc.bytes());
        const std::size_t size = size_of(desc.type), elements = desc.bytes() / size;
        if (context.backend() == Backend::cpu) {
            fill_random(source.data(), elements, desc.type, random, positive);
            return source;
        }
        std::vector<std::byte> host(elements * size);
        fill_random(host.data(), elements, desc.type, random, positive);
        context.upload(source.data(), host.data(), host.size());
        return source;
    }
};

// One row that can run: its plan and the buffers of its own.
struct Runner {
    std::size_t row = 0;
    std::unique_ptr<Plan> plan;
    Buffer packed;
    Buffer workspace;
    std::vector<double> times, cold_times, cpu_times;
    std::unique_ptr<Recording> recording;  // of a sample's runs
    double warm = 0;                       // milliseconds of a run, before the samples
    int repeats = 1;  // runs in one sample: a launch on a device costs more than a small kernel
    bool failed = false;
    bool is_peer = false;

    void prepare(Context& context, const Problem& problem, const std::string& algorithm, const Data& data) {
        plan = make_plan(context, problem, {.algorithm = algorithm});
        packed = pack_weights(context, *plan, data.weights);
        workspace = Buffer(context, plan->info().workspace_bytes);
    }
    // Milliseconds of one run.
    double run(Context& context, Marks& marks, const Data& data) {
        if (recording == nullptr) return run(context, marks, data, repeats) / repeats;
        marks.set(0);
        recording->run();
        marks.set(1);
        context.synchronize();
        return marks.milliseconds(0, 1) / repeats;
    }
    void hand_over(Context& context, const Data& data, int times_over) {
        for (int i = 0; i < times_over; ++i)
            plan->execute(context, {.sources = data.sources,
                                    .weights = packed.data(),
                                    .dst = data.dst.data(),
                                    .workspace = workspace.data(),
                                    .workspace_bytes = workspace.bytes()});
    }
    // Rows that can't be recorded are handed over run by run.
    void record(Context& context, const Data& data) {
        try {
            recording = std::make_unique<Recording>(context, [&] { hand_over(context, data, repeats); });
            recording->run();  // the first run brings it to the device
            context.synchronize();
        } catch (const Error&) {
            recording.reset();
        }
    }
    // A pool of another library spins for a while after its work, on the cores that the next row needs.
    void rest(const Context& context) const {
        if (is_peer && context.backend() == Backend::cpu)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    // Milliseconds of some runs.
    double run(Context& context, Marks& marks, const Data& data, int times_over) {
        marks.set(0);
        hand_over(context, data, times_over);
        marks.set(1);
        context.synchronize();
        return marks.milliseconds(0, 1);
    }
};

// What was thrown, as text; rows fail one by one, the search goes on.
template <class Step>
bool guarded(Finding& finding, const Step& step) {
    try {
        step();
        return true;
    } catch (const std::exception& error) {
        finding.failure = error.what();
    }
    return false;
}

// Every element of a destination as double, in logical order.
class Reader {
  public:
    Reader(const TensorDesc& desc, const void* data)
        : desc_(desc), data_(static_cast<const std::byte*>(data)) {}
    template <class Visit>
    void each(const Visit& visit) const {
        const std::int64_t elements = desc_.elements();
        Dims index = Dims::filled(desc_.rank(), 0);
        std::int64_t at = desc_.offset;
        for (std::int64_t i = 0; i < elements; ++i) {
            visit(i, load(at));
            for (int axis = desc_.rank() - 1; axis >= 0; --axis) {
                at += desc_.strides[axis];
                if (++index[axis] < desc_.dims[axis]) break;
                at -= desc_.strides[axis] * desc_.dims[axis];
                index[axis] = 0;
            }
        }
    }

  private:
    template <class T>
    T as(std::int64_t at) const {
        T value;
        std::memcpy(&value, data_ + static_cast<std::size_t>(at) * sizeof(T), sizeof(T));
        return value;
    }
    double load(std::int64_t at) const {
        switch (desc_.type) {
            case DataType::f32:
                return as<float>(at);
            case DataType::f64:
                return as<double>(at);
            case DataType::f16:
                return half(as<std::uint16_t>(at));
            case DataType::bf16: {
                const std::uint32_t bits = static_cast<std::uint32_t>(as<std::uint16_t>(at)) << 16;
                float value = 0;
                std::memcpy(&value, &bits, 4);
                return value;
            }
            case DataType::i8:
                return as<std::int8_t>(at);
            case DataType::u8:
            case DataType::boolean:
                return as<std::uint8_t>(at);
            case DataType::i32:
                return as<std::int32_t>(at);
            case DataType::i64:
                return static_cast<double>(as<std::int64_t>(at));
        }
        return 0;
    }
    static double half(std::uint16_t bits) {
        const int exponent = (bits >> 10) & 0x1f;
        const double mantissa = bits & 0x3ff;
        const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
        if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
        return sign *
               (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
    }
    const TensorDesc& desc_;
    const std::byte* data_;
};

// Largest difference over largest magnitude. Equal infinities and two NaN agree; NaN against a number is an
// infinite error.
double relative_error(const TensorDesc& desc, const std::vector<double>& reference, const void* data) {
    double worst = 0;
    double largest = 0;
    Reader(desc, data).each([&](std::int64_t i, double value) {
        const double expected = reference[static_cast<std::size_t>(i)];
        if (std::isfinite(expected)) largest = std::max(largest, std::fabs(expected));
        if (value == expected || (std::isnan(value) && std::isnan(expected))) return;
        const double difference = std::fabs(value - expected);
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    });
    if (worst == 0) return 0;
    return largest > 0 ? worst / largest : INFINITY;
}

double quantile(const std::vector<double>& sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(position);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (position - static_cast<double>(low));
}

class Search {
  public:
    Search(Context& context, const Problem& problem, const FindOptions& options)
        : context_(context), problem_(problem), options_(options), marks_(context, 2) {
        const auto names = algorithm_names(problem, context.backend());
        if (!names.empty()) reference_ = names.back();
        for (Candidate& candidate : candidates(context, problem, options.peers)) {
            if (!is_wanted(candidate.algorithm)) continue;
            Finding finding;
            finding.candidate = std::move(candidate);
            rows_.push_back(std::move(finding));
        }
    }

    std::vector<Finding> run() {
        const auto& dst = destination(problem_);
        if (rows_.empty() || dst.is_empty()) return std::move(rows_);
        Data data(context_, problem_, options_);
        prepare(data);
        // The warm-up also gives the errors.  The reference is asked first: the others are compared with it.
        std::vector<double> reference;
        if (options_.measure_error) compute_reference(data, reference);
        for (Runner& runner : runners_) {
            if (cancelled()) break;
            warm_up(runner, data, reference);
            choose_repeats(runner, data);
        }
        if (options_.budget_of_samples) start_ = Clock::now();
        for (int sample = 0; sample < std::max(options_.samples, 1); ++sample)
            if (!sample_all(data)) break;
        for (Runner& runner : runners_) summarise(runner);
        return std::move(rows_);
    }

  private:
    // The destination's values where the processor can read them.
    const void* host_copy(const Data& data) {
        if (context_.backend() == Backend::cpu) return data.dst.data();
        host_dst_.resize(data.dst.bytes());
        context_.download(host_dst_.data(), data.dst.data(), data.dst.bytes());
        return host_dst_.data();
    }
    bool is_wanted(const std::string& row) const {
        return options_.algorithms.empty() ||
               std::any_of(
                   options_.algorithms.begin(), options_.algorithms.end(),
                   [&](const std::string& name) { return row == name || row.starts_with(name + "_"); });
    }
    bool cancelled() const { return options_.cancelled != nullptr && options_.cancelled(options_.user); }
    double spent() const { return milliseconds(Clock::now() - start_); }

    void prepare(const Data& data) {
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            Finding& finding = rows_[row];
            if (!finding.candidate.applicable) continue;
            if (finding.candidate.workspace_bytes > options_.workspace_limit) {
                finding.failure = "needs a workspace of " +
                                  std::to_string(finding.candidate.workspace_bytes) +
                                  " bytes, the limit is " + std::to_string(options_.workspace_limit);
                continue;
            }
            Runner runner;
            runner.row = row;
            runner.is_peer = finding.candidate.algorithm.starts_with("peer:");
            if (guarded(finding,
                        [&] { runner.prepare(context_, problem_, finding.candidate.algorithm, data); }))
                runners_.push_back(std::move(runner));
        }
    }

    void compute_reference(const Data& data, std::vector<double>& reference) {
        if (runners_.empty() || rows_[runners_.back().row].candidate.algorithm != reference_ || cancelled())
            return;
        Runner& last = runners_.back();
        last.failed = !guarded(rows_[last.row], [&] {
            last.warm = last.run(context_, marks_, data);
            reference.resize(static_cast<std::size_t>(destination(problem_).elements()));
            Reader(destination(problem_), host_copy(data)).each([&](std::int64_t i, double value) {
                reference[static_cast<std::size_t>(i)] = value;
            });
            rows_[last.row].max_error = 0.0;
        });
        if (last.failed) reference.clear();
    }

    void warm_up(Runner& runner, const Data& data, const std::vector<double>& reference) {
        Finding& finding = rows_[runner.row];
        if (runner.failed || finding.max_error) return;
        runner.failed = !guarded(finding, [&] {
            // What an algorithm fails to write must not pass for the answer of the one before.
            if (!reference.empty()) context_.fill(data.dst.data(), 0xff, data.dst.bytes());
            runner.warm = runner.run(context_, marks_, data);
            if (!reference.empty())
                finding.max_error = relative_error(destination(problem_), reference, host_copy(data));
        });
    }

    // On a device the first run also loads the kernel.
    void choose_repeats(Runner& runner, const Data& data) {
        constexpr double sample_ms = 0.2;
        if (runner.failed || context_.backend() == Backend::cpu) return;
        runner.failed = !guarded(rows_[runner.row], [&] {
            constexpr double loading_ms = 200;  // above that the loading does not count
            if (runner.warm < loading_ms) runner.warm = runner.run(context_, marks_, data);
            runner.repeats = std::clamp(static_cast<int>(sample_ms / std::max(runner.warm, 1e-3)), 1, 64);
            if (options_.recorded) runner.record(context_, data);
        });
    }

    int runs_of_sample(const Runner& runner) const {
        return runner.repeats + (options_.warm ? 1 : 0) + (options_.cold_bytes > 0 ? 1 : 0);
    }
    static constexpr std::size_t most_cold = 5;  // writing a cache over takes longer than most rows
    void take_sample(Runner& runner, const Data& data) {
        if (options_.warm) runner.run(context_, marks_, data, 1);
        const double cpu_before = process_cpu_milliseconds();
        runner.times.push_back(runner.run(context_, marks_, data));
        if (context_.backend() == Backend::cpu)
            runner.cpu_times.push_back(process_cpu_milliseconds() - cpu_before);
        if (options_.cold_bytes == 0 || runner.cold_times.size() >= most_cold) return;
        const Clock::time_point before = Clock::now();
        if (flush_.bytes() == 0) flush_ = Buffer(context_, options_.cold_bytes);
        context_.fill(flush_.data(), static_cast<unsigned char>(runner.times.size()), flush_.bytes());
        context_.synchronize();
        start_ += Clock::now() - before;  // of samples alone
        runner.cold_times.push_back(runner.run(context_, marks_, data, 1));
    }

    // One sample of each row; false when the search is over.  Every row gets at least one sample, and within
    // the budget rows that are a hundred times slower than the fastest stop after three.
    bool sample_all(const Data& data) {
        double fastest = INFINITY;
        for (const Runner& runner : runners_)
            if (!runner.failed) fastest = std::min(fastest, runner.warm);
        for (Runner& runner : runners_) {
            if (runner.failed) continue;
            if (cancelled()) return false;
            // A run that takes most of the budget has been measured when it was warmed up.
            if (runner.times.empty() && context_.backend() != Backend::cpu &&
                runner.warm > options_.budget_ms / 4)
                runner.times.push_back(runner.warm);
            if (!runner.times.empty() && spent() + runner.warm * runs_of_sample(runner) > options_.budget_ms)
                continue;
            if (runner.times.size() >= 3 && runner.warm > 100 * fastest) continue;
            runner.failed = !guarded(rows_[runner.row], [&] { take_sample(runner, data); });
            runner.rest(context_);
        }
        return spent() < options_.budget_ms;
    }

    void summarise(Runner& runner) {
        Finding& finding = rows_[runner.row];
        if (runner.failed || runner.times.empty()) return;
        std::sort(runner.times.begin(), runner.times.end());
        finding.measured = true;
        finding.samples = static_cast<int>(runner.times.size());
        finding.median_ms = quantile(runner.times, 0.5);
        finding.p10_ms = quantile(runner.times, 0.1);
        finding.p90_ms = quantile(runner.times, 0.9);
        std::sort(runner.cpu_times.begin(), runner.cpu_times.end());
        if (!runner.cpu_times.empty()) finding.cpu_ms = quantile(runner.cpu_times, 0.5);
        std::sort(runner.cold_times.begin(), runner.cold_times.end());
        if (!runner.cold_times.empty()) finding.cold_ms = quantile(runner.cold_times, 0.5);
    }

    Context& context_;
    const Problem& problem_;
    const FindOptions& options_;
    Marks marks_;
    std::vector<std::byte> host_dst_;
    Buffer flush_;
    Clock::time_point start_ = Clock::now();
    std::string reference_;  // the list's last row
    std::vector<Finding> rows_;
    std::vector<Runner> runners_;
};

}  // namespace

std::vector<Finding> find(Context& context, const Problem& problem, const FindOptions& options) {
    const PlanLogPause quiet;
    std::vector<Finding> rows = Search(context, problem, options).run();
    if (options.remember)
        if (const std::string why_not = remember_rows(context, problem, rows); !why_not.empty())
            std::fprintf(stderr, "convlens: what was measured was not remembered: %s\n", why_not.c_str());
    return rows;
}

}  // namespace convlens
