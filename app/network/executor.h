// A model made runnable: for one input size, one mode and one choice of algorithms, with its memory laid out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/network/allocator.h"
#include "app/network/model.h"
#include "convlens/convlens.hpp"

namespace convlens::network {

// explore keeps every tensor and fuses nothing; lean folds batch norm, fuses bias, residual and activation,
// and reuses memory by lifetime.
enum class Mode : std::uint8_t { explore, lean };
const char* to_string(Mode mode) noexcept;

struct ExecutorOptions {
    Mode mode = Mode::explore;
    // Layer name -> algorithm; the key "*" names an algorithm for every layer that can do it. A layer that is
    // named and can't is an Error(bad_parameter) with the reason; unknown layers too.
    std::map<std::string, std::string> algorithms;
    std::size_t workspace_limit = std::size_t{1} << 30;  // of each layer
    Precision precision = Precision::fp32;               // the least that the layers' own choices may have
    // Dims of the inputs by name; an input that is missing uses its fixed dims, symbolic ones 1 (batch) or
    // `default_side`.
    std::map<std::string, Dims> input_dims;
    std::int64_t default_side = 224;
    int arenas = 1;  // copies of the activations' memory: 2 when one is shown while the other is computed
    std::set<std::string>
        pinned;  // lean: tensors by name whose memory is not reused, so that they can be shown
    std::shared_ptr<Allocator> allocator;  // null: context_allocator()
};

// A tensor of the running network (weights and folded constants are not among them).
struct Tensor {
    std::string name;  // as in the ONNX file
    TensorDesc desc;   // logical N C H W with the strides it really has
    std::size_t bytes = 0;
    int block = 0;            // of each arena
    std::size_t offset = 0;   // bytes from the block's start
    std::size_t address = 0;  // bytes from the arena's start: the memory chart's vertical axis
    int first_layer = 0;      // lifetime in layer order, both ends included; -1: a network input
    int last_layer = 0;
    bool kept = true;  // holds its values after the pass
    bool is_input = false, is_output = false;
    int alias_of = -1;  // Reshape, Flatten, Identity without a copy: the tensor whose memory it is
};

// One step of the running network: an operation with its plan.
struct Layer {
    std::string name;      // node name; empty names become OP_index
    std::string op;        // of the ONNX file: "Conv", "Relu"; lean mode keeps the main node's
    std::string category;  // convolution, depthwise, normalisation, activation, pooling, fully_connected,
                           // elementwise, concat, softmax, transform, other
    std::string summary;   // "3×3, stride 2, 96 groups"
    std::vector<std::string> fused;    // lean: names of the nodes fused into this one
    std::vector<int> inputs, outputs;  // tensors
    Problem problem;
    PlanInfo plan;
    std::size_t weights_bytes = 0;  // packed weights and bias
};

struct MemoryReport {
    std::size_t weights_bytes = 0;      // packed weights, bias, folded constants
    std::size_t activations_bytes = 0;  // one arena
    std::size_t workspace_bytes = 0;    // the largest of all layers; shared by them
    std::size_t peak_bytes = 0;         // weights + arenas + workspace
    int arenas = 1;
};

// Called on the running thread around each layer; may be empty.
struct PassObserver {
    std::function<void(int layer)> before;
    std::function<void(int layer)> after;  // e.g. to dump outputs before their memory is used again
};

class Executor {
  public:
    // Plans everything: shapes, algorithms, memory, packed weights. Throws Error(bad_parameter) with node,
    // operator and reason when the model can't be run at these sizes.
    Executor(Context& context, std::shared_ptr<const Model> model, const ExecutorOptions& options);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    const Model& model() const;
    const ExecutorOptions& options() const;
    const std::vector<Layer>& layers() const;
    const std::vector<Tensor>& tensors() const;
    std::vector<int> input_tensors() const;   // in the order of the model's inputs
    std::vector<int> output_tensors() const;  // in the order of the model's outputs
    MemoryReport memory() const;

    // First element of a tensor's memory in an arena (desc.offset already added), in the backend's memory.
    float* data(int tensor, int arena = 0) const;
    std::uint64_t device_address(int tensor, int arena = 0) const;  // 0 without shaders
    std::size_t arena_bytes() const;

    // Copies a packed NCHW float input into the arena (any layout).
    void set_input(int index, const float* nchw, int arena = 0);
    // One pass: on the processor it is done on return, on a device it is handed over. Without an observer
    // it is replayed as a whole where the backend records (see records()).
    void run(int arena = 0, const PassObserver* observer = nullptr);
    // Whether passes without an observer are replayed as a whole: a CUDA graph hides the layers.
    bool records() const;

    // From the next pass on. Throws Error(not_supported) with the reason, and nothing has changed then. Never
    // during run().
    void set_algorithm(int layer, const std::string& algorithm);
    std::vector<Candidate> layer_candidates(int layer) const;
    // Times all algorithms on this layer's present data (arena): rows in list order.
    std::vector<Finding> measure_layer(int layer, int arena, const FindOptions& options) const;
    // Largest |y - r| / largest |r| of the layer's output against the list's reference on its present inputs;
    // for inputs that are still kept, else empty.
    std::optional<double> layer_error(int layer, int arena) const;

    // Single values of a tensor: elements at these offsets from its first element, as desc.strides count.
    std::vector<float> gather(int tensor, int arena, std::span<const std::int64_t> offsets) const;
    // Copies a tensor's values as packed logical N C H W floats (any layout, any arena).
    std::vector<float> copy(int tensor, int arena = 0) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convlens::network
