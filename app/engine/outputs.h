// What a network's outputs mean: metadata `convlens.output` and labels (assets/models/README.md) -> Outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/engine/snapshot.h"
#include "app/input/preprocess.h"
#include "app/network/executor.h"

namespace convlens::engine {

struct OutputEntry {
    enum class Kind { classes, heat_map, score, boxes, points, picture } kind = Kind::classes;
    std::string output;  // name of the model's output
    int index = 0;       // plane of a heat map, number of a score
};

// Read once for each model. Never an error: what is wrong with metadata or labels becomes a message, and the
// model's first output is then shown as class scores, the classes as numbers.
struct OutputMeaning {
    std::vector<OutputEntry> entries;
    std::vector<std::string> labels;                             // by index; empty: "class 17"
    std::vector<std::string> point_names;                        // by point
    int window_width = 0, window_height = 0, window_stride = 1;  // convlens.output.window; 0: not stated
    std::vector<std::string> messages;

    bool has(OutputEntry::Kind kind) const;
    bool shows_classes() const { return has(OutputEntry::Kind::classes); }
    std::string label(int index) const;
};

OutputMeaning read_output_meaning(const network::Model& model);
// The same from its parts; `folder` is where labels lie.
OutputMeaning read_output_meaning(const std::map<std::string, std::string>& metadata,
                                  const std::string& first_output, const std::string& folder);

// Reads the outputs of the last pass in `arena` (batch item 0). `input` is what the pass was fed: it places
// boxes and points in the frame. Classes are sorted by falling score, equal ones by index, NaN last; a
// softmax is applied only where the network has none of its own and the values are no probabilities yet.
// Boxes of a map (a heat map's network alone) are not made here: see faces.h.
Outputs interpret_outputs(const OutputMeaning& meaning, const network::Executor& executor, int arena,
                          const input::NetworkInput& input, int top = 5);

// The pieces, for tests and for other callers.
// How many classes come out best first; scores as they are. top <= 0: all.
std::vector<ClassScore> top_classes(const std::vector<double>& scores, const OutputMeaning& meaning, int top);
// exp(x - max) / sum, in double; NaN stays NaN.
std::vector<double> softmax(const std::vector<float>& values);
// All within 0 to 1, sum 1 within 1e-3.
bool are_probabilities(const std::vector<float>& values);

// A model's planes 0 to 1 as an RGB picture of 8 bits, clamped, NaN black; for files.
std::vector<std::uint8_t> picture_bytes(const network::Executor& executor, int tensor, int arena, bool bgr);

}  // namespace convlens::engine
