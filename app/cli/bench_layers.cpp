// The layers of assets/layers/*.csv.
#include <array>
#include <charconv>
#include <sstream>

#include "app/cli/bench.h"
#include "app/input/file.h"

namespace convlens::cli {
namespace {

constexpr std::size_t file_limit = std::size_t{1} << 20;
constexpr const char* header = "name,n,c,h,w,k,r,s,stride,pad,dilation,groups";

[[noreturn]] void refuse_line(const std::string& path, int line, const std::string& why) {
    throw Error(Status::bad_parameter, "'" + path + "', line " + std::to_string(line) + ": " + why);
}

BenchLayer layer_of(const std::string& text, const std::string& path, int line) {
    BenchLayer layer;
    std::istringstream cells(text);
    std::getline(cells, layer.name, ',');
    const std::array<std::int64_t*, 11> numbers = {&layer.n,   &layer.c,        &layer.h,     &layer.w,
                                                   &layer.k,   &layer.r,        &layer.s,     &layer.stride,
                                                   &layer.pad, &layer.dilation, &layer.groups};
    std::string cell;
    for (std::int64_t* number : numbers) {
        std::getline(cells, cell, ',');
        const auto end = cell.data() + cell.size();
        const auto read = std::from_chars(cell.data(), end, *number);
        if (!cells || read.ec != std::errc{} || read.ptr != end)
            refuse_line(path, line, std::string("a name and 11 whole numbers are wanted: ") + header);
    }
    if (layer.name.empty() || std::getline(cells, cell, ','))
        refuse_line(path, line, std::string("a name and 11 whole numbers are wanted: ") + header);
    return layer;
}

}  // namespace

std::vector<BenchLayer> read_layers(const std::string& path) {
    const std::vector<std::uint8_t> bytes = input::read_file(path, file_limit, "list of layers");
    std::istringstream lines(std::string(bytes.begin(), bytes.end()));
    std::vector<BenchLayer> layers;
    std::string text;
    for (int line = 1; std::getline(lines, text); ++line) {
        if (!text.empty() && text.back() == '\r') text.pop_back();
        if (line == 1) {
            if (text != header) refuse_line(path, line, std::string("the columns must be ") + header);
            continue;
        }
        if (text.empty()) continue;
        layers.push_back(layer_of(text, path, line));
        try {
            check(problem_of(layers.back(), BenchDirection::fwd, DataType::f32));
        } catch (const Error& error) {
            refuse_line(path, line, error.what());
        }
    }
    return layers;
}

const char* to_string(BenchDirection direction) {
    switch (direction) {
        case BenchDirection::fwd:
            return "fwd";
        case BenchDirection::bwd_data:
            return "bwd_data";
        case BenchDirection::bwd_filter:
            return "bwd_filter";
    }
    return "unknown";
}

Dims output_of(const BenchLayer& layer) {
    const auto length = [&](std::int64_t in, std::int64_t window) {
        if (layer.stride < 1) return std::int64_t{0};  // check() names it
        return convolution_output_size(in, window, layer.pad, layer.pad, layer.stride, layer.dilation);
    };
    return {layer.n, layer.k, length(layer.h, layer.r), length(layer.w, layer.s)};
}

Problem problem_of(const BenchLayer& layer, BenchDirection direction, DataType type, bool channels_last) {
    const auto tensor = [&](const Dims& dims) {
        return channels_last ? TensorDesc::channels_last(dims, type) : TensorDesc::packed(dims, type);
    };
    const TensorDesc x = tensor({layer.n, layer.c, layer.h, layer.w}), y = tensor(output_of(layer));
    const Dims weights{layer.k, layer.groups > 0 ? layer.c / layer.groups : 0, layer.r, layer.s};
    const WindowDesc window{{layer.pad, layer.pad},
                            {layer.pad, layer.pad},
                            {layer.stride, layer.stride},
                            {layer.dilation, layer.dilation}};
    if (direction == BenchDirection::bwd_data) {
        ConvolutionBwdDataProblem p;
        p.src = y;
        p.weights = weights;
        p.dst = x;
        p.window = window;
        p.groups = layer.groups;
        return p;
    }
    if (direction == BenchDirection::bwd_filter) {
        ConvolutionBwdFilterProblem p;
        p.src = x;
        p.diff = y;
        p.dst = tensor(weights);
        p.window = window;
        p.groups = layer.groups;
        return p;
    }
    ConvolutionProblem p;
    p.src = x;
    p.weights = weights;
    p.dst = y;
    p.window = window;
    p.groups = layer.groups;
    return p;
}

}  // namespace convlens::cli
