#include "convlens/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "primitives/algorithm.h"
#include "primitives/aligned_buffer.h"
#include "primitives/device.h"
#include "primitives/log.h"
#include "primitives/peers/peers.h"
#include "primitives/plan_cache.h"
#include "primitives/scale.h"

namespace convlens {

const char* to_string(ErrorClass error_class) noexcept {
    switch (error_class) {
        case ErrorClass::exact_order:
            return "exact-order";
        case ErrorClass::fp32:
            return "fp32";
        case ErrorClass::winograd:
            return "winograd";
        case ErrorClass::fft:
            return "fft";
        case ErrorClass::tf32:
            return "tf32";
        case ErrorClass::fp16:
            return "fp16";
        case ErrorClass::bf16:
            return "bf16";
    }
    return "unknown";
}

const char* to_string(Precision precision) noexcept {
    switch (precision) {
        case Precision::fp32:
            return "fp32";
        case Precision::tf32:
            return "tf32";
        case Precision::fp16:
            return "fp16";
        case Precision::bf16:
            return "bf16";
    }
    return "unknown";
}

bool is_admitted(const Problem& problem, Precision precision, ErrorClass error_class) {
    const DataType type = std::visit([](const auto& p) { return p.dst.type; }, problem);
    if (type == DataType::f16 && admits(Precision::fp16, error_class)) return true;
    if (type == DataType::bf16 && admits(Precision::bf16, error_class)) return true;
    return admits(precision, error_class);
}

bool admits(Precision precision, ErrorClass error_class) noexcept {
    switch (error_class) {
        case ErrorClass::tf32:
            return precision != Precision::fp32;
        case ErrorClass::fp16:
            return precision == Precision::fp16;
        case ErrorClass::bf16:
            return precision == Precision::bf16;
        default:
            return true;
    }
}

namespace {

bool may_work_in_place(const Problem& problem) {
    return std::holds_alternative<ActivationProblem>(problem) ||
           std::holds_alternative<ElementwiseProblem>(problem) ||
           std::holds_alternative<BatchNormalizationProblem>(problem);
}

int device_number(const Context& context) {
    return context.device() == nullptr ? 0 : context.device()->info().number;
}

void check_context(const Context& context, const PlanInfo& info) {
    if (context.backend() != info.backend)
        throw Error(Status::bad_parameter, info.operation + ": the plan is for the backend " +
                                               to_string(info.backend) + ", the context is of " +
                                               to_string(context.backend()) +
                                               "; make a plan with that context");
    const int device = device_number(context);
    if (device != info.device)
        throw Error(Status::bad_parameter, info.operation + ": the plan is for device " +
                                               std::to_string(info.device) + ", the context is of device " +
                                               std::to_string(device) + "; make a plan with that context");
}

}  // namespace

Plan::Plan(Problem problem, PlanInfo info) : problem_(std::move(problem)), info_(std::move(info)) {
    const auto range_of = [](const TensorDesc& desc) {
        Range range;
        if (desc.is_empty()) return range;
        const auto size = static_cast<std::ptrdiff_t>(size_of(desc.type));
        std::int64_t lowest = desc.offset;
        for (int axis = 0; axis < desc.rank(); ++axis)
            if (desc.strides[axis] < 0) lowest += (desc.dims[axis] - 1) * desc.strides[axis];
        range.begin = lowest * size;
        range.end = static_cast<std::ptrdiff_t>(desc.bytes());
        range.first = desc.offset * size;
        range.dense = desc.is_dense();
        return range;
    };
    const TensorDesc& dst = std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem_);
    dst_range_ = range_of(dst);
    for (std::size_t i = 0; i < source_count(problem_); ++i) {
        const auto desc = source_desc(problem_, i);
        source_ranges_.push_back(desc ? range_of(*desc) : Range{});
        source_ranges_.back().in_place = desc && may_work_in_place(problem_) && *desc == dst;
    }
    std::visit(
        [&]<class P>(const P& p) {
            if constexpr (std::is_same_v<P, ConvolutionProblem> ||
                          std::is_same_v<P, ConvolutionBwdDataProblem>) {
                weights_factor_ = p.alpha;
                // Rows add to dst as it is, as if it were a residual.
                if (p.beta != 0) dst_factor_ = p.beta;
            }
        },
        problem_);
}

