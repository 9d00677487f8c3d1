#include "fuzz_target.h"

#include "c_problem_of.h"
#include "harness.h"
#include "primitives/problem_text.h"

namespace convlens::test {
namespace {

class Dice {
  public:
    explicit Dice(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    std::int64_t below(std::int64_t n) {
        std::uint64_t value = 0;
        for (int i = 0; i < (n <= 256 ? 1 : 4); ++i) value = value << 8 | next();
        return static_cast<std::int64_t>(value % static_cast<std::uint64_t>(n));
    }
    // What is rare is not what the end of the bytes (zeros) says.
    bool one_in(std::int64_t n) { return below(n) == n - 1; }
    std::uint8_t next() { return at_ < bytes_.size() ? bytes_[at_++] : std::uint8_t{0}; }
    std::int64_t length() { return one_in(hostility_) ? hostile() : 1 + below(7); }
    std::int64_t hostile() {
        constexpr std::int64_t values[] = {0,
                                           -1,
                                           -7,
                                           INT64_MAX,
                                           INT64_MIN,
                                           std::int64_t{1} << 32,
                                           std::int64_t{1} << 31,
                                           INT32_MAX,
                                           std::int64_t{1} << 62,
                                           1000003,
                                           -(std::int64_t{1} << 40),
                                           2};
        return values[below(12)];
    }
    void set_hostility(std::int64_t one_in_n) { hostility_ = one_in_n; }
    Dims lengths(int rank) {
        Dims dims;
        for (int i = 0; i < rank; ++i) dims.push_back(length());
        return dims;
    }
    Dims values(int rank, std::int64_t least, std::int64_t count) {
        Dims dims;
        if (one_in(hostility_ * 2)) rank = static_cast<int>(below(max_rank + 1));
        for (int i = 0; i < rank; ++i) dims.push_back(one_in(hostility_) ? hostile() : least + below(count));
        return dims;
    }
    DataType type() { return one_in(8) ? static_cast<DataType>(below(12)) : DataType::f32; }
    TensorDesc desc(const Dims& dims) {
        TensorDesc result;
        result.dims = dims;
        result.strides = Dims::filled(dims.rank(), 1);
        try {
            result = make_desc(dims, all_lays[below(3)]);
        } catch (const Error&) {
        }
        if (one_in(hostility_ * 2))
            result.strides = lengths(one_in(4) ? static_cast<int>(below(9)) : dims.rank());
        if (one_in(hostility_ * 2)) result.offset = one_in(3) ? hostile() : below(50);
        return result;
    }
    float real() {
        constexpr float values[] = {0, 1, -1, 0.5f, 6, 1e30f, INFINITY, -INFINITY, NAN, 1e-30f};
        return one_in(3) ? values[below(10)] : 0.5f;
    }
    ActivationDesc activation() {
        return one_in(2) ? ActivationDesc{}
                         : ActivationDesc{static_cast<ActivationKind>(below(one_in(hostility_) ? 256 : 10)),
                                          real(), real()};
    }

  private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
    std::int64_t hostility_ = 20;
};

WindowDesc window_of(Dice& dice, int spatial) {
    return {dice.values(spatial, 0, 3), dice.values(spatial, 0, 3), dice.values(spatial, 1, 3),
            dice.values(spatial, 1, 2)};
}

// The right output length where there is one, so that many problems are accepted.
Dims window_output(const Dims& src, const Dims& size, const WindowDesc& w, std::int64_t channels, int which,
                   bool flag) {
    Dims out{src.rank() > 0 ? src[0] : 1, channels};
    for (int i = 0; i + 2 < src.rank(); ++i) {
        const bool whole = i < size.rank() && i < w.strides.rank() && i < w.pads_begin.rank() &&
                           i < w.pads_end.rank() && i < w.dilations.rank();
        if (!whole)
            out.push_back(1);
        else if (which == 0)
            out.push_back(pooling_output_size(src[i + 2], size[i], w.pads_begin[i], w.pads_end[i],
                                              w.strides[i], w.dilations[i], flag));
        else
            out.push_back(transposed_output_size(src[i + 2], size[i], w.pads_begin[i], w.pads_end[i],
                                                 w.strides[i], w.dilations[i], flag));
    }
    return out;
}

// One of the three gradients of a convolution over tensors of these dims.
Problem random_gradient(Dice& dice, int spatial, const Dims& dims) {
    const std::int64_t channels = dims.rank() > 1 ? dims[1] : 1;
    const std::int64_t groups = dice.one_in(3) && channels > 0 ? channels
                                : dice.one_in(20)              ? dice.hostile()
                                                               : 1;
    std::int64_t outputs = 0;
    if (__builtin_mul_overflow(groups, 1 + dice.below(3), &outputs)) outputs = 1;
    Dims weights{outputs, groups > 0 ? channels / groups : 1};
    const Dims size = dice.values(spatial, 1, 3);
    for (int i = 0; i < std::min(size.rank(), 6); ++i) weights.push_back(size[i]);
    const WindowDesc window = window_of(dice, spatial);
    const TensorDesc data = dice.desc(dims);
    const TensorDesc diff = dice.desc(window_output(dims, size, window, outputs, 0, false));
    const auto mode = static_cast<ConvolutionMode>(dice.below(dice.one_in(20) ? 9 : 2));
    const float alpha = dice.one_in(3) ? dice.real() : 1, beta = dice.one_in(3) ? dice.real() : 0;
    switch (dice.below(3)) {
        case 0:
            return ConvolutionBwdDataProblem{diff, weights, data, window, groups, mode, alpha, beta};
        case 1:
            return ConvolutionBwdFilterProblem{data,  diff, dice.desc(weights), window, groups, mode,
                                               alpha, beta};
        default:
            return ConvolutionBwdBiasProblem{diff, dice.desc({outputs}), alpha, beta};
    }
}

Problem random_problem(Dice& dice) {
    const int spatial = 1 + static_cast<int>(dice.below(3));
    const int rank = dice.one_in(10) ? static_cast<int>(dice.below(9)) : spatial + 2;
    const Dims dims = dice.lengths(rank);
    const TensorDesc src = dice.desc(dims);
    const auto same = [&] { return dice.desc(dice.one_in(20) ? dice.lengths(rank) : dims); };
    const auto dim = [&](int axis) { return axis < dims.rank() ? dims[axis] : 1; };
    switch (dice.below(14)) {
        case 0: {
            ConvolutionProblem p;
            p.src = src;
            p.groups = dice.one_in(3) && dim(1) > 0 ? dim(1) : dice.one_in(20) ? dice.hostile() : 1;
            std::int64_t outputs = 0;
            if (__builtin_mul_overflow(p.groups, 1 + dice.below(3), &outputs)) outputs = 1;
            p.weights = Dims{outputs, p.groups > 0 ? dim(1) / p.groups : 1};
            Dims size = dice.values(spatial, 1, 3);
            for (int i = 0; i < std::min(size.rank(), 6); ++i) p.weights.push_back(size[i]);
            p.window = window_of(dice, spatial);
            p.dst = dice.desc(window_output(dims, size, p.window, outputs, 0, false));
            p.mode = static_cast<ConvolutionMode>(dice.below(2));
            p.has_bias = dice.one_in(2);
            p.has_residual = dice.one_in(3);
            p.activation = dice.activation();
            if (dice.one_in(3)) p.alpha = dice.real();
            if (dice.one_in(3)) p.beta = dice.real();
            return p;
        }
        case 1: {
            TransposedConvolutionProblem p;
            p.src = src;
            p.groups = dice.one_in(3) && dim(1) > 0 ? dim(1) : 1;
            const std::int64_t each = dice.length();
            p.weights = Dims{dim(1), each};
            Dims size = dice.values(spatial, 1, 3);
            for (int i = 0; i < std::min(size.rank(), 6); ++i) p.weights.push_back(size[i]);
            p.window = window_of(dice, spatial);
            std::int64_t outputs = 0;
            if (__builtin_mul_overflow(p.groups, each, &outputs)) outputs = 1;
            p.dst = dice.desc(window_output(dims, size, p.window, outputs, 1, dice.one_in(3)));
            p.has_bias = dice.one_in(2);
            p.activation = dice.activation();
            return p;
        }
        case 2: {
            FullyConnectedProblem p;
            p.src = dice.desc({dice.length(), dice.length()});
            p.outputs = dice.length();
            p.dst = dice.desc({p.src.dims[0], p.outputs});
            p.has_bias = dice.one_in(2);
            p.has_residual = dice.one_in(2);
            p.activation = dice.activation();
            return p;
        }
        case 3: {
            PoolingProblem p;
            p.src = src;
            p.src.type = dice.type();
            p.size = dice.values(spatial, 1, 4);
            p.window = window_of(dice, spatial);
            p.kind = static_cast<PoolingKind>(dice.below(dice.one_in(20) ? 9 : 3));
            p.dst = dice.desc(window_output(dims, p.size, p.window, dim(1), 0, dice.one_in(2)));
            p.dst.type = p.src.type;
            return p;
        }
        case 4:
            return ActivationProblem{src, same(), dice.activation()};
        case 5:
            return BatchNormalizationProblem{src, same(), dice.real(), dice.activation()};
        case 6: {
            ElementwiseProblem p{static_cast<ElementwiseKind>(dice.below(dice.one_in(20) ? 256 : 22)), src,
                                 same(), same(), dice.activation()};
            if (dice.one_in(2) && rank > 0) {
                Dims broadcast = dims;
                broadcast[static_cast<int>(dice.below(rank))] = 1;
                (dice.one_in(2) ? p.a : p.b) = dice.desc(broadcast);
            }
            return p;
        }
        case 7:
            return SoftmaxProblem{src, same(), static_cast<int>(dice.below(rank + 3)) - 1, dice.one_in(2)};
        case 8:
            return LrnProblem{src, same(), dice.length(), dice.real(), dice.real(), dice.real()};
        case 9: {
            ConcatProblem p;
            p.axis = static_cast<int>(dice.below(rank + 2)) - (dice.one_in(9) ? 1 : 0);
            Dims total = dims;
            for (std::int64_t i = 0; i < dice.below(4); ++i) {
                Dims own = dims;
                if (p.axis >= 0 && p.axis < rank) {
                    own[p.axis] = dice.length();
                    if (i == 0) total[p.axis] = 0;
                    if (__builtin_add_overflow(total[p.axis], own[p.axis], &total[p.axis])) total[p.axis] = 1;
                }
                p.srcs.push_back(dice.desc(own));
            }
            p.dst = dice.desc(total);
            return p;
        }
        case 10:
        case 11:
        case 12:
            return random_gradient(dice, spatial, dims);
        default: {
            TransformProblem p;
            p.src = src;
            p.src.type = dice.type();
            Dims out = dims;
            if (dice.one_in(2)) {
                p.pads_begin = dice.values(rank, -2, 5);
                p.pads_end = dice.values(rank, -2, 5);
                for (int i = 0; i < std::min({rank, p.pads_begin.rank(), p.pads_end.rank()}); ++i) {
                    std::int64_t sum = 0;
                    if (__builtin_add_overflow(p.pads_begin[i], p.pads_end[i], &sum) ||
                        __builtin_add_overflow(out[i], sum, &out[i]))
                        out[i] = 1;
                }
            }
            p.dst = dice.desc(out);
            p.dst.type = dice.type();
            p.pad_mode = static_cast<PadMode>(dice.below(dice.one_in(20) ? 9 : 3));
            p.pad_value = dice.real();
            return p;
        }
    }
}

// Element count and bytes small enough to run.
bool is_small(const TensorDesc& desc) { return desc.bytes() <= 200000 && desc.elements() <= 50000; }

const TensorDesc& dst_of(const Problem& problem) {
    return std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem);
}

// The sources' descriptors as problem.h words them.
std::vector<TensorDesc> sources_of(const Problem& problem) {
    struct Sources {
        using List = std::vector<TensorDesc>;
        static TensorDesc values(std::int64_t n) { return TensorDesc::packed({n}); }
        List operator()(const ConvolutionBwdDataProblem& p) const { return {p.src}; }
        List operator()(const ConvolutionBwdFilterProblem& p) const { return {p.src, p.diff}; }
        List operator()(const ConvolutionBwdBiasProblem& p) const { return {p.src}; }
        List operator()(const ConvolutionProblem& p) const {
            return {p.src, values(p.has_bias ? p.weights[0] : 0), p.has_residual ? p.dst : values(0)};
        }
        List operator()(const TransposedConvolutionProblem& p) const {
            return {p.src, values(p.has_bias ? p.dst.dims[1] : 0)};
        }
        List operator()(const FullyConnectedProblem& p) const {
            return {p.src, values(p.has_bias ? p.outputs : 0), p.has_residual ? p.dst : values(0)};
        }
        List operator()(const BatchNormalizationProblem& p) const {
            const TensorDesc c = values(p.src.dims[1]);
            return {p.src, c, c, c, c};
        }
        List operator()(const ElementwiseProblem& p) const {
            return is_unary(p.kind) ? List{p.a} : List{p.a, p.b};
        }
        List operator()(const ConcatProblem& p) const { return p.srcs; }
        List operator()(const PoolingProblem& p) const { return {p.src}; }
        List operator()(const ActivationProblem& p) const { return {p.src}; }
        List operator()(const SoftmaxProblem& p) const { return {p.src}; }
        List operator()(const LrnProblem& p) const { return {p.src}; }
        List operator()(const TransformProblem& p) const { return {p.src}; }
    };
    return std::visit(Sources{}, problem);
}

// Runs one algorithm; false when a buffer would be large.
bool execute_guarded(const Problem& problem, const std::string& algorithm) {
    const auto plan = make_plan(context(), problem, {.algorithm = algorithm});
    const PlanInfo& info = plan->info();
    if (!is_small(dst_of(problem)) || info.workspace_bytes > 4000000 || info.weights_bytes > 200000 ||
        info.packed_bytes > 4000000)
        return false;
    std::vector<Guarded> buffers;
    for (const TensorDesc& desc : sources_of(problem)) {
        if (!is_small(desc)) return false;
        buffers.emplace_back(desc);
        std::memset(buffers.back().data(), 0, desc.bytes());
    }
    std::vector<const void*> sources;
    for (Guarded& buffer : buffers) sources.push_back(buffer.desc().bytes() == 0 ? nullptr : buffer.data());
    Workspace workspace(info.workspace_bytes), packed(info.packed_bytes);
    const std::vector<float> weights(info.weights_bytes / sizeof(float));
    Guarded dst(dst_of(problem));
    if (info.weights_bytes > 0) plan->pack_weights(weights.data(), packed.data());
    execute(*plan, context(),
            {.sources = sources,
             .weights = packed.data(),
             .dst = dst.data(),
             .workspace = workspace.data(),
             .workspace_bytes = workspace.bytes()});
    EXPECT_EQ(dst.damage(), "") << operation_name(problem) << " by " << algorithm;
    EXPECT_TRUE(workspace.intact()) << operation_name(problem) << " by " << algorithm;
    EXPECT_TRUE(packed.intact()) << operation_name(problem) << " by " << algorithm;
    return true;
}

// What the library says of a well-formed problem, and every algorithm run where the problem is small.
void run_all(const Problem& problem, Dice& dice, FuzzOutcome& outcome) {
    for (const Candidate& row : candidates(context(), problem)) {
        if (!row.applicable) {
            EXPECT_NE(row.reason, "");
            continue;
        }
        if (execute_guarded(problem, row.algorithm)) ++outcome.executed;
    }
    PlanOptions options;
    options.workspace_limit = dice.one_in(2) ? static_cast<std::size_t>(dice.below(100000)) : SIZE_MAX;
    options.precision = static_cast<Precision>(dice.below(4));
    try {
        const auto plan = make_plan(context(), problem, options);
        EXPECT_LE(plan->info().workspace_bytes, options.workspace_limit);
        EXPECT_EQ(heuristic(context(), problem, options).at(0).algorithm, plan->info().algorithm);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::not_supported) << error.what();
    }
}

// The same through the C interface: it takes what the C++ one takes, and refuses the rest in the same words.
void compare_with_c(const Problem& problem, const std::string& refusal) {
    convlens_problem* made = nullptr;
    const convlens_status status = create_from_c(problem, &made);
    EXPECT_EQ(status, refusal.empty() ? CONVLENS_SUCCESS : CONVLENS_BAD_PARAMETER) << refusal;
    EXPECT_EQ(made != nullptr, refusal.empty());
    if (!refusal.empty()) {
        EXPECT_EQ(refusal, convlens_last_error());
    }
    EXPECT_EQ(convlens_problem_destroy(made), CONVLENS_SUCCESS);
}

// Bytes of the struct overwritten with anything: a status comes out, and what was accepted can be asked
// about.
void spoil_struct(const Problem& problem, Dice& dice) {
    convlens_problem* made = nullptr;
    const auto spoil = [&](std::byte* desc, std::size_t size) {
        for (std::int64_t i = 1 + dice.below(8); i > 0; --i)
            desc[dice.below(static_cast<std::int64_t>(size))] = static_cast<std::byte>(dice.next());
    };
    const convlens_status status = std::visit(CreateFromC{&made, spoil}, problem);
    EXPECT_EQ(made != nullptr, status == CONVLENS_SUCCESS);
    if (status != CONVLENS_SUCCESS) {
        EXPECT_STRNE(convlens_last_error(), "");
    }
    std::size_t count = 0;
    EXPECT_EQ(convlens_problem_source_count(made, &count), made ? CONVLENS_SUCCESS : CONVLENS_BAD_PARAMETER);
    for (std::size_t i = 0; i < count; ++i) {
        convlens_tensor source;
        std::int32_t absent = 0;
        EXPECT_EQ(convlens_problem_source(made, i, &source, &absent), CONVLENS_SUCCESS);
    }
    EXPECT_EQ(convlens_problem_destroy(made), CONVLENS_SUCCESS);
}

std::string refusal_of(const Problem& problem) {
    try {
        check(problem);
        return {};
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::bad_parameter) << error.what();
        EXPECT_STRNE(error.what(), "");
        return error.what();
    }
}

}  // namespace

FuzzOutcome fuzz_one(std::span<const std::uint8_t> bytes) {
    Dice dice(bytes);
    constexpr std::int64_t hostilities[] = {6, 60, 100000};
    dice.set_hostility(hostilities[dice.below(3)]);
    FuzzOutcome outcome;
    try {
        const Problem problem = random_problem(dice);
        outcome.operation = problem.index();
        EXPECT_EQ(to_text(problem).find('\n'), std::string::npos);
        const std::string refusal = refusal_of(problem);
        outcome.accepted = refusal.empty();
        if (outcome.accepted) try {
                run_all(problem, dice, outcome);
            } catch (const Error& error) {
                ADD_FAILURE() << operation_name(problem) << " is well formed, but: " << error.what();
            }
        compare_with_c(problem, refusal);
        spoil_struct(problem, dice);
    } catch (const Error& error) {  // dims that the C++ interface can't even hold
        EXPECT_EQ(error.status(), Status::bad_parameter) << error.what();
    }
    return outcome;
}

}  // namespace convlens::test
