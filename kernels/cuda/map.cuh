// dst[i] = body(sources[i]...) for f32 tensors of any strides: groups of four neighbours where every operand
// allows it, else single elements. dst may be a source of the same layout: each thread reads its elements
// before it writes them.
#pragma once

#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {

template <int sources>
struct MapOperands {
    const float* src[sources];
    bool repeated[sources];  // one value for a whole group
    float* dst;
    std::int64_t elements;
};

__device__ __forceinline__ void load_group(const float* from, bool repeated, float (&x)[4]) {
    if (repeated) {
        x[0] = x[1] = x[2] = x[3] = *from;
        return;
    }
    const float4 v = *reinterpret_cast<const float4*>(from);
    x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}

template <int sources, class Body>
__global__ void __launch_bounds__(256)
    map_groups(Walk<sources + 1> walk, MapOperands<sources> operands, Body body) {
    const std::int64_t group = thread_number();
    if (group >= walk.count) return;
    std::int64_t at[sources + 1] = {};
    locate(walk, group, at);
    float* dst = operands.dst + at[sources];
    const int left = static_cast<int>(min(operands.elements - group * 4, std::int64_t{4}));
    if (left < 4) {  // the end of a single axis
        for (int i = 0; i < left; ++i) {
            float x[sources];
#pragma unroll
            for (int k = 0; k < sources; ++k) x[k] = operands.src[k][at[k] + (operands.repeated[k] ? 0 : i)];
            dst[i] = body(x);
        }
        return;
    }
    float x[sources][4], y[4];
#pragma unroll
    for (int k = 0; k < sources; ++k) load_group(operands.src[k] + at[k], operands.repeated[k], x[k]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float one[sources];
#pragma unroll
        for (int k = 0; k < sources; ++k) one[k] = x[k][i];
        y[i] = body(one);
    }
    *reinterpret_cast<float4*>(dst) = make_float4(y[0], y[1], y[2], y[3]);
}

template <int sources, class Body>
__global__ void __launch_bounds__(256)
    map_elements(Walk<sources + 1> walk, MapOperands<sources> operands, Body body) {
    const std::int64_t i = thread_number();
    if (i >= walk.count) return;
    std::int64_t at[sources + 1] = {};
    locate(walk, i, at);
    float x[sources];
#pragma unroll
    for (int k = 0; k < sources; ++k) x[k] = operands.src[k][at[k]];
    operands.dst[at[sources]] = body(x);
}

// operands of the shape: the sources in their order, dst. Body: a plain struct with
// `__device__ float operator()(const float (&x)[sources]) const`.
template <int sources, class Body>
void map(const JointShape& shape, const float* const (&src)[sources], float* dst, const Body& body,
         Stream stream) {
    constexpr int block = 256;
    if (shape.elements == 0) return;
    MapOperands<sources> operands;
    int from[sources + 1];
    bool groups = has_whole_groups(shape, 4) && shape.elements >= 4 &&
                  group_access(shape, sources, dst, 4) == GroupAccess::vector;
    for (int k = 0; k < sources; ++k) {
        const GroupAccess access = group_access(shape, k, src[k], 4);
        groups = groups && access != GroupAccess::none;
        operands.repeated[k] = access == GroupAccess::repeated;
        operands.src[k] = src[k] + shape.offsets[static_cast<std::size_t>(k)];
        from[k] = k;
    }
    from[sources] = sources;
    operands.dst = dst + shape.offsets[sources];
    operands.elements = shape.elements;
    const Walk<sources + 1> walk = make_walk(shape, from, groups ? 4 : 1);
    if (groups)
        map_groups<<<blocks_for(walk.count, block), block, 0, stream>>>(walk, operands, body);
    else
        map_elements<<<blocks_for(walk.count, block), block, 0, stream>>>(walk, operands, body);
}

}  // namespace convlens::cuda
