// The executor's inside: planned layers and the buffers that they read.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "app/network/executor.h"
#include "app/network/layout.h"
#include "app/network/program.h"
#include "convlens/context.h"

namespace convlens::network {

// The smallest problem-side view of a strided tensor: walks its elements in row-major order.
template <class Body>
void for_each_offset(const TensorDesc& desc, const Body& body) {
    const int rank = desc.rank();
    if (desc.is_empty()) return;
    const int inner_axis = rank - 1;
    const std::int64_t inner = rank > 0 ? desc.dims[inner_axis] : 1,
                       step = rank > 0 ? desc.strides[inner_axis] : 0;
    Dims index = Dims::filled(rank, 0);
    std::int64_t base = desc.offset;
    for (;;) {
        for (std::int64_t i = 0; i < inner; ++i) body(base + i * step);
        int axis = rank - 2;
        for (; axis >= 0; --axis) {
            base += desc.strides[axis];
            if (++index[axis] < desc.dims[axis]) break;
            base -= desc.dims[axis] * desc.strides[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

struct PlannedLayer {
    Operation operation;
    std::unique_ptr<Plan> plan;
    Buffer packed;
    // Base pointers in the order of execute(), one list an arena.
    std::vector<std::vector<const void*>> sources;
    std::vector<void*> dst;
};

struct Executor::Impl {
    Impl(Context& ctx, std::shared_ptr<const Model> m, const ExecutorOptions& o)
        : context(ctx), model(std::move(m)), options(o) {}
    ~Impl() {
        for (const auto& arena : arenas)
            for (const Block& block : arena) allocator->release(block);
    }

    void build();
    void describe_tensors(const Program& program, const Layout& layout);
    void place_tensors(const Program& program);
    std::vector<int> buffers_of_tensors();
    void merge_in_place(std::vector<int>& buffer_of);
    void allocate_arenas();
    void plan_layers(Program& program);
    std::unique_ptr<Plan> choose_plan(const Operation& operation) const;
    void check_algorithm_names() const;
    void describe_layer(const PlannedLayer& planned, Layer& layer) const;
    Buffer pack(const PlannedLayer& planned, const Plan& plan) const;
    void bind(PlannedLayer& planned);
    std::byte* address(int tensor, int arena) const;
    void grow_workspace(std::size_t bytes);
    void take_workspace(std::size_t most);
    void launch(int arena, const PassObserver* observer);
    void check_layer(int layer) const;
    void check_place(int tensor, int arena) const;

    Context& context;
    std::shared_ptr<const Model> model;
    ExecutorOptions options;
    std::shared_ptr<Allocator> allocator;
    std::vector<Layer> layers;
    std::vector<Tensor> tensors;
    std::vector<int> inputs, outputs;
    std::vector<PlannedLayer> planned;
    std::unordered_map<const Constant*, Buffer> constants;
    std::vector<std::size_t> block_bytes;
    std::vector<std::vector<Block>> arenas;
    Buffer workspace;
    std::vector<std::byte> staging;  // of an input in the layout of its tensor
    // Passes of a backend that records: one an arena, made when it first runs after a change of plan.
    std::vector<std::unique_ptr<Recording>> recordings;
    std::size_t packed_bytes = 0, constant_bytes = 0, workspace_bytes = 0;
};

}  // namespace convlens::network
