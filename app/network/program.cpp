#include "app/network/program.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace convlens::network {

View then(View first, View second) {
    if (!first) return second;
    if (!second) return first;
    return [first = std::move(first), second = std::move(second)](const TensorDesc& d) {
        return second(first(d));
    };
}

View view_as_rank(int rank) {
    return [rank](const TensorDesc& d) {
        TensorDesc out = d;
        out.dims = Dims::filled(rank - d.rank(), 1);
        out.strides = out.dims;
        for (int i = 0; i < d.rank(); ++i) {
            out.dims.push_back(d.dims[i]);
            out.strides.push_back(d.strides[i]);
        }
        return out;
    };
}

View view_permuted(const Dims& order) {
    return [order](const TensorDesc& d) {
        TensorDesc out = d;
        for (int i = 0; i < order.rank(); ++i) {
            out.dims[i] = d.dims[static_cast<int>(order[i])];
            out.strides[i] = d.strides[static_cast<int>(order[i])];
        }
        return out;
    };
}

View view_sliced(const Dims& starts, const Dims& steps, const Dims& counts) {
    return [=](const TensorDesc& d) {
        TensorDesc out = d;
        for (int i = 0; i < d.rank(); ++i) {
            out.offset += starts[i] * d.strides[i];
            out.strides[i] = d.strides[i] * steps[i];
            out.dims[i] = counts[i];
        }
        return out;
    };
}

View view_split(int axis, std::int64_t outer, std::int64_t inner) {
    return [=](const TensorDesc& d) {
        TensorDesc out{d.type, {}, {}, d.offset};
        for (int i = 0; i < d.rank(); ++i) {
            if (i != axis) {
                out.dims.push_back(d.dims[i]);
                out.strides.push_back(d.strides[i]);
                continue;
            }
            out.dims.push_back(outer);
            out.strides.push_back(d.strides[i] * inner);
            out.dims.push_back(inner);
            out.strides.push_back(d.strides[i]);
        }
        return out;
    };
}

View view_repeated(const Dims& dims) {
    return [dims](const TensorDesc& d) {
        TensorDesc out = d;
        for (int i = 0; i < dims.rank(); ++i) {
            if (d.dims[i] == 1 && dims[i] != 1) out.strides[i] = 0;
            out.dims[i] = dims[i];
        }
        return out;
    };
}

View view_dims(const Dims& dims) {
    return [dims](const TensorDesc& d) {
        TensorDesc out{d.type, dims, Dims::filled(dims.rank(), 1), d.offset};
        int from = 0;
        for (int i = 0; i < dims.rank(); ++i) {
            if (dims[i] == 1) continue;
            while (from < d.rank() && d.dims[from] == 1) ++from;
            out.strides[i] = d.strides[from++];
        }
        return out;
    };
}

std::optional<TensorDesc> reshaped_without_copy(const TensorDesc& desc, const Dims& dims) {
    if (desc.is_empty() || desc.dims == dims) {
        if (desc.dims == dims) return desc;
        return TensorDesc::packed(dims, desc.type);
    }
    // Axes of length 1 carry no order; the others are matched in runs of equal products.
    std::vector<std::int64_t> old_dims, old_strides;
    for (int i = 0; i < desc.rank(); ++i) {
        if (desc.dims[i] == 1) continue;
        old_dims.push_back(desc.dims[i]);
        old_strides.push_back(desc.strides[i]);
    }
    TensorDesc out{desc.type, dims, Dims::filled(dims.rank(), 1), desc.offset};
    std::size_t from = 0;
    int to = 0;
    while (from < old_dims.size()) {
        std::size_t from_end = from + 1;
        while (to < dims.rank() && dims[to] == 1) ++to;
        int to_end = to + 1;
        std::int64_t old_product = old_dims[from], new_product = dims[to];
        while (old_product != new_product) {
            if (old_product < new_product)
                old_product *= old_dims[from_end++];
            else
                new_product *= dims[to_end++];
        }
        for (std::size_t i = from; i + 1 < from_end; ++i)
            if (old_strides[i] != old_dims[i + 1] * old_strides[i + 1]) return std::nullopt;
        std::int64_t step = old_strides[from_end - 1];
        for (int i = to_end - 1; i >= to; --i) {
            out.strides[i] = step;
            step *= dims[i];
        }
        from = from_end;
        to = to_end;
    }
    return out;
}

