// Walks several f32 tensors of any strides in short contiguous blocks, so that an element-wise kernel is one
// loop over contiguous memory.
#pragma once

#include <array>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Calls body(sources, dst, n) for blocks that cover all elements, in parallel. `sources[k]` and `dst` each
// address n contiguous floats: the tensor itself where it is contiguous, else a copy. `dst` may be the same
// address as a source. `cost` is the operations an element takes.
template <class Body>
void for_each_block(const JointShape& shape, const std::array<const float*, max_operands - 1>& sources,
                    float* dst, ThreadPool& pool, double cost, const Body& body);

using BlockCall = void (*)(const void* body, const float* const* sources, float* dst, std::int64_t n);
void run_blocks(const JointShape& shape, const std::array<const float*, max_operands - 1>& sources,
                float* dst, ThreadPool& pool, double cost, const void* body, BlockCall call);

template <class Body>
void for_each_block(const JointShape& shape, const std::array<const float*, max_operands - 1>& sources,
                    float* dst, ThreadPool& pool, double cost, const Body& body) {
    run_blocks(shape, sources, dst, pool, cost, &body,
               [](const void* b, const float* const* block_sources, float* block_dst, std::int64_t n) {
                   (*static_cast<const Body*>(b))(block_sources, block_dst, n);
               });
}

}  // namespace convlens::cpu