// Sure cases only: the same first element, or two dense tensors whose ranges meet.
void Plan::check_overlap(const ExecuteArgs& args) const {
    const auto dst = reinterpret_cast<std::intptr_t>(args.dst);
    for (std::size_t i = 0; i < source_ranges_.size(); ++i) {
        const Range& range = source_ranges_[i];
        if (args.sources[i] == nullptr || range.begin == range.end) continue;
        const auto src = reinterpret_cast<std::intptr_t>(args.sources[i]);
        if (src == dst && range.in_place) continue;
        const bool same_start = src + range.first == dst + dst_range_.first;
        const bool meet =
            src + range.begin < dst + dst_range_.end && dst + dst_range_.begin < src + range.end;
        if (same_start || (meet && range.dense && dst_range_.dense))
            throw Error(Status::bad_parameter, info_.operation + ": source " + std::to_string(i) +
                                                   " overlaps dst; give dst memory of its own");
    }
    // What is written is no other's memory either. Between the elements of a tensor there may be anything.
    const auto check_apart = [&](std::intptr_t begin, std::size_t bytes, const void* tensor,
                                 const Range& range, const std::string& names) {
        const auto at = reinterpret_cast<std::intptr_t>(tensor);
        if (tensor != nullptr && range.dense && begin < at + range.end &&
            at + range.begin < begin + static_cast<std::intptr_t>(bytes))
            throw Error(Status::bad_parameter,
                        info_.operation + ": " + names + " overlap; give each memory of its own");
    };
    if (info_.packed_bytes > 0)
        check_apart(reinterpret_cast<std::intptr_t>(args.weights), info_.packed_bytes, args.dst, dst_range_,
                    "weights and dst");
    if (info_.workspace_bytes == 0) return;
    const auto workspace = reinterpret_cast<std::intptr_t>(args.workspace);
    check_apart(workspace, info_.workspace_bytes, args.dst, dst_range_, "workspace and dst");
    for (std::size_t i = 0; i < source_ranges_.size(); ++i)
        check_apart(workspace, info_.workspace_bytes, args.sources[i], source_ranges_[i],
                    "workspace and source " + std::to_string(i));
}

Plan::~Plan() = default;

void Plan::pack_weights(const void* weights, void* packed) const {
    if (info_.weights_bytes == 0) return;
    if (weights == nullptr) throw Error(Status::bad_parameter, "weights: null");
    if (info_.packed_bytes == 0) return;  // a data gradient whose outputs read nothing
    if (packed == nullptr) throw Error(Status::bad_parameter, "packed: null");
    if (reinterpret_cast<std::uintptr_t>(packed) % 64 != 0)
        throw Error(Status::bad_parameter, "packed: not 64-byte aligned");
    if (weights_factor_ == 1) return pack_impl(weights, packed);
    const TensorDesc& dst = std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem_);
    const AlignedBuffer scaled(info_.weights_bytes);
    std::copy_n(static_cast<const std::byte*>(weights), info_.weights_bytes, scaled.data());
    scale_on_host(
        TensorDesc::packed({static_cast<std::int64_t>(info_.weights_bytes / size_of(dst.type))}, dst.type),
        weights_factor_, scaled.data());
    pack_impl(scaled.data(), packed);
}

Buffer pack_weights(Context& context, const Plan& plan, const void* weights) {
    const PlanInfo& info = plan.info();
    if (info.weights_bytes == 0) return {};
    if (weights == nullptr) throw Error(Status::bad_parameter, "weights: null");
    Buffer packed(context, info.packed_bytes);
    pack_weights(context, plan, weights, packed.data());
    return packed;
}

void pack_weights(Context& context, const Plan& plan, const void* weights, void* packed) {
    const PlanInfo& info = plan.info();
    check_context(context, info);
    if (info.weights_bytes == 0 || info.packed_bytes == 0) return;
    if (context.backend() == Backend::cpu) return plan.pack_weights(weights, packed);
    if (packed == nullptr) throw Error(Status::bad_parameter, "packed: null");
    if (reinterpret_cast<std::uintptr_t>(packed) % 64 != 0)
        throw Error(Status::bad_parameter, "packed: not 64-byte aligned");
    const AlignedBuffer host(info.packed_bytes);
    plan.pack_weights(weights, host.data());
    context.upload(packed, host.data(), host.bytes());
}

