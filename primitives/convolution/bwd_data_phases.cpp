#include "primitives/convolution/bwd_data_phases.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "primitives/aligned_buffer.h"
#include "primitives/rows.h"
#include "primitives/scale.h"

namespace convlens {
namespace {

// One residue of one axis: dst cells first, first + stride, ..., and the src cells and taps that reach them.
struct AxisPhase {
    std::int64_t first = 0, length = 0;            // of dst, in steps of the stride
    std::int64_t taps = 0, tap = 0, tap_step = 0;  // in the order in which src is read
    std::int64_t src_first = 0, src_length = 0;
    std::int64_t pad_begin = 0, pad_end = 0, dilation = 1;
    bool reached() const { return taps > 0 && src_length > 0; }
};

// Cells of the axis: dst (the forward src) has `dst`, src (the forward dst) has `src`.
AxisPhase axis_phase(std::int64_t dst, std::int64_t src, std::int64_t window, std::int64_t pad,
                     std::int64_t stride, std::int64_t dilation, std::int64_t first) {
    AxisPhase phase;
    phase.first = first;
    phase.length = (dst - first + stride - 1) / stride;
    const std::int64_t common = std::gcd(stride, dilation), step = stride / common;
    std::int64_t tap = 0;
    while (tap < std::min(window, step) && (first + pad - tap * dilation) % stride != 0) ++tap;
    if (tap >= std::min(window, step)) return phase;
    phase.taps = (window - 1 - tap) / step + 1;
    phase.dilation = dilation / common;
    // dst cell i reads src[start + i - j * dilation] through tap + j * step: backwards, so the last tap is
    // first.
    const std::int64_t start = (first + pad - tap * dilation) / stride;
    phase.tap = tap + (phase.taps - 1) * step;
    phase.tap_step = -step;
    const std::int64_t reach = (phase.taps - 1) * phase.dilation;
    phase.pad_begin = reach - start;
    phase.src_first = std::max<std::int64_t>(0, -phase.pad_begin);
    phase.pad_begin = std::max<std::int64_t>(0, phase.pad_begin);
    phase.src_length = src - phase.src_first;
    phase.pad_end = phase.length + reach - phase.src_length - phase.pad_begin;
    phase.src_length += std::min<std::int64_t>(0, phase.pad_end);
    phase.pad_end = std::max<std::int64_t>(0, phase.pad_end);
    return phase;
}

DataPhase phase_of(const ConvolutionBwdDataProblem& p, const std::vector<AxisPhase>& axes) {
    DataPhase phase;
    ConvolutionProblem& f = phase.problem;
    f.src = p.src;
    f.dst = p.dst;
    f.weights = {p.dst.dims[1], p.weights[0] / p.groups};
    f.groups = p.groups;
    f.mode = ConvolutionMode::cross_correlation;
    f.alpha = p.alpha;
    f.beta = p.beta;
    const int rank = static_cast<int>(axes.size());
    f.window = WindowDesc::unit(rank);
    for (int i = 0; i < rank; ++i) {
        const AxisPhase& a = axes[static_cast<std::size_t>(i)];
        const std::int64_t stride = p.window.strides[i];
        f.dst.offset += a.first * f.dst.strides[i + 2];
        f.dst.strides[i + 2] *= stride;
        f.dst.dims[i + 2] = a.length;
        f.src.offset += a.src_first * f.src.strides[i + 2];
        f.src.dims[i + 2] = a.src_length;
        f.weights.push_back(a.taps);
        f.window.pads_begin[i] = a.pad_begin;
        f.window.pads_end[i] = a.pad_end;
        f.window.dilations[i] = a.dilation;
        phase.taps.push_back({a.tap, a.tap_step});
    }
    return phase;
}

}  // namespace

std::string reject_data_phases(const ConvolutionBwdDataProblem& problem) {
    std::int64_t count = 1;
    for (int i = 0; i < problem.window.rank(); ++i) {
        count *= std::min(problem.window.strides[i], problem.dst.dims[i + 2]);
        if (count > most_data_phases)
            return "the strides make more than " + std::to_string(most_data_phases) +
                   " phases, a convolution each";
    }
    return {};
}

DataPhases data_phases(const ConvolutionBwdDataProblem& p) {
    DataPhases result;
    const int rank = p.window.rank();
    std::vector<std::int64_t> first(static_cast<std::size_t>(rank), 0);
    while (true) {
        std::vector<AxisPhase> axes;
        for (int i = 0; i < rank; ++i)
            axes.push_back(axis_phase(p.dst.dims[i + 2], p.src.dims[i + 2], p.weights[i + 2],
                                      p.window.pads_begin[i], p.window.strides[i], p.window.dilations[i],
                                      first[static_cast<std::size_t>(i)]));
        DataPhase phase = phase_of(p, axes);
        if (std::all_of(axes.begin(), axes.end(), [](const AxisPhase& a) { return a.reached(); }))
            result.phases.push_back(std::move(phase));
        else
            result.unreached.push_back(phase.problem.dst);
        int axis = rank - 1;
        for (; axis >= 0; --axis) {
            auto& at = first[static_cast<std::size_t>(axis)];
            if (++at < std::min(p.window.strides[axis], p.dst.dims[axis + 2])) break;
            at = 0;
        }
        if (axis < 0) return result;
    }
}

void pack_phase_weights(const ConvolutionBwdDataProblem& p, const DataPhase& phase, const void* plain,
                        void* out) {
    const std::size_t size = size_of(p.src.type);
    const std::int64_t channels = p.weights[1], outputs = p.weights[0] / p.groups;
    std::int64_t all_taps = 1, taps = 1;
    for (int i = 2; i < p.weights.rank(); ++i) {
        all_taps *= p.weights[i];
        taps *= phase.problem.weights[i];
    }
    // Where each tap of the phase stands among the taps of the plain filter.
    std::vector<std::int64_t> place(static_cast<std::size_t>(taps));
    for (std::int64_t tap = 0; tap < taps; ++tap) {
        std::int64_t rest = tap, at = 0, scale = 1;
        for (int axis = p.weights.rank() - 1; axis >= 2; --axis) {
            const PhaseTaps& t = phase.taps[static_cast<std::size_t>(axis - 2)];
            const std::int64_t length = p.weights[axis];
            std::int64_t index = t.first + rest % phase.problem.weights[axis] * t.step;
            if (p.mode == ConvolutionMode::convolution) index = length - 1 - index;
            at += index * scale;
            scale *= length;
            rest /= phase.problem.weights[axis];
        }
        place[static_cast<std::size_t>(tap)] = at;
    }
    const auto* from = static_cast<const std::byte*>(plain);
    auto* to = static_cast<std::byte*>(out);
    for (std::int64_t c = 0; c < channels * p.groups; ++c)
        for (std::int64_t k = 0; k < outputs; ++k) {
            const std::int64_t filter = (c / channels * outputs + k) * channels + c % channels;
            for (const std::int64_t at : place) {
                std::memcpy(to, from + static_cast<std::size_t>(filter * all_taps + at) * size, size);
                to += size;
            }
        }
}

namespace {

class BwdDataPlan final : public Plan {
  public:
    struct Part {
        DataPhase phase;
        std::unique_ptr<Plan> plan;
        std::size_t packed_at = 0;
    };
    BwdDataPlan(const ConvolutionBwdDataProblem& problem, PlanInfo info, std::vector<Part> parts,
                std::vector<TensorDesc> unreached)
        : Plan(problem, std::move(info)),
          parts_(std::move(parts)),
          unreached_(std::move(unreached)),
          beta_(problem.beta) {
        apply_scales();  // the phases do
    }

