#include <algorithm>
#include <cmath>

#include "app/network/program.h"

namespace convlens::network {

namespace {

// A rewrite pass over a program: who makes and reads each tensor is kept up to date.
class Fusion {
  public:
    explicit Fusion(Program& program)
        : program_(program), uses_(uses_of(program)), gone_(program.operations.size(), false) {}

    void run() {
        const std::size_t count = program_.operations.size();
        for (std::size_t i = 0; i < count; ++i) find_swish(i);
        for (std::size_t i = 0; i < count; ++i)
            if (!gone_[i]) fold_affine(i);
        for (std::size_t i = 0; i < count; ++i)
            if (!gone_[i]) fuse_residual(i);
        for (std::size_t i = 0; i < count; ++i)
            if (!gone_[i]) fuse_activation(i);
        std::vector<Operation> kept;
        for (std::size_t i = 0; i < count; ++i)
            if (!gone_[i]) kept.push_back(std::move(program_.operations[i]));
        program_.operations = std::move(kept);
    }

  private:
    Operation& at(int i) { return program_.operations[static_cast<std::size_t>(i)]; }
    const Dims& dims(int tensor) const { return program_.tensors[static_cast<std::size_t>(tensor)].dims; }

    // The maker of a tensor that only operation `reader` sees; -1 when others or the user see it too.
    int private_maker(int tensor, std::size_t reader) const {
        if (tensor < 0) return -1;
        const auto t = static_cast<std::size_t>(tensor);
        if (program_.tensors[t].is_output || program_.tensors[t].is_input) return -1;
        for (const int r : uses_.readers[t])
            if (r != static_cast<int>(reader)) return -1;
        if (uses_.readers[t].size() != 1) return -1;
        return uses_.maker[t];
    }

    // `into` takes over the output of `absorbed`, which vanishes.
    void absorb(int into, int absorbed) {
        Operation &keep = at(into), &drop = at(absorbed);
        keep.fused.push_back(drop.name);
        keep.fused.insert(keep.fused.end(), drop.fused.begin(), drop.fused.end());
        keep.output = drop.output;
        uses_.maker[static_cast<std::size_t>(drop.output)] = into;
        gone_[static_cast<std::size_t>(absorbed)] = true;
    }

    void find_swish(std::size_t i) {
        const auto* mul = std::get_if<ElementwiseProblem>(&program_.operations[i].problem);
        if (mul == nullptr || program_.operations[i].is_reshape || mul->kind != ElementwiseKind::mul) return;
        for (const std::size_t side : {0u, 1u}) {
            const int gate = program_.operations[i].sources[side].tensor;
            const int x = program_.operations[i].sources[1 - side].tensor;
            const int maker = private_maker(gate, i);
            if (maker < 0 || x < 0 || at(maker).is_reshape || at(maker).sources[0].tensor != x) continue;
            const auto* sigmoid = std::get_if<ActivationProblem>(&at(maker).problem);
            if (sigmoid == nullptr || dims(x) != dims(program_.operations[i].output)) continue;
            const ActivationDesc& a = sigmoid->activation;
            ActivationProblem swish;
            swish.src = swish.dst = sigmoid->src;
            if (a.kind == ActivationKind::sigmoid)
                swish.activation = {ActivationKind::swish, 1.0f, 0.0f};
            else if (a.kind == ActivationKind::hard_sigmoid && std::fabs(a.alpha - 1.0f / 6) < 1e-7f &&
                     a.beta == 0.5f)
                swish.activation = {ActivationKind::hard_swish, 0.0f, 0.0f};
            else
                continue;
            Operation& operation = program_.operations[i];
            operation.problem = swish;
            operation.sources = {Operand::of(x)};
            operation.output_view = {};
            operation.fused.push_back(at(maker).name);
            gone_[static_cast<std::size_t>(maker)] = true;
            // x is now read once by this operation: its readers were the gate's maker and the product.
            auto& readers = uses_.readers[static_cast<std::size_t>(x)];
            std::erase_if(readers, [&](int r) { return r == maker || r == static_cast<int>(i); });
            readers.push_back(static_cast<int>(i));
            return;
        }
    }