std::vector<float> plain_weights(const Weights& weights, const Problem& problem) {
    const Constant& source = *weights.constant;
    std::vector<float> values = source.expanded();
    if (weights.transposed) {
        const auto rows = static_cast<std::size_t>(weights.dims[0]),
                   columns = static_cast<std::size_t>(weights.dims[1]);
        std::vector<float> turned(values.size());
        for (std::size_t n = 0; n < rows; ++n)
            for (std::size_t k = 0; k < columns; ++k) turned[n * columns + k] = values[k * rows + n];
        values = std::move(turned);
    }
    if (weights.factor != 1.0f)
        for (float& x : values) x *= weights.factor;
    if (weights.scale.empty() || values.empty()) return values;
    if (const auto* p = std::get_if<TransposedConvolutionProblem>(&problem)) {
        // C K/groups R S: output channel of group c / (C / groups).
        const std::int64_t c = p->weights[0], k = p->weights[1];
        const std::size_t window = values.size() / static_cast<std::size_t>(c * k);
        for (std::int64_t i = 0; i < c; ++i)
            for (std::int64_t j = 0; j < k; ++j) {
                const double scale = weights.scale[static_cast<std::size_t>(i / (c / p->groups) * k + j)];
                float* at = values.data() + static_cast<std::size_t>(i * k + j) * window;
                for (std::size_t w = 0; w < window; ++w) at[w] = static_cast<float>(at[w] * scale);
            }
        return values;
    }
    const std::size_t run = values.size() / weights.scale.size();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(values[i] * weights.scale[i / run]);
    return values;
}

namespace {

void distinguish(std::string& name, std::unordered_set<std::string>& taken) {
    if (taken.insert(name).second) return;
    for (int number = 2;; ++number) {
        const std::string other = name + "#" + std::to_string(number);
        if (!taken.insert(other).second) continue;
        name = other;
        return;
    }
}

}  // namespace

void make_names_unique(Program& program) {
    std::unordered_set<std::string> layers, tensors;
    for (Operation& operation : program.operations) distinguish(operation.name, layers);
    // The network's own inputs and outputs keep their names.
    for (const bool own : {true, false})
        for (ProgramTensor& tensor : program.tensors)
            if ((tensor.is_input || tensor.is_output) == own && !tensor.name.empty())
                distinguish(tensor.name, tensors);
}

Uses uses_of(const Program& program) {
    Uses uses;
    uses.maker.assign(program.tensors.size(), -1);
    uses.readers.resize(program.tensors.size());
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
        const Operation& operation = program.operations[i];
        uses.maker[static_cast<std::size_t>(operation.output)] = static_cast<int>(i);
        for (const Operand& source : operation.sources)
            if (source.tensor >= 0)
                uses.readers[static_cast<std::size_t>(source.tensor)].push_back(static_cast<int>(i));
    }
    return uses;
}

TensorDesc* source_desc(Problem& problem, std::size_t index) {
    return std::visit(
        [&]<class P>(P& p) -> TensorDesc* {
            if constexpr (std::is_same_v<P, ConcatProblem>) {
                return &p.srcs[index];
            } else if constexpr (std::is_same_v<P, ElementwiseProblem>) {
                return index == 0 ? &p.a : &p.b;
            } else {
                return index == 0 ? &p.src : nullptr;
            }
        },
        problem);
}

TensorDesc& dst_desc(Problem& problem) {
    return std::visit([](auto& p) -> TensorDesc& { return p.dst; }, problem);
}
const TensorDesc& dst_desc(const Problem& problem) {
    return std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem);
}

ActivationDesc* activation_of(Problem& problem) {
    return std::visit(
        [](auto& p) -> ActivationDesc* {
            if constexpr (requires { p.activation; })
                return &p.activation;
            else
                return nullptr;
        },
        problem);
}

}  // namespace convlens::network
