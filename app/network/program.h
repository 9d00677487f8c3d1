// The program between graph and executor: operations of the primitives library over named tensors, for given
// dims. Layouts, memory and plans come later.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/network/executor.h"
#include "app/network/graph.h"
#include "convlens/problem.h"

namespace convlens::network {

// How an operation sees a tensor that lies in memory as the given descriptor says: a transposed, sliced,
// split or repeated form of it. Must work for any strides. Empty: as it lies.
using View = std::function<TensorDesc(const TensorDesc&)>;

View view_as_rank(int rank);  // leading axes of length 1
View view_permuted(const Dims& order);
View view_sliced(const Dims& starts, const Dims& steps, const Dims& counts);
View view_split(int axis, std::int64_t outer, std::int64_t inner);  // one axis becomes two
View view_repeated(const Dims& dims);  // axes of length 1 become longer (stride 0)
View view_dims(const Dims& dims);      // axes of length 1 put in or left out; no other change
View then(View first, View second);

// The strides under which the elements of `desc` appear as `dims` in row-major order without a copy; nothing
// where that can't be.
std::optional<TensorDesc> reshaped_without_copy(const TensorDesc& desc, const Dims& dims);

struct Operand {
    int tensor = -1;
    ConstantPtr constant;  // packed, as floats
    View view;
    bool present() const { return tensor >= 0 || constant != nullptr; }
    static Operand of(int tensor) { return {tensor, nullptr, {}}; }
};

// Plain weights as a recipe: expanded only while they are packed.
struct Weights {
    ConstantPtr constant;
    Dims dims;                  // as the problem wants them
    bool transposed = false;    // the constant is K N, the problem's is N K
    std::vector<double> scale;  // by output channel; empty: 1
    float factor = 1.0f;
};
// The weights in the problem's order; `problem` says which axis is the output channel's.
std::vector<float> plain_weights(const Weights& weights, const Problem& problem);

struct Operation {
    std::string name, op;  // of the ONNX node
    std::vector<std::string> fused;
    bool is_reshape =
        false;        // output is source 0 under other dims: a view where strides allow it, else a copy
    Problem problem;  // descriptors hold dims only until layouts are set
    std::vector<Operand> sources;
    int output = -1;
    View output_view;
    Weights weights;
};

struct ProgramTensor {
    std::string name;
    Dims dims;
    bool is_input = false, is_output = false;
};

struct Program {
    std::vector<ProgramTensor> tensors;
    std::vector<Operation> operations;  // in order
    std::vector<int> inputs, outputs;   // tensors
};

// Layers and tensors are asked for by name, but a file may repeat the names of nodes, or use those that
// lowering makes: later ones get a '#' and a number.
void make_names_unique(Program& program);

// For each tensor the operation that makes it (-1: an input or nobody) and those that read it, in order.
struct Uses {
    std::vector<int> maker;
    std::vector<std::vector<int>> readers;
};
Uses uses_of(const Program& program);

// Any descriptor of a problem, by its role: sources in execute()'s order (bias and statistics: none).
TensorDesc* source_desc(Problem& problem, std::size_t index);
TensorDesc& dst_desc(Problem& problem);
const TensorDesc& dst_desc(const Problem& problem);
// The activation that a problem can carry; null for problems without one.
ActivationDesc* activation_of(Problem& problem);

// Words for the window.
std::string category_of(const Problem& problem);
std::string summary_of(const Operation& operation);

// Lowering: shapes are inferred, shape computations folded. Throws Error(bad_parameter).
Program lower(const Model& model, const std::map<std::string, Dims>& input_dims, std::int64_t default_side);
// Lean rewrites: batch norm and constant scales folded into the weights before them, bias, residual and
// activation fused into the operation that makes their input. The answer stays the same but for rounding.
void fuse(Program& program);

}  // namespace convlens::network