    // A constant that holds one value a channel (axis 1) or one for all, as a list of `channels`.
    static std::optional<std::vector<double>> by_channel(const Constant& constant, int rank,
                                                         std::int64_t channels) {
        const int lead = rank - constant.dims.rank();
        if (lead < 0) return std::nullopt;
        for (int i = 0; i < constant.dims.rank(); ++i)
            if (constant.dims[i] != 1 && (i + lead != 1 || constant.dims[i] != channels)) return std::nullopt;
        std::vector<double> values;
        const bool one = constant.elements() == 1;
        for (std::int64_t c = 0; c < channels; ++c)
            values.push_back(static_cast<double>(constant.as_float(one ? 0 : c)));
        return values;
    }

    struct Affine {
        int tensor = -1;
        std::vector<double> scale, shift;
    };

    // y = scale * x + shift by channel, when the operation is that.
    std::optional<Affine> affine_of(const Operation& operation) const {
        if (operation.is_reshape) return std::nullopt;
        const Dims& out = dims(operation.output);
        if (out.rank() < 2) return std::nullopt;
        const std::int64_t channels = out[1];
        const auto count = static_cast<std::size_t>(channels);
        Affine affine;
        if (const auto* bn = std::get_if<BatchNormalizationProblem>(&operation.problem)) {
            affine.tensor = operation.sources[0].tensor;
            for (std::int64_t c = 0; c < channels; ++c) {
                const auto value = [&](std::size_t i) {
                    return static_cast<double>(operation.sources[i].constant->as_float(c));
                };
                const double scale = value(1) / std::sqrt(value(4) + static_cast<double>(bn->epsilon));
                affine.scale.push_back(scale);
                affine.shift.push_back(value(2) - value(3) * scale);
            }
            return affine;
        }
        const auto* e = std::get_if<ElementwiseProblem>(&operation.problem);
        if (e == nullptr || is_unary(e->kind)) return std::nullopt;
        const bool constant_first = operation.sources[0].constant != nullptr;
        const Operand& x = operation.sources[constant_first ? 1 : 0];
        const Operand& c = operation.sources[constant_first ? 0 : 1];
        if (x.tensor < 0 || !c.constant || dims(x.tensor) != out) return std::nullopt;
        const auto values = by_channel(*c.constant, out.rank(), channels);
        if (!values) return std::nullopt;
        affine.tensor = x.tensor;
        affine.scale.assign(count, 1.0);
        affine.shift.assign(count, 0.0);
        for (std::size_t i = 0; i < count; ++i) {
            const double v = (*values)[i];
            if (e->kind == ElementwiseKind::mul)
                affine.scale[i] = v;
            else if (e->kind == ElementwiseKind::div && !constant_first)
                affine.scale[i] = 1.0 / v;
            else if (e->kind == ElementwiseKind::add)
                affine.shift[i] = v;
            else if (e->kind == ElementwiseKind::sub) {
                affine.scale[i] = constant_first ? -1.0 : 1.0;
                affine.shift[i] = constant_first ? v : -v;
            } else {
                return std::nullopt;
            }
        }
        return affine;
    }

    static bool has_bias(const Problem& problem) {
        return std::visit(
            [](const auto& p) {
                if constexpr (requires { p.has_bias; })
                    return p.has_bias;
                else
                    return false;
            },
            problem);
    }
    static bool has_residual(const Problem& problem) {
        return std::visit(
            [](const auto& p) {
                if constexpr (requires { p.has_residual; })
                    return p.has_residual;
                else
                    return false;
            },
            problem);
    }
    static bool has_weights(const Operation& operation) { return operation.weights.constant != nullptr; }
    static bool is_plain(Operation& operation) {
        const ActivationDesc* activation = activation_of(operation.problem);
        return !operation.is_reshape && activation != nullptr &&
               activation->kind == ActivationKind::identity && !has_residual(operation.problem);
    }

