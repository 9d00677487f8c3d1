// A network as its ONNX file says it: checked, with weights as float32 or integers, constants folded.
// Immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convlens/tensor.h"

namespace convlens::network {

// A dim of a graph input: a number, or a name such as "H" (value -1).
struct SymbolicDim {
    std::int64_t value = -1;
    std::string name;
};

struct ValueInfo {
    std::string name;
    DataType type = DataType::f32;
    std::vector<SymbolicDim> dims;
};

struct Graph;  // nodes, initializers; inside the network room (graph.h)

class Model {
  public:
    // Reads and checks an ONNX file. Throws Error(bad_parameter) with the file and the node, operator and
    // reason. The file is treated as hostile: sizes before allocation, no recursion over nodes, external data
    // only inside the model's folder.
    static std::shared_ptr<const Model> load(const std::string& path);
    // The same from memory; `path` is used for messages and for the labels' folder.
    static std::shared_ptr<const Model> parse(const std::string& bytes, const std::string& path);
    ~Model();

    const std::string& path() const;
    const std::string& name() const;                             // file name without folder and .onnx
    const std::map<std::string, std::string>& metadata() const;  // metadata_props
    const std::vector<ValueInfo>& inputs() const;                // without initializers
    const std::vector<ValueInfo>& outputs() const;
    std::size_t weights_bytes() const;  // as float32
    const Graph& graph() const;

    // For tests: replaces every weight by seeded random numbers (He scale; variances positive).
    static std::shared_ptr<const Model> with_random_weights(const Model& model, std::uint64_t seed);

  private:
    friend struct ModelMaker;  // model.cpp
    Model();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convlens::network
