#include "app/engine/outputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <utility>

#include "app/input/file.h"
#include "convlens/error.h"

namespace convlens::engine {
namespace {

constexpr std::size_t max_labels_bytes = std::size_t{16} << 20;

using Kind = OutputEntry::Kind;

std::string find(const std::map<std::string, std::string>& metadata, const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
}

bool parse_int(const std::string& text, int& value) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && value >= 0;
}

// KIND:OUTPUT or KIND:OUTPUT:INDEX. Output names may hold colons themselves.
bool parse_entry(const std::string& text, OutputEntry& entry) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return false;
    const std::string kind = text.substr(0, colon);
    entry.output = text.substr(colon + 1);
    bool indexed = false;
    if (kind == "heatmap") {
        entry.kind = Kind::heat_map;
        indexed = true;
    } else if (kind == "score") {
        entry.kind = Kind::score;
        indexed = true;
    } else if (kind == "boxes") {
        entry.kind = Kind::boxes;
    } else if (kind == "points") {
        entry.kind = Kind::points;
    } else if (kind == "picture") {
        entry.kind = Kind::picture;
    } else if (kind == "classes") {
        entry.kind = Kind::classes;
    } else {
        return false;
    }
    const std::size_t last = entry.output.rfind(':');
    if (indexed && last != std::string::npos && parse_int(entry.output.substr(last + 1), entry.index))
        entry.output.resize(last);
    return !entry.output.empty();
}

// "12x12 stride=2" or "48x48".
void parse_window(const std::string& text, OutputMeaning& meaning) {
    std::istringstream words(text);
    std::string word;
    while (words >> word) {
        const std::size_t x = word.find('x');
        int width = 0, height = 0;
        bool good = false;
        if (word.rfind("stride=", 0) == 0) {
            good = parse_int(word.substr(7), width) && width >= 1 && width <= 4096;
            if (good) meaning.window_stride = width;
        } else if (x != std::string::npos) {
            good = parse_int(word.substr(0, x), width) && parse_int(word.substr(x + 1), height) &&
                   width >= 1 && height >= 1 && width <= 16384 && height <= 16384;
            if (good) {
                meaning.window_width = width;
                meaning.window_height = height;
            }
        }
        if (!good)
            meaning.messages.push_back("the model's metadata convlens.output.window = '" +
                                       text.substr(0, 100) + "' is wrong at '" + word.substr(0, 50) +
                                       "': 12x12 stride=2 is its form");
    }
}

void read_labels(const std::string& name, const std::string& folder, OutputMeaning& meaning) {
    // A model may name a file beside it, nothing else on the machine.
    if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name[0] == '.') {
        meaning.messages.push_back("the model's metadata convlens.labels = '" + name.substr(0, 100) +
                                   "' is not a file name beside the model: classes are shown by number");
        return;
    }
    try {
        const auto bytes = input::read_file((std::filesystem::path(folder) / name).string(), max_labels_bytes,
                                            "labels file");
        std::string line;
        const auto finish_line = [&] {
            if (!line.empty() && line.back() == '\r') line.pop_back();
            meaning.labels.push_back(std::exchange(line, {}));
        };
        for (const std::uint8_t byte : bytes) {
            if (byte == '\n')
                finish_line();
            else
                line += static_cast<char>(byte);
        }
        if (!line.empty()) finish_line();
    } catch (const Error& error) {
        meaning.messages.push_back(std::string("the labels ") + error.what() +
                                   "; classes are shown by number");
    }
}

// The operation that wrote a tensor, looking through views of the same memory.
std::string producer(const network::Executor& executor, int tensor) {
    const auto& tensors = executor.tensors();
    for (std::size_t hops = 0; tensor >= 0 && hops <= tensors.size(); ++hops) {
        for (const network::Layer& layer : executor.layers())
            if (std::find(layer.outputs.begin(), layer.outputs.end(), tensor) != layer.outputs.end()) {
                const bool view = layer.op == "Reshape" || layer.op == "Flatten" || layer.op == "Squeeze" ||
                                  layer.op == "Unsqueeze" || layer.op == "Identity" || layer.op == "Dropout";
                if (!view) return layer.op;
                tensor = layer.inputs.empty() ? -1 : layer.inputs.front();
                break;
            }
        const int alias = tensor >= 0 ? tensors[static_cast<std::size_t>(tensor)].alias_of : -1;
        if (alias < 0 || alias == tensor) break;
        tensor = alias;
    }
    return {};
}

