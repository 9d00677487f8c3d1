// All directions of one convolution in double precision by its definition, and a run of one algorithm of any
// direction in poisoned, guarded memory, for every floating-point type. Shares no index code with the
// library: every tensor is a dense array in logical order, and one loop over all products serves the three
// directions.
#pragma once

#include "kernels/common/element.h"
#include "tests/primitives/reference_convolution.h"

namespace convlens::test {

enum class Direction { fwd, bwd_data, bwd_filter };

// A convolution and the factors of its result; the gradients' shapes follow from it.
struct Case {
    ConvolutionProblem forward;
    float alpha = 1, beta = 0;
};

// What one output is, and the sum of the magnitudes that enter it.
using Reference = ConvolutionReference;

// visit(element of src, of the filter, of dst): every product of the convolution.
template <class Visit>
void each_product(const ConvolutionProblem& p, const Visit& visit) {
    const int axes = p.src.rank() - 2;
    const Index Cg = p.weights[1], K = p.weights[0], Kg = K / p.groups;
    Index cells = 1, taps = 1, places = 1;
    for (int i = 2; i < axes + 2; ++i) cells *= p.dst.dims[i], taps *= p.weights[i], places *= p.src.dims[i];
    for (Index cell = 0; cell < cells; ++cell)
        for (Index tap = 0; tap < taps; ++tap) {
            // Row-major positions to one index an axis, and to a place in src.
            Index c = cell, t = tap, place = 0, file_tap = 0, step = 1, file_step = 1;
            bool inside = true;
            for (int i = axes - 1; i >= 0; --i) {
                const Index out = c % p.dst.dims[i + 2], r = t % p.weights[i + 2];
                c /= p.dst.dims[i + 2], t /= p.weights[i + 2];
                const Index in =
                    out * p.window.strides[i] - p.window.pads_begin[i] + r * p.window.dilations[i];
                inside = inside && in >= 0 && in < p.src.dims[i + 2];
                place += in * step;
                step *= p.src.dims[i + 2];
                file_tap +=
                    (p.mode == ConvolutionMode::convolution ? p.weights[i + 2] - 1 - r : r) * file_step;
                file_step *= p.weights[i + 2];
            }
            if (!inside) continue;
            for (Index n = 0; n < p.src.dims[0]; ++n)
                for (Index k = 0; k < K; ++k)
                    for (Index channel = 0; channel < Cg; ++channel)
                        visit(static_cast<std::size_t>((n * p.src.dims[1] + k / Kg * Cg + channel) * places +
                                                       place),
                              static_cast<std::size_t>((k * Cg + channel) * taps + file_tap),
                              static_cast<std::size_t>((n * K + k) * cells + cell));
        }
}

// Dense values of src, filter and dst; in each direction two of them are given.
struct DirectionData {
    std::vector<double> src, filter, dst;
    std::vector<double> old;  // of the result, where beta is not 0
};

inline Dims result_dims(const ConvolutionProblem& p, Direction direction) {
    return direction == Direction::fwd        ? p.dst.dims
           : direction == Direction::bwd_data ? p.src.dims
                                              : p.weights;
}

inline Reference reference_direction(const Case& c, Direction direction, const DirectionData& data) {
    Reference out;
    const auto count = static_cast<std::size_t>(result_dims(c.forward, direction).product());
    out.value.assign(count, 0);
    out.scale.assign(count, 0);
    each_product(c.forward, [&](std::size_t src, std::size_t filter, std::size_t dst) {
        const auto add = [&](std::size_t at, double a, double b) {
            out.value[at] += a * b;
            out.scale[at] += std::fabs(a * b);
        };
        if (direction == Direction::fwd) add(dst, data.src[src], data.filter[filter]);
        if (direction == Direction::bwd_data) add(src, data.dst[dst], data.filter[filter]);
        if (direction == Direction::bwd_filter) add(filter, data.src[src], data.dst[dst]);
    });
    for (std::size_t i = 0; i < count; ++i) {
        out.value[i] *= c.alpha;
        out.scale[i] *= std::fabs(c.alpha);
        if (c.beta == 0) continue;
        out.value[i] += c.beta * data.old[i];
        out.scale[i] += std::fabs(c.beta * data.old[i]);
    }
    return out;
}

// Terms of the longest sum of a direction.
inline double longest_sum(const ConvolutionProblem& p, Direction direction) {
    double taps = 1, cells = 1;
    for (int i = 2; i < p.src.rank(); ++i) {
        taps *= static_cast<double>(p.weights[i]);
        cells *= static_cast<double>(p.dst.dims[i]);
    }
    if (direction == Direction::fwd) return static_cast<double>(p.weights[1]) * taps;
    if (direction == Direction::bwd_data) return static_cast<double>(p.weights[0] / p.groups) * taps;
    return static_cast<double>(p.src.dims[0]) * cells;
}

inline double direction_tolerance(double terms, ErrorClass error_class, DataType type, double scale,
                                  double value) {
    if (type == DataType::f64) return 2e-16 * (3 + std::sqrt(terms)) * scale + 1e-300;
    const double factor = error_class == ErrorClass::winograd ? 60.0 : 1.0;
    const double rounding = error_class == ErrorClass::tf32   ? 0x1p-10
                            : error_class == ErrorClass::fp16 ? 0x1p-10
                            : error_class == ErrorClass::bf16 ? 0x1p-7
                                                              : 0;
    // Data of 16 bits are exact operands already; only the result is rounded.
    const bool narrow = type == DataType::f16 || type == DataType::bf16;
    const double last = type == DataType::f16 ? 0x1p-11 : type == DataType::bf16 ? 0x1p-8 : 0;
    const double least = type == DataType::f16             ? 0x1p-24
                         : error_class == ErrorClass::fp16 ? terms * 0x1p-24
                                                           : 0;
    return (factor * 6e-8 * (3 + std::sqrt(terms)) * (narrow ? 2 : 1) + (narrow ? 0 : rounding)) * scale +
           last * std::fabs(value) + least + 1e-30;
}

inline double round_to(DataType type, double value) {
    if (type == DataType::f16) return kernels::to_float(kernels::half_from(static_cast<float>(value)));
    if (type == DataType::bf16) return kernels::to_float(kernels::bfloat16_from(static_cast<float>(value)));
    return type == DataType::f64 ? value : static_cast<float>(value);
}

inline DirectionData random_direction_data(const Case& c, Direction direction, DataType type, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto fill = [&](std::vector<double>& v, Index count) {
        v.resize(static_cast<std::size_t>(count));
        for (double& x : v) x = round_to(type, uniform(generator));
    };
    DirectionData data;
    fill(data.src, c.forward.src.elements());
    fill(data.filter, c.forward.weights.product());
    fill(data.dst, c.forward.dst.elements());
    if (c.beta != 0) fill(data.old, result_dims(c.forward, direction).product());
    return data;
}

// The problem of a direction; `filter` describes the filter gradient.
inline Problem problem_of(const Case& c, Direction direction, const TensorDesc& filter) {
    const ConvolutionProblem& f = c.forward;
    if (direction == Direction::bwd_data)
        return ConvolutionBwdDataProblem{f.dst,    f.weights, f.src,   f.window,
                                         f.groups, f.mode,    c.alpha, c.beta};
    if (direction == Direction::bwd_filter)
        return ConvolutionBwdFilterProblem{f.src, f.dst, filter, f.window, f.groups, f.mode, c.alpha, c.beta};
    ConvolutionProblem p = f;
    p.alpha = c.alpha;
    p.beta = c.beta;
    return p;
}

// Typed memory behind a descriptor: guarded, one element off any larger alignment, gaps are 0xFF bytes.
class TypedTensor {
  public:
    TypedTensor(const TensorDesc& desc, const std::vector<double>* dense)
        : desc_(desc), memory_(desc.bytes(), 0xFF, size_of(desc.type)) {
        if (dense != nullptr)
            each_element(desc, [&](std::size_t at, std::size_t i) {
                kernels::store_element(element(), memory_.data(), static_cast<Index>(at), (*dense)[i]);
            });
    }
    void* data() { return memory_.data(); }
    bool intact() const { return memory_.guards_intact(); }
    std::vector<double> dense() {
        std::vector<double> values(static_cast<std::size_t>(desc_.elements()));
        each_element(desc_, [&](std::size_t at, std::size_t i) {
            values[i] = kernels::load_element(element(), memory_.data(), static_cast<Index>(at));
        });
        return values;
    }
    bool gaps_untouched() {
        const std::size_t size = size_of(desc_.type);
        std::vector<bool> used(memory_.bytes() / size);
        each_element(desc_, [&](std::size_t at, std::size_t) { used[at] = true; });
        const auto* bytes = memory_.as<unsigned char>();
        for (std::size_t i = 0; i < memory_.bytes(); ++i)
            if (!used[i / size] && bytes[i] != 0xFF) return false;
        return true;
    }