    void fold_affine(std::size_t i) {
        const auto affine = affine_of(program_.operations[i]);
        if (!affine) return;
        const int maker = private_maker(affine->tensor, i);
        if (maker < 0) return;
        Operation& before = at(maker);
        if (!is_plain(before)) return;
        const std::size_t channels = affine->scale.size();
        if (std::any_of(affine->scale.begin(), affine->scale.end(),
                        [](double s) { return !std::isfinite(s); }))
            return;
        const auto update = [&](const ConstantPtr& old, bool with_shift) {
            std::vector<float> values(channels);
            for (std::size_t c = 0; c < channels; ++c) {
                const double value =
                    old ? static_cast<double>(old->as_float(static_cast<std::int64_t>(c))) : 0.0;
                values[c] =
                    static_cast<float>(value * affine->scale[c] + (with_shift ? affine->shift[c] : 0.0));
            }
            return Constant::of_floats({static_cast<std::int64_t>(channels)}, std::move(values));
        };
        if (std::holds_alternative<BatchNormalizationProblem>(before.problem)) {
            before.sources[1].constant = update(before.sources[1].constant, false);
            before.sources[2].constant = update(before.sources[2].constant, true);
        } else if (has_weights(before)) {
            auto& scale = before.weights.scale;
            if (scale.empty()) scale.assign(channels, 1.0);
            for (std::size_t c = 0; c < channels; ++c) scale[c] *= affine->scale[c];
            const ConstantPtr old = has_bias(before.problem) ? before.sources[1].constant : nullptr;
            before.sources[1] = {-1, update(old, true), {}};
            std::visit(
                [](auto& p) {
                    if constexpr (requires { p.has_bias; }) p.has_bias = true;
                },
                before.problem);
        } else {
            return;
        }
        absorb(maker, static_cast<int>(i));
    }

    void fuse_residual(std::size_t i) {
        Operation& add = program_.operations[i];
        const auto* e = std::get_if<ElementwiseProblem>(&add.problem);
        if (add.is_reshape || e == nullptr || e->kind != ElementwiseKind::add) return;
        const int a = add.sources[0].tensor, b = add.sources[1].tensor;
        if (a < 0 || b < 0 || a == b || dims(a) != dims(add.output) || dims(b) != dims(add.output)) return;
        int best = -1, other = -1;
        for (const auto& [tensor, rest] : {std::pair(a, b), std::pair(b, a)}) {
            const int maker = private_maker(tensor, i);
            if (maker <= best || !is_plain(at(maker))) continue;
            const Problem& problem = at(maker).problem;
            if (!std::holds_alternative<ConvolutionProblem>(problem) &&
                !std::holds_alternative<FullyConnectedProblem>(problem))
                continue;
            best = maker;
            other = rest;
        }
        if (best < 0) return;
        Operation fused = std::move(at(best));
        fused.sources[2] = Operand::of(other);
        std::visit(
            [](auto& p) {
                if constexpr (requires { p.has_residual; }) p.has_residual = true;
            },
            fused.problem);
        fused.fused.push_back(add.name);
        fused.output = add.output;
        // It runs where the sum stood: its other operand is there by then.
        for (const Operand& source : fused.sources) {
            if (source.tensor < 0) continue;
            for (int& reader : uses_.readers[static_cast<std::size_t>(source.tensor)])
                if (reader == best) reader = static_cast<int>(i);
        }
        gone_[static_cast<std::size_t>(best)] = true;
        program_.operations[i] = std::move(fused);
    }

    void fuse_activation(std::size_t i) {
        const auto* activation = std::get_if<ActivationProblem>(&program_.operations[i].problem);
        if (program_.operations[i].is_reshape || activation == nullptr) return;
        const int maker = private_maker(program_.operations[i].sources[0].tensor, i);
        if (maker < 0 || at(maker).is_reshape) return;
        ActivationDesc* slot = activation_of(at(maker).problem);
        if (slot == nullptr || slot->kind != ActivationKind::identity) return;
        *slot = activation->activation;
        absorb(maker, static_cast<int>(i));
    }

    Program& program_;
    Uses uses_;
    std::vector<bool> gone_;
};

}  // namespace

void fuse(Program& program) { Fusion(program).run(); }

}  // namespace convlens::network