void Plan::pack_impl(const void* weights, void* packed) const {
    std::copy_n(static_cast<const std::byte*>(weights), info_.packed_bytes, static_cast<std::byte*>(packed));
}

// Memory that the device can't address would be a fault that ends every later call of the process.
void Plan::check_memory(const Context& context, const ExecuteArgs& args) const {
    const Device* device = context.device();
    if (device == nullptr) return;
    const auto refuse_host = [&](const void* memory, std::ptrdiff_t first, const std::string& name) {
        if (memory != nullptr && !device->can_address(static_cast<const std::byte*>(memory) + first))
            throw Error(Status::bad_parameter, info_.operation + ": " + name +
                                                   " is host memory that the device can't address; give "
                                                   "device memory");
    };
    for (std::size_t i = 0; i < source_ranges_.size(); ++i)
        if (source_ranges_[i].begin != source_ranges_[i].end)
            refuse_host(args.sources[i], source_ranges_[i].first, "source " + std::to_string(i));
    if (info_.packed_bytes > 0) refuse_host(args.weights, 0, "weights");
    refuse_host(args.dst, dst_range_.first, "dst");
    if (info_.workspace_bytes > 0) refuse_host(args.workspace, 0, "workspace");
}

void Plan::execute(Context& context, const ExecuteArgs& args) const {
    check_context(context, info_);
    const std::size_t count = source_ranges_.size();
    std::size_t least = count;
    while (least > 0 && source_is_absent(problem_, least - 1)) --least;
    if (args.sources.size() < least || args.sources.size() > count)
        throw Error(Status::bad_parameter, info_.operation + " takes " + std::to_string(count) +
                                               " sources, " + std::to_string(args.sources.size()) +
                                               " were given");
    if (args.sources.size() < count) {
        // Only operations with few sources have absent ones.
        std::array<const void*, 4> complete{};
        std::copy(args.sources.begin(), args.sources.end(), complete.begin());
        ExecuteArgs completed = args;
        completed.sources = std::span(complete).first(count);
        execute(context, completed);
        return;
    }
    const bool nothing_to_do = std::visit([](const auto& p) { return p.dst.is_empty(); }, problem_);
    if (nothing_to_do) return;
    for (std::size_t i = 0; i < count; ++i)
        if (args.sources[i] == nullptr && !source_is_absent(problem_, i) &&
            !source_desc(problem_, i)->is_empty())
            throw Error(Status::bad_parameter,
                        info_.operation + ": source " + std::to_string(i) + " is null");
    if (args.dst == nullptr) throw Error(Status::bad_parameter, info_.operation + ": dst is null");
    if (info_.packed_bytes > 0 && args.weights == nullptr)
        throw Error(Status::bad_parameter, info_.operation + ": weights are null");
    if (info_.workspace_bytes > 0) {
        if (args.workspace == nullptr)
            throw Error(Status::bad_parameter, info_.operation + ": workspace is null");
        if (args.workspace_bytes < info_.workspace_bytes)
            throw Error(Status::bad_parameter, info_.operation + " by " + info_.algorithm +
                                                   " needs a workspace of " +
                                                   std::to_string(info_.workspace_bytes) + " bytes, " +
                                                   std::to_string(args.workspace_bytes) + " were given");
        if (reinterpret_cast<std::uintptr_t>(args.workspace) % 64 != 0)
            throw Error(Status::bad_parameter, info_.operation + ": workspace is not 64-byte aligned");
    }
    check_overlap(args);
    check_memory(context, args);
    if (dst_factor_ != 1)
        scale(context, std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem_),
              dst_factor_, args.dst);
    // Kernels of the processor add offsets to the pointers of empty sources too, which null does not admit.
    static constexpr std::byte nothing{};
    std::array<const void*, 4> sources{};
    if (context.backend() == Backend::cpu && count <= sources.size()) {
        for (std::size_t i = 0; i < count; ++i)
            sources[i] =
                args.sources[i] == nullptr && !source_is_absent(problem_, i) ? &nothing : args.sources[i];
        ExecuteArgs own = args;
        own.sources = std::span(sources).first(count);
        return execute_impl(context, own);
    }
    execute_impl(context, args);
}