  private:
    void pack_impl(const void* weights, void* packed) const override {
        const auto& p = std::get<ConvolutionBwdDataProblem>(problem());
        for (const Part& part : parts_) {
            const AlignedBuffer plain(part.plan->info().weights_bytes);
            pack_phase_weights(p, part.phase, weights, plain.data());
            part.plan->pack_weights(plain.data(), static_cast<std::byte*>(packed) + part.packed_at);
        }
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        for (const TensorDesc& view : unreached_)
            if (beta_ != 1 && !view.is_empty()) scale(context, view, beta_, args.dst);
        for (const Part& part : parts_) {
            ExecuteArgs own = args;
            own.weights = static_cast<const std::byte*>(args.weights) + part.packed_at;
            part.plan->execute(context, own);
        }
    }
    std::vector<Part> parts_;
    std::vector<TensorDesc> unreached_;
    float beta_;
};

}  // namespace

std::string reject_bwd_data(const ForwardRow& row, const ConvolutionBwdDataProblem& problem,
                            const Context& context) {
    if (auto reason = reject_data_phases(problem); !reason.empty()) return reason;
    if (!is_floating_point(problem.dst.type))
        return std::string("only floating-point types are supported, not ") + to_string(problem.dst.type);
    for (const DataPhase& phase : data_phases(problem).phases)
        if (auto reason = row.reject(phase.problem, context); !reason.empty()) return reason;
    return {};
}

bool bwd_data_preferred(const ForwardRow& row, const ConvolutionBwdDataProblem& problem,
                        const Context& context) {
    const DataPhases all = data_phases(problem);
    const DataPhase* largest = nullptr;
    double most = -1;
    for (const DataPhase& phase : all.phases)
        if (const double flops = direct_work(phase.problem).flops; flops > most) {
            most = flops;
            largest = &phase;
        }
    return largest == nullptr || row.preferred(largest->problem, context);
}

std::unique_ptr<Plan> make_bwd_data(const ForwardRow& row, const ConvolutionBwdDataProblem& problem,
                                    const Context& context, PlanInfo info) {
    DataPhases all = data_phases(problem);
    std::vector<BwdDataPlan::Part> parts;
    info.packed_bytes = 0;
    info.work.executed_flops = 0;
    for (DataPhase& phase : all.phases) {
        BwdDataPlan::Part part;
        part.plan = row.make(phase.problem, context,
                             base_info(phase.problem, context, row.name, row.error_class, row.deterministic));
        part.phase = std::move(phase);
        part.packed_at = info.packed_bytes;
        info.packed_bytes += (part.plan->info().packed_bytes + 255) / 256 * 256;
        info.workspace_bytes = std::max(info.workspace_bytes, part.plan->info().workspace_bytes);
        info.work.executed_flops += part.plan->info().work.executed_flops;
        parts.push_back(std::move(part));
    }
    return std::make_unique<BwdDataPlan>(problem, std::move(info), std::move(parts),
                                         std::move(all.unreached));
}

}  // namespace convlens