int tensor_of_output(const network::Executor& executor, const std::string& name) {
    const std::vector<int> outputs = executor.output_tensors();
    const auto& names = executor.model().outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const bool same = i < names.size()
                              ? names[i].name == name
                              : executor.tensors()[static_cast<std::size_t>(outputs[i])].name == name;
        if (same) return outputs[i];
    }
    return -1;
}

// Values of batch item 0.
std::vector<float> first_item(const network::Executor& executor, int tensor, int arena) {
    std::vector<float> values = executor.copy(tensor, arena);
    const Dims& dims = executor.tensors()[static_cast<std::size_t>(tensor)].desc.dims;
    if (dims.rank() > 1 && dims[0] > 1) values.resize(values.size() / static_cast<std::size_t>(dims[0]));
    return values;
}

std::vector<double> class_scores(const std::vector<float>& values, const std::string& op) {
    std::vector<double> scores(values.begin(), values.end());
    if (op == "Softmax" || op == "Sigmoid" || op == "HardSigmoid") return scores;
    if (op == "LogSoftmax") {
        for (double& score : scores) score = std::exp(score);
        return scores;
    }
    return are_probabilities(values) ? scores : softmax(values);
}

struct Place {  // from the network's window to the frame
    const input::NetworkInput& input;
    double x(double share) const { return input.seen.x0 + share * (input.seen.x1 - input.seen.x0); }
    double y(double share) const { return input.seen.y0 + share * (input.seen.y1 - input.seen.y0); }
};

// One box of the whole window: score, edges, points.
void read_window_box(const OutputMeaning& meaning, const network::Executor& executor, int arena,
                     const input::NetworkInput& input, Outputs& out) {
    FoundBox box;
    const Place place{input};
    double edges[4] = {0, 0, 0, 0};
    bool found = false;
    for (const OutputEntry& entry : meaning.entries) {
        const int tensor = tensor_of_output(executor, entry.output);
        if (tensor < 0) continue;
        const std::vector<float> values = first_item(executor, tensor, arena);
        if (entry.kind == Kind::score && entry.index < static_cast<int>(values.size())) {
            box.score = values[static_cast<std::size_t>(entry.index)];
            found = true;
        } else if (entry.kind == Kind::boxes && values.size() == 4) {
            std::copy(values.begin(), values.end(), edges);
            found = true;
        } else if (entry.kind == Kind::points && values.size() % 2 == 0) {
            const std::size_t points = values.size() / 2;
            for (std::size_t i = 0; i < points; ++i)
                box.points.emplace_back(place.x(values[i]), place.y(values[points + i]));
            found = true;
        }
    }
    if (!found) return;
    box.x0 = place.x(edges[0]);
    box.y0 = place.y(edges[1]);
    box.x1 = place.x(1 + edges[2]);
    box.y1 = place.y(1 + edges[3]);
    out.boxes.push_back(std::move(box));
}

}  // namespace

bool OutputMeaning::has(OutputEntry::Kind kind) const {
    return std::any_of(entries.begin(), entries.end(), [&](const OutputEntry& e) { return e.kind == kind; });
}

std::string OutputMeaning::label(int index) const {
    if (index >= 0 && index < static_cast<int>(labels.size())) return labels[static_cast<std::size_t>(index)];
    return "class " + std::to_string(index);
}

OutputMeaning read_output_meaning(const std::map<std::string, std::string>& metadata,
                                  const std::string& first_output, const std::string& folder) {
    OutputMeaning meaning;
    std::istringstream words(find(metadata, "convlens.output"));
    std::string word;
    while (words >> word) {
        OutputEntry entry;
        if (parse_entry(word, entry))
            meaning.entries.push_back(entry);
        else
            meaning.messages.push_back(
                "the model's metadata convlens.output has the entry '" + word.substr(0, 100) +
                "', which is not known: heatmap, score, boxes, points, picture or classes, then :OUTPUT");
    }
    if (meaning.entries.empty()) meaning.entries.push_back({Kind::classes, first_output, 0});
    parse_window(find(metadata, "convlens.output.window"), meaning);
    const std::string points = find(metadata, "convlens.output.points");
    for (std::size_t at = 0; !points.empty() && at <= points.size();) {
        const std::size_t end = std::min(points.find(',', at), points.size());
        meaning.point_names.push_back(points.substr(at, end - at));
        at = end + 1;
    }
    const std::string labels = find(metadata, "convlens.labels");
    if (!labels.empty()) read_labels(labels, folder, meaning);
    return meaning;
}