PlanInfo base_info(const Problem& problem, const Context& context, const char* algorithm,
                   ErrorClass error_class, bool deterministic) {
    PlanInfo info;
    info.backend = context.backend();
    info.device = device_number(context);
    info.operation = operation_name(problem);
    info.algorithm = algorithm;
    info.error_class = error_class;
    info.deterministic = deterministic;
    info.weights_bytes = weights_bytes(problem);
    info.packed_bytes = info.weights_bytes;
    info.work = direct_work(problem);
    return info;
}

namespace {

template <class P>
std::unique_ptr<Plan> make(const Algorithm<P>& algorithm, const P& problem, const Context& context) {
    return algorithm.make(
        problem, context,
        base_info(problem, context, algorithm.name, algorithm.error_class, algorithm.deterministic));
}

// Whether a row is meant by a name: its own, or that of its family (all up to an underscore).
bool is_meant(const char* row, const std::string& name) {
    const std::string_view text(row);
    return text == name ||
           (text.size() > name.size() && text.substr(0, name.size()) == name && text[name.size()] == '_');
}

template <class P>
std::vector<const Algorithm<P>*> rows_meant(Backend backend, const std::string& name) {
    std::vector<const Algorithm<P>*> rows;
    if (name.empty()) return rows;
    for (const auto list : {algorithms<P>(backend), peer_algorithms<P>(backend)})
        for (const auto& algorithm : list) {
            if (name == algorithm.name) return {&algorithm};
            if (is_meant(algorithm.name, name)) rows.push_back(&algorithm);
        }
    return rows;
}

template <class P>
std::unique_ptr<Plan> make_named(Context& context, const P& problem, const PlanOptions& options) {
    const auto rows = rows_meant<P>(context.backend(), options.algorithm);
    if (rows.empty()) {
        std::string known;
        for (const auto list : {algorithms<P>(context.backend()), peer_algorithms<P>(context.backend())})
            for (const auto& algorithm : list)
                known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
        throw Error(Status::bad_parameter, "no algorithm of the name '" + options.algorithm + "' for " +
                                               operation_name(Problem(problem)) + "; known: " + known);
    }
    // Of a family every row has its reason.
    std::string reasons;
    const auto add_reason = [&](const char* row, const std::string& reason) {
        if (!reasons.empty()) reasons += "; ";
        reasons += rows.size() == 1 ? reason : std::string(row) + ": " + reason;
    };
    for (const bool only_preferred : {true, false}) {
        for (const auto* algorithm : rows) {
            const std::string rejection = algorithm->reject(problem, context);
            if (!rejection.empty()) {
                if (!only_preferred) add_reason(algorithm->name, rejection);
                continue;
            }
            if (only_preferred && (!algorithm->preferred(problem, context) ||
                                   !is_admitted(problem, options.precision, algorithm->error_class)))
                continue;
            auto plan = make(*algorithm, problem, context);
            if (plan->info().workspace_bytes <= options.workspace_limit) return plan;
            if (!only_preferred)
                add_reason(algorithm->name,
                           "it needs a workspace of " + std::to_string(plan->info().workspace_bytes) +
                               " bytes, the limit is " + std::to_string(options.workspace_limit));
        }
    }
    throw Error(Status::not_supported, "algorithm " + options.algorithm + " can't do this " +
                                           operation_name(Problem(problem)) + ": " + reasons);
}

template <class P>
std::unique_ptr<Plan> make_chosen(Context& context, const P& problem, const PlanOptions& options) {
    std::string reasons;
    // Two rounds: rows that are preferred at this size, then any that can do it.
    for (const bool only_preferred : {true, false}) {
        for (const auto& algorithm : algorithms<P>(context.backend())) {
            if (!is_admitted(problem, options.precision, algorithm.error_class)) continue;
            const std::string reason = algorithm.reject(problem, context);
            if (!reason.empty()) {
                if (only_preferred) reasons += "; " + std::string(algorithm.name) + ": " + reason;
                continue;
            }
            if (only_preferred && !algorithm.preferred(problem, context)) continue;
            auto plan = make(algorithm, problem, context);
            if (plan->info().workspace_bytes <= options.workspace_limit) return plan;
            if (!only_preferred)
                reasons += "; " + std::string(algorithm.name) + ": workspace above the limit";
        }
    }
    throw Error(Status::not_supported,
                std::string("no algorithm can do this ") + operation_name(Problem(problem)) + reasons);
}

}  // namespace

