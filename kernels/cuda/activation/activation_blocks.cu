#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/activation/activation.h"
#include "kernels/cuda/map.cuh"

namespace convlens::cuda {
namespace {

struct Clamp {
    float low, high;
    __device__ float operator()(const float (&x)[1]) const { return clamp_value(x[0], low, high); }
};

struct Smooth {
    Activation activation;
    __device__ float operator()(const float (&x)[1]) const { return activate_smooth(activation, x[0]); }
};

}  // namespace

void activation_blocks(const ActivationBlocks& params, const float* src, float* dst, Stream stream) {
    const Activation& a = params.activation;
    if (is_clamp(a))
        map<1>(params.shape, {src}, dst, Clamp{clamp_low(a), clamp_high(a)}, stream);
    else
        map<1>(params.shape, {src}, dst, Smooth{a}, stream);
}

}  // namespace convlens::cuda
