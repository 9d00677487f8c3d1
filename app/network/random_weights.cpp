// Seeded random weights: equal weights (as in networks without training) hide index errors.
#include <cmath>

#include "app/network/graph.h"
#include "primitives/split_mix.h"

namespace convlens::network {

namespace {

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : bits_(seed) {}
    // Uniform in [-1, 1); exact, so the same on every machine.
    float next() {
        return static_cast<float>(static_cast<std::int32_t>(bits_.next() >> 40) - (1 << 23)) / 8388608.0f;
    }

  private:
    SplitMix64 bits_;
};

// What a constant means to the node that reads it.
struct Range {
    float centre = 0.0f, spread = 0.0f;
};

Range range_of(const Node& node, std::size_t input, const Constant& constant) {
    if (node.op == "BatchNormalization") {
        if (input == 1) return {1.0f, 0.25f};
        if (input == 4) return {1.0f, 0.5f};
        return {0.0f, 0.25f};
    }
    if ((node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm" || node.op == "MatMul") &&
        input == 1) {
        // He: variance 2 / fan-in; a uniform number of spread s has variance s^2 / 3.
        double fan_in = 1;
        if (constant.dims.rank() > 2)
            for (int i = 1; i < constant.dims.rank(); ++i) fan_in *= static_cast<double>(constant.dims[i]);
        else if (constant.dims.rank() == 2)
            fan_in =
                static_cast<double>(node.attributes.contains("transB") ? constant.dims[1] : constant.dims[0]);
        return {0.0f, static_cast<float>(std::sqrt(6.0 / std::max(fan_in, 1.0)))};
    }
    if (node.op == "Mul" || node.op == "Div") return {1.0f, 0.25f};
    if (node.op == "PRelu") return {0.25f, 0.125f};
    return {0.0f, 0.25f};
}

bool is_weight(const Node& node, std::size_t input) {
    static const char* const readers[] = {"Conv",  "ConvTranspose", "Gemm", "MatMul", "BatchNormalization",
                                          "PRelu", "Add",           "Sub",  "Mul",    "Div",
                                          "Sum"};
    for (const char* op : readers)
        if (node.op == op) return input > 0 || node.op == "Sum" || node.op == "Add" || node.op == "Mul";
    return false;
}

}  // namespace

std::shared_ptr<const Model> Model::with_random_weights(const Model& model, std::uint64_t seed) {
    ParsedModel parsed{model.name(), model.metadata(), model.inputs(), model.outputs(), model.graph()};
    Generator generator(seed);
    std::vector<bool> done(parsed.graph.values.size(), false);
    for (const Node& node : parsed.graph.nodes) {
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.inputs[i] < 0 || !is_weight(node, i)) continue;
            const auto at = static_cast<std::size_t>(node.inputs[i]);
            ConstantPtr& constant = parsed.graph.values[at].constant;
            if (!constant || !constant->is_real() || done[at]) continue;
            done[at] = true;
            const Range range = range_of(node, i, *constant);
            std::vector<float> values(static_cast<std::size_t>(constant->elements()));
            for (float& x : values) x = range.centre + range.spread * generator.next();
            constant = Constant::of_floats(constant->dims, std::move(values));
        }
    }
    return make_model(std::move(parsed), model.path());
}

}  // namespace convlens::network
