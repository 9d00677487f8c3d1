// Copies between any strides and element types on the device: transform and concat.
//
// strided_copy: bound by memory. Where the contiguous axes of src and dst differ (a change of layout), tiles
// of 32 x 32 go through shared memory; else each thread moves one word of dst, 16 bytes wide where the
// layouts and the pointers allow it. Conversions move single elements. Borders are computed from the index of
// dst, so that a padded copy is one launch, and so is a concat of up to a dozen sources.
#pragma once

#include <vector>

#include "kernels/common/joint_shape.h"
#include "kernels/common/transform.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

using kernels::Padding;
using kernels::TransformParams;

// Element by element: the reference. Any types, any strides, any padding.
void transform_direct(const TransformParams& params, const void* src, void* dst, Stream stream);

struct StridedCopy {
    JointShape shape;  // operands: src, dst
    ElementType from = ElementType::f32;
    ElementType to = ElementType::f32;
};

// Axes of dst in the order of its strides, the smallest last; neighbours that are not padded are joined.
struct PaddedCopy {
    Padding padding = Padding::constant;
    ElementType from = ElementType::f32;
    ElementType to = ElementType::f32;
    int rank = 1;
    std::int64_t elements = 0;
    AxisValues dims{}, src_dims{}, pads_begin{}, src_strides{}, dst_strides{};
    std::int64_t src_offset = 0, dst_offset = 0;
    double pad_value = 0;
};

StridedCopy make_strided_copy(const Layout& src, const Layout& dst);
PaddedCopy make_padded_copy(const TransformParams& params);

void strided_copy(const StridedCopy& copy, const void* src, void* dst, Stream stream);
void padded_copy(const PaddedCopy& copy, const void* src, void* dst, Stream stream);

// Copies of equal types into one dst. srcs: one a copy.
void concat_copies(const std::vector<StridedCopy>& copies, const void* const* srcs, void* dst, Stream stream);

}  // namespace convlens::cuda
