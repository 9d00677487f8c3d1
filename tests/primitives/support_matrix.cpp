// Prints what each algorithm can do, by asking the library: the processor's rows over sample problems, the
// rows of CUDA by name (what they take depends on the device). `--check FILE` fails unless the file holds
// just that between its markers; `--write FILE` puts it there. In a build without CUDA its part is neither
// compared nor written.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "convlens/convlens.hpp"
#include "primitives/algorithm.h"

namespace convlens {
namespace {

struct Probe {
    std::string name;
    Problem problem;
};

// "3x3 stride 2" and the like, from what differs.
struct Window {
    std::int64_t length = 3, stride = 1, dilation = 1, pad = 1;
};

ConvolutionProblem convolution(std::int64_t c, std::int64_t k, std::int64_t groups, int spatial,
                               const Window& w, bool channels_last = true) {
    ConvolutionProblem p;
    Dims src{1, c}, dst{1, k};
    p.weights = {k, c / groups};
    p.groups = groups;
    p.window = {Dims::filled(spatial, w.pad), Dims::filled(spatial, w.pad), Dims::filled(spatial, w.stride),
                Dims::filled(spatial, w.dilation)};
    for (int i = 0; i < spatial; ++i) {
        src.push_back(20 + 2 * i);
        p.weights.push_back(w.length);
        dst.push_back(convolution_output_size(src[i + 2], w.length, w.pad, w.pad, w.stride, w.dilation));
    }
    p.src = channels_last ? TensorDesc::channels_last(src) : TensorDesc::packed(src);
    p.dst = channels_last ? TensorDesc::channels_last(dst) : TensorDesc::packed(dst);
    return p;
}

std::vector<Probe> convolution_probes() {
    std::vector<Probe> probes{{"3x3", convolution(16, 32, 1, 2, {})},
                              {"3x3 packed", convolution(16, 32, 1, 2, {}, false)},
                              {"stride 2", convolution(16, 32, 1, 2, {3, 2})},
                              {"dilation 2", convolution(16, 32, 1, 2, {3, 1, 2})},
                              {"5x5", convolution(16, 32, 1, 2, {5, 1, 1, 2})},
                              {"1x1", convolution(16, 32, 1, 2, {1, 1, 1, 0})},
                              {"grouped", convolution(16, 32, 4, 2, {})},
                              {"depthwise", convolution(16, 16, 16, 2, {})},
                              {"1-D", convolution(16, 32, 1, 1, {})},
                              {"3-D", convolution(4, 8, 1, 3, {})}};
    auto p = convolution(16, 32, 1, 2, {});
    p.mode = ConvolutionMode::convolution;
    probes.push_back({"flipped", p});
    p = convolution(16, 32, 1, 2, {});
    p.has_bias = p.has_residual = true;
    p.activation = {ActivationKind::swish, 1, 0};
    probes.push_back({"fused", p});
    p = convolution(16, 32, 1, 2, {});
    for (const DataType type : {DataType::f64, DataType::f16, DataType::bf16}) {
        p.src.type = p.dst.type = type;
        probes.push_back({to_string(type), p});
    }
    return probes;
}

// The same shapes in the other directions; gradients fuse nothing, so the last probe is left out.
template <class Make>
std::vector<Probe> gradient_probes(const Make& make) {
    std::vector<Probe> probes;
    for (const Probe& probe : convolution_probes())
        if (probe.name != "fused" && std::get<ConvolutionProblem>(probe.problem).src.type == DataType::f32)
            probes.push_back({probe.name, make(std::get<ConvolutionProblem>(probe.problem))});
    ConvolutionProblem p = convolution(16, 32, 1, 2, {});
    p.alpha = 0.5f;
    p.beta = 1;
    probes.push_back({"alpha, beta", make(p)});
    p = convolution(16, 32, 1, 2, {});
    for (const DataType type : {DataType::f64, DataType::f16, DataType::bf16}) {
        p.src.type = p.dst.type = type;
        probes.push_back({to_string(type), make(p)});
    }
    return probes;
}

Problem bwd_data(const ConvolutionProblem& p) {
    return ConvolutionBwdDataProblem{p.dst, p.weights, p.src, p.window, p.groups, p.mode, p.alpha, p.beta};
}
Problem bwd_filter(const ConvolutionProblem& p) {
    return ConvolutionBwdFilterProblem{
        p.src, p.dst, TensorDesc::packed(p.weights, p.src.type), p.window, p.groups, p.mode, p.alpha, p.beta};
}

TransposedConvolutionProblem transposed(std::int64_t c, std::int64_t k, std::int64_t groups, int spatial,
                                        const Window& w) {
    TransposedConvolutionProblem p;
    Dims src{1, c}, dst{1, k};
    p.weights = {c, k / groups};
    p.groups = groups;
    p.window = {Dims::filled(spatial, w.pad), Dims::filled(spatial, w.pad), Dims::filled(spatial, w.stride),
                Dims::filled(spatial, w.dilation)};
    for (int i = 0; i < spatial; ++i) {
        src.push_back(10 + 2 * i);
        p.weights.push_back(w.length);
        dst.push_back(transposed_output_size(src[i + 2], w.length, w.pad, w.pad, w.stride, w.dilation, 0));
    }
    p.src = TensorDesc::channels_last(src);
    p.dst = TensorDesc::channels_last(dst);
    return p;
}

std::vector<Probe> transposed_probes() {
    auto fused = transposed(16, 8, 1, 2, {4, 2});
    fused.has_bias = true;
    fused.activation = {ActivationKind::relu, 0, 0};
    return {{"stride 1", transposed(16, 8, 1, 2, {})},
            {"stride 2", transposed(16, 8, 1, 2, {4, 2})},
            {"dilation 2", transposed(16, 8, 1, 2, {3, 2, 2})},
            {"grouped", transposed(16, 8, 4, 2, {})},
            {"1-D", transposed(16, 8, 1, 1, {})},
            {"3-D", transposed(4, 8, 1, 3, {})},
            {"fused", fused}};
}

FullyConnectedProblem fully_connected(std::int64_t rows) {
    return {TensorDesc::packed({rows, 64}), 24, TensorDesc::packed({rows, 24}), true, false, {}};
}

PoolingProblem pooling(PoolingKind kind, int spatial, const Window& w, bool channels_last,
                       DataType type = DataType::f32) {
    PoolingProblem p;
    p.kind = kind;
    Dims src{1, 16}, dst{1, 16};
    p.window = {Dims::filled(spatial, w.pad), Dims::filled(spatial, w.pad), Dims::filled(spatial, w.stride),
                Dims::filled(spatial, w.dilation)};
    p.size = Dims::filled(spatial, w.length);
    for (int i = 0; i < spatial; ++i) {
        src.push_back(12);
        dst.push_back(pooling_output_size(12, w.length, w.pad, w.pad, w.stride, w.dilation, false));
    }
    p.src = channels_last ? TensorDesc::channels_last(src, type) : TensorDesc::packed(src, type);
    p.dst = channels_last ? TensorDesc::channels_last(dst, type) : TensorDesc::packed(dst, type);
    return p;
}

std::vector<Probe> pooling_probes() {
    constexpr auto max = PoolingKind::max;
    return {{"max", pooling(max, 2, {}, true)},
            {"max packed", pooling(max, 2, {}, false)},
            {"average", pooling(PoolingKind::average_exclude_pad, 2, {3, 2}, true)},
            {"dilation 2", pooling(max, 2, {3, 1, 2}, true)},
            {"whole input", pooling(PoolingKind::average_include_pad, 2, {12, 1, 1, 0}, true)},
            {"1-D", pooling(max, 1, {}, false)},
            {"3-D", pooling(max, 3, {}, true)},
            {"f64", pooling(max, 2, {}, true, DataType::f64)},
            {"f16", pooling(max, 2, {}, true, DataType::f16)},
            {"i32", pooling(max, 2, {}, true, DataType::i32)}};
}

// An operation whose probes differ in layout and type only.
template <class Make>
std::vector<Probe> pointwise_probes(const Make& make) {
    const Dims dims{2, 16, 5, 7};
    TensorDesc odd = TensorDesc::packed(dims);
    for (int i = 0; i < 4; ++i) odd.strides[i] *= 2;
    return {{"channels-last", make(TensorDesc::channels_last(dims))},
            {"packed", make(TensorDesc::packed(dims))},
            {"any strides", make(odd)},
            {"f64", make(TensorDesc::packed(dims, DataType::f64))},
            {"f16", make(TensorDesc::packed(dims, DataType::f16))},
            {"bf16", make(TensorDesc::packed(dims, DataType::bf16))},
            {"i32", make(TensorDesc::packed(dims, DataType::i32))},
            {"bool", make(TensorDesc::packed(dims, DataType::boolean))}};
}

std::vector<Probe> transform_probes() {
    const TensorDesc x = TensorDesc::packed({2, 3, 5, 7});
    const TensorDesc wide = TensorDesc::packed({2, 3, 7, 9});
    const auto pad = [&](PadMode mode) {
        return TransformProblem{x, wide, {0, 0, 1, 1}, {0, 0, 1, 1}, mode, 0};
    };
    TensorDesc slice = x;
    slice.dims = {2, 3, 2, 7};
    slice.offset = 6;
    slice.strides[3] = -1;
    return {{"layout", TransformProblem{x, TensorDesc::channels_last(x.dims), {}, {}}},
            {"slice", TransformProblem{slice, TensorDesc::packed(slice.dims), {}, {}}},
            {"to f16", TransformProblem{x, TensorDesc::packed(x.dims, DataType::f16), {}, {}}},
            {"to i64", TransformProblem{x, TensorDesc::packed(x.dims, DataType::i64), {}, {}}},
            {"to bool", TransformProblem{x, TensorDesc::packed(x.dims, DataType::boolean), {}, {}}},
            {"pad constant", pad(PadMode::constant)},
            {"pad edge", pad(PadMode::edge)},
            {"pad reflect", pad(PadMode::reflect)}};
}

// One line for each algorithm and reason, with the probes that it refuses.
void print_reasons(std::ostream& out, const std::vector<Probe>& probes,
                   const std::vector<std::vector<Candidate>>& columns) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (std::size_t row = 0; row < columns.front().size(); ++row)
        for (std::size_t i = 0; i < probes.size(); ++i) {
            const Candidate& cell = columns[i][row];
            if (cell.applicable) continue;
            const std::string start = "- `" + cell.algorithm + "`: " + cell.reason;
            const auto line = std::find_if(lines.begin(), lines.end(),
                                           [&](const auto& known) { return known.first == start; });
            if (line == lines.end())
                lines.emplace_back(start, probes[i].name);
            else
                line->second += ", " + probes[i].name;
        }
    if (!lines.empty()) out << '\n';
    for (const auto& [start, names] : lines) out << start << " (" << names << ")\n";
}

void print_operation(std::ostream& out, const std::vector<Probe>& probes) {
    Context context;
    out << "\n### " << operation_name(probes.front().problem)
        << "\n\n| algorithm | error class | deterministic |";
    for (const Probe& probe : probes) out << ' ' << probe.name << " |";
    out << "\n|---|---|---|";
    for (std::size_t i = 0; i < probes.size(); ++i) out << ":-:|";
    out << '\n';
    std::vector<std::vector<Candidate>> columns;
    for (const Probe& probe : probes) columns.push_back(candidates(context, probe.problem));
    for (std::size_t row = 0; row < columns.front().size(); ++row) {
        const Candidate& first = columns.front()[row];
        out << "| `" << first.algorithm << "` | " << to_string(first.error_class) << " | "
            << (first.deterministic ? "yes" : "no") << " |";
        for (const auto& column : columns) out << (column[row].applicable ? " yes |" : " - |");
        out << '\n';
    }
    print_reasons(out, probes, columns);
}

std::string matrix() {
    std::ostringstream out;
    print_operation(out, convolution_probes());
    print_operation(out, gradient_probes(bwd_data));
    print_operation(out, gradient_probes(bwd_filter));
    print_operation(out, pointwise_probes([](const TensorDesc& x) {
                        return ConvolutionBwdBiasProblem{x, TensorDesc::packed({x.dims[1]}, x.type), 1, 0};
                    }));
    print_operation(out, transposed_probes());
    print_operation(out, {{"1 row", fully_connected(1)}, {"32 rows", fully_connected(32)}});
    print_operation(out, pooling_probes());
    print_operation(out, pointwise_probes([](const TensorDesc& x) { return ActivationProblem{x, x, {}}; }));
    print_operation(out, pointwise_probes([](const TensorDesc& x) {
                        return BatchNormalizationProblem{x, x, 1e-5f, {}};
                    }));
    print_operation(out, pointwise_probes([](const TensorDesc& x) {
                        return ElementwiseProblem{ElementwiseKind::add, x, x, x, {}};
                    }));
    print_operation(out, pointwise_probes([](const TensorDesc& x) {
                        return SoftmaxProblem{x, x, 1, false};
                    }));
    print_operation(out, pointwise_probes([](const TensorDesc& x) {
                        LrnProblem p;
                        p.src = p.dst = x;
                        return p;
                    }));
    print_operation(out, pointwise_probes([](const TensorDesc& x) {
                        ConcatProblem p;
                        p.srcs = {x};
                        p.dst = x;
                        return p;
                    }));
    print_operation(out, transform_probes());
    return out.str();
}

template <class P>
void print_cuda_rows(std::ostream& out, const P& sample) {
    for (const Algorithm<P>& row : algorithms<P>(Backend::cuda))
        out << "| " << operation_name(sample) << " | `" << row.name << "` | " << to_string(row.error_class)
            << " | " << (row.deterministic ? "yes" : "no") << " |\n";
}

// Empty in a build without CUDA.
std::string cuda_lists() {
    std::ostringstream rows;
    print_cuda_rows(rows, ConvolutionProblem{});
    print_cuda_rows(rows, ConvolutionBwdDataProblem{});
    print_cuda_rows(rows, ConvolutionBwdFilterProblem{});
    print_cuda_rows(rows, ConvolutionBwdBiasProblem{});
    print_cuda_rows(rows, TransposedConvolutionProblem{});
    print_cuda_rows(rows, FullyConnectedProblem{});
    print_cuda_rows(rows, PoolingProblem{});
    print_cuda_rows(rows, ActivationProblem{});
    print_cuda_rows(rows, BatchNormalizationProblem{});
    print_cuda_rows(rows, ElementwiseProblem{});
    print_cuda_rows(rows, SoftmaxProblem{});
    print_cuda_rows(rows, LrnProblem{});
    print_cuda_rows(rows, ConcatProblem{});
    print_cuda_rows(rows, TransformProblem{});
    if (rows.str().empty()) return {};
    return "\n| operation | algorithm | error class | deterministic |\n|---|---|---|---|\n" + rows.str();
}

// The page with `table` between the two markers of `name`; empty when it has no such place.
std::string with_table(const std::string& page, const std::string& name, const std::string& table) {
    const std::string begin = "<!-- " + name + ": begin -->\n";
    const auto from = page.find(begin);
    const auto to = page.find("<!-- " + name + ": end -->");
    if (from == std::string::npos || to == std::string::npos || to < from) return {};
    return page.substr(0, from + begin.size()) + table + '\n' + page.substr(to);
}

// Compares the parts between the markers, or puts them there.
int treat_page(const char* path, bool write) {
    std::stringstream content;
    content << std::ifstream(path).rdbuf();
    const std::string text = content.str();
    std::string page = with_table(text, "support matrix", matrix());
    if (const std::string lists = cuda_lists(); !page.empty() && !lists.empty())
        page = with_table(page, "cuda lists", lists);
    if (page.empty()) {
        std::cerr << path << " has no place for the support matrix\n";
        return 1;
    }
    if (page == text) return 0;
    if (write) return (std::ofstream(path) << page) ? 0 : 1;
    std::cerr << path << " does not hold what the library answers; write it anew with\n"
              << "  support_matrix --write " << path << '\n';
    return 1;
}

}  // namespace
}  // namespace convlens

int main(int count, char** arguments) {
    try {
        const std::string option = count == 3 ? arguments[1] : "";
        if (option == "--check" || option == "--write")
            return convlens::treat_page(arguments[2], option == "--write");
        std::cout << convlens::matrix() << convlens::cuda_lists();
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
