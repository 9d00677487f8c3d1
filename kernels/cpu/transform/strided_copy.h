// The copies that a transform or a concat consists of.
#pragma once

#include <vector>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/transform/transform.h"

namespace convlens::cpu {

struct StridedCopy {
    JointShape shape;  // operands: src, dst
    ElementType from = ElementType::f32;
    ElementType to = ElementType::f32;
    bool from_pad_value = false;  // src is the one pad value, already of dst's type
};

StridedCopy make_strided_copy(const Layout& src, const Layout& dst);

// Boxes of dst that are each one copy: the interior, and borders as reversed, repeated or constant sources.
std::vector<StridedCopy> make_padded_copies(const TransformParams& params);

// Any strides. Contiguous runs are moved whole; where the contiguous axes of src and dst differ the two are
// walked in tiles that stay in the cache.
void strided_copy(const StridedCopy& copy, const void* src, void* dst, ThreadPool& pool);

}  // namespace convlens::cpu