namespace {

// Null where nothing was remembered that is right today.
template <class P>
std::unique_ptr<Plan> make_remembered(Context& context, const P& problem, const PlanOptions& options) {
    for (const std::string& name : remembered_rows(context, problem))
        for (const auto& algorithm : algorithms<P>(context.backend())) {
            if (name != algorithm.name || !is_admitted(problem, options.precision, algorithm.error_class) ||
                !algorithm.reject(problem, context).empty())
                continue;
            auto plan = make(algorithm, problem, context);
            if (plan->info().workspace_bytes <= options.workspace_limit) return plan;
        }
    return nullptr;
}

std::unique_ptr<Plan> make_checked(Context& context, const Problem& problem, const PlanOptions& options) {
    check(problem);
    return std::visit(
        [&](const auto& p) {
            if (!options.algorithm.empty()) return make_named(context, p, options);
            if (options.cached)
                if (auto plan = make_remembered(context, p, options)) return plan;
            return make_chosen(context, p, options);
        },
        problem);
}

}  // namespace

std::unique_ptr<Plan> make_plan(Context& context, const Problem& problem, const PlanOptions& options) {
    if (!plans_are_logged()) return make_checked(context, problem, options);
    try {
        auto plan = make_checked(context, problem, options);
        log_plan(context, problem, options, plan.get(), "");
        return plan;
    } catch (const Error& error) {
        log_plan(context, problem, options, nullptr, error.what());
        throw;
    }
}

std::vector<Candidate> candidates(Context& context, const Problem& problem, bool with_peers) {
    check(problem);
    return std::visit(
        [&]<class P>(const P& p) {
            std::vector<Candidate> rows;
            const auto add = [&](const Algorithm<P>& algorithm) {
                Candidate row;
                row.algorithm = algorithm.name;
                row.reason = algorithm.reject(p, context);
                row.applicable = row.reason.empty();
                row.error_class = algorithm.error_class;
                row.deterministic = algorithm.deterministic;
                if (row.applicable) {
                    row.preferred = algorithm.preferred(p, context);
                    const auto plan = make(algorithm, p, context);
                    row.workspace_bytes = plan->info().workspace_bytes;
                    row.packed_bytes = plan->info().packed_bytes;
                    row.work = plan->info().work;
                    row.error_class = plan->info().error_class;
                }
                rows.push_back(std::move(row));
            };
            if (with_peers)
                for (const auto& algorithm : peer_algorithms<P>(context.backend())) add(algorithm);
            for (const auto& algorithm : algorithms<P>(context.backend())) add(algorithm);
            return rows;
        },
        problem);
}

std::vector<Candidate> heuristic(Context& context, const Problem& problem, const PlanOptions& options) {
    std::vector<Candidate> rows;
    const auto list = candidates(context, problem);
    for (const bool preferred : {true, false})
        for (const Candidate& row : list)
            if (row.applicable && row.preferred == preferred &&
                is_admitted(problem, options.precision, row.error_class) &&
                row.workspace_bytes <= options.workspace_limit)
                rows.push_back(row);
    return rows;
}

std::vector<std::string> algorithm_names(const Problem& problem, Backend backend) {
    return std::visit(
        [&]<class P>(const P&) {
            std::vector<std::string> names;
            for (const auto& algorithm : algorithms<P>(backend)) names.emplace_back(algorithm.name);
            return names;
        },
        problem);
}

std::vector<std::string> algorithms_meant(const Problem& problem, Backend backend, const std::string& name) {
    return std::visit(
        [&]<class P>(const P&) {
            std::vector<std::string> names;
            for (const auto* algorithm : rows_meant<P>(backend, name)) names.emplace_back(algorithm->name);
            return names;
        },
        problem);
}

}  // namespace convlens