  private:
    kernels::ElementType element() const { return static_cast<kernels::ElementType>(desc_.type); }
    TensorDesc desc_;
    GuardedBuffer memory_;
};

inline std::vector<double> run_direction(Context& context, const Case& c, Direction direction,
                                         const TensorDesc& filter, const std::string& algorithm,
                                         const DirectionData& data, unsigned char workspace_fill = 0xFF) {
    const Problem problem = problem_of(c, direction, filter);
    const auto plan = make_plan(context, problem, {.algorithm = algorithm});
    const PlanInfo& info = plan->info();
    const DataType type = c.forward.src.type;
    const auto given = [](const std::vector<double>& values) { return values.empty() ? nullptr : &values; };
    TypedTensor weights(TensorDesc::packed(c.forward.weights, type), given(data.filter));
    GuardedBuffer packed(info.packed_bytes, 0xFF), workspace(info.workspace_bytes, workspace_fill);
    if (direction != Direction::bwd_filter) plan->pack_weights(weights.data(), packed.data());
    TypedTensor src(c.forward.src, given(data.src)), dst(c.forward.dst, given(data.dst));
    const TensorDesc desc = std::visit([](const auto& p) { return p.dst; }, problem);
    TypedTensor result(desc, c.beta != 0 ? &data.old : nullptr);
    std::vector<const void*> sources;
    if (direction != Direction::bwd_data) sources.push_back(src.data());
    if (direction != Direction::fwd) sources.push_back(dst.data());
    execute(*plan, context,
            {sources, info.packed_bytes ? packed.data() : nullptr, result.data(),
             info.workspace_bytes ? workspace.data() : nullptr, info.workspace_bytes});
    EXPECT_TRUE(result.intact()) << algorithm << ": beside dst";
    EXPECT_TRUE(result.gaps_untouched()) << algorithm << ": a gap of dst was written";
    EXPECT_TRUE(workspace.guards_intact() && packed.guards_intact()) << algorithm << ": workspace or weights";
    return result.dense();
}

inline std::string text_of(const Problem& problem) {
    return std::visit(
        [](const auto& p) {
            std::string text;
            if constexpr (requires { p.src; }) text += "src " + p.src.text();
            if constexpr (requires { p.diff; }) text += " diff " + p.diff.text();
            if constexpr (requires { p.weights; }) text += " weights " + p.weights.text();
            text += " dst " + p.dst.text();
            if constexpr (requires { p.window; })
                text += " strides " + p.window.strides.text() + " pads " + p.window.pads_begin.text() + "/" +
                        p.window.pads_end.text() + " dilations " + p.window.dilations.text();
            if constexpr (requires { p.groups; }) text += " groups " + std::to_string(p.groups);
            if constexpr (requires { p.beta; })
                text += " alpha " + std::to_string(p.alpha) + " beta " + std::to_string(p.beta);
            return text;
        },
        problem);
}

// Every applicable row of a direction against the reference. Returns how many there were.
inline int check_direction(Context& context, const Case& c, Direction direction, unsigned seed,
                           const TensorDesc& filter) {
    const DataType type = c.forward.src.type;
    const DirectionData data = random_direction_data(c, direction, type, seed);
    const Reference reference = reference_direction(c, direction, data);
    const Problem problem = problem_of(c, direction, filter);
    const DataType result_type = std::visit([](const auto& p) { return p.dst.type; }, problem);
    const double terms = longest_sum(c.forward, direction);
    int count = 0;
    for (const Candidate& candidate : candidates(context, problem)) {
        if (!candidate.applicable) {
            EXPECT_FALSE(candidate.reason.empty()) << candidate.algorithm;
            continue;
        }
        ++count;
        const auto result = run_direction(context, c, direction, filter, candidate.algorithm, data);
        const double mixed = fft_tolerance(reference.scale);
        for (std::size_t i = 0; i < result.size(); ++i) {
            double bound = direction_tolerance(terms, candidate.error_class, result_type, reference.scale[i],
                                               reference.value[i]);
            if (candidate.error_class == ErrorClass::fft) bound += mixed;
            if (std::fabs(result[i] - reference.value[i]) <= bound) continue;
            ADD_FAILURE() << operation_name(problem) << " by " << candidate.algorithm << ", "
                          << text_of(problem) << ": element " << i << " is " << result[i] << ", should be "
                          << reference.value[i] << " within " << bound;
            break;
        }
    }
    return count;
}

inline int check_direction(Context& context, const Case& c, Direction direction, unsigned seed) {
    return check_direction(context, c, direction, seed,
                           TensorDesc::packed(c.forward.weights, c.forward.src.type));
}

}  // namespace convlens::test