OutputMeaning read_output_meaning(const network::Model& model) {
    const std::string first = model.outputs().empty() ? std::string() : model.outputs().front().name;
    OutputMeaning meaning = read_output_meaning(model.metadata(), first,
                                                std::filesystem::path(model.path()).parent_path().string());
    std::erase_if(meaning.entries, [&](const OutputEntry& entry) {
        const bool missing =
            std::none_of(model.outputs().begin(), model.outputs().end(),
                         [&](const network::ValueInfo& output) { return output.name == entry.output; });
        if (missing && !entry.output.empty())
            meaning.messages.push_back("the model's metadata convlens.output names the output '" +
                                       entry.output.substr(0, 100) + "', which the model does not have");
        return missing;
    });
    if (meaning.entries.empty() && !first.empty()) meaning.entries.push_back({Kind::classes, first, 0});
    return meaning;
}

Outputs interpret_outputs(const OutputMeaning& meaning, const network::Executor& executor, int arena,
                          const input::NetworkInput& input, int top) {
    Outputs out;
    for (const OutputEntry& entry : meaning.entries) {
        const int tensor = tensor_of_output(executor, entry.output);
        if (tensor < 0) continue;
        const Dims& dims = executor.tensors()[static_cast<std::size_t>(tensor)].desc.dims;
        if (entry.kind == Kind::classes) {
            // A map has a class for each place: no list of classes.
            const std::int64_t classes = dims.rank() == 0 ? 1 : dims.rank() == 1 ? dims[0] : dims[1];
            const std::vector<float> values = first_item(executor, tensor, arena);
            if (static_cast<std::int64_t>(values.size()) == classes)
                out.top = top_classes(class_scores(values, producer(executor, tensor)), meaning, top);
        } else if (entry.kind == Kind::heat_map && dims.rank() == 4 && entry.index < dims[1]) {
            HeatMap map;
            map.tensor = tensor;
            map.channel = entry.index;
            map.label = entry.output;
            map.window_width = meaning.window_width;
            map.window_height = meaning.window_height;
            map.stride = meaning.window_stride;
            out.heat_map = map;
        } else if (entry.kind == Kind::picture && dims.rank() == 4 && dims[1] == 3) {
            out.picture = PictureOutput{tensor};
        }
    }
    if (!out.heat_map && (meaning.has(Kind::score) || meaning.has(Kind::boxes) || meaning.has(Kind::points)))
        read_window_box(meaning, executor, arena, input, out);
    return out;
}

std::vector<ClassScore> top_classes(const std::vector<double>& scores, const OutputMeaning& meaning,
                                    int top) {
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    const auto score = [&](int index) { return scores[static_cast<std::size_t>(index)]; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        if (std::isnan(score(a)) || std::isnan(score(b)))
            return !std::isnan(score(a)) && std::isnan(score(b));
        return score(a) > score(b);
    });
    if (top > 0 && static_cast<std::size_t>(top) < order.size()) order.resize(static_cast<std::size_t>(top));
    std::vector<ClassScore> out;
    out.reserve(order.size());
    for (const int index : order) out.push_back({index, meaning.label(index), score(index)});
    return out;
}

std::vector<double> softmax(const std::vector<float>& values) {
    std::vector<double> out(values.begin(), values.end());
    if (out.empty()) return out;
    double most = -INFINITY, sum = 0;
    for (const double value : out)
        if (value > most) most = value;
    if (!std::isfinite(most)) return out;
    for (double& value : out) {
        value = std::exp(value - most);
        if (!std::isnan(value)) sum += value;
    }
    for (double& value : out) value /= sum;
    return out;
}

bool are_probabilities(const std::vector<float>& values) {
    double sum = 0;
    for (const float value : values) {
        if (!(value >= 0 && value <= 1.0001f)) return false;
        sum += value;
    }
    return std::abs(sum - 1) <= 1e-3;
}

std::vector<std::uint8_t> picture_bytes(const network::Executor& executor, int tensor, int arena, bool bgr) {
    const Dims& dims = executor.tensors()[static_cast<std::size_t>(tensor)].desc.dims;
    if (dims.rank() != 4 || dims[1] != 3)
        throw Error(Status::bad_parameter, "the output is no picture of three planes");
    const std::vector<float> values = first_item(executor, tensor, arena);
    const std::size_t plane = values.size() / 3;
    std::vector<std::uint8_t> rgb(values.size());
    for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < plane; ++i) {
            const float value = values[(bgr ? 2 - c : c) * plane + i];
            // NaN fails the first comparison.
            rgb[3 * i + c] =
                static_cast<std::uint8_t>(value > 0 ? std::lround(255.0f * std::min(value, 1.0f)) : 0);
        }
    return rgb;
}

}  // namespace convlens::engine
