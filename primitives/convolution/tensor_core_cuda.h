// What the rows of the tensor core refuse alike (inside the library only).
#pragma once

#include <string>

#include "kernels/cuda/convolution/mma_convolution.h"
#include "kernels/cuda/convolution/tensor_core_code.h"
#include "primitives/cuda/device.h"

namespace convlens::cuda_rows::convolution {

template <cuda::MmaMath math>
std::string reject_tensor_core_type(const ConvolutionProblem& problem) {
    using cuda::MmaMath;
    const DataType type = problem.dst.type;
    const bool own =
        (math == MmaMath::fp16 && type == DataType::f16) || (math == MmaMath::bf16 && type == DataType::bf16);
    if (type == DataType::f32 || own) return {};
    const char* known = math == MmaMath::fp16   ? "only f32 and f16 are supported, not "
                        : math == MmaMath::bf16 ? "only f32 and bf16 are supported, not "
                                                : "only f32 is supported, not ";
    return std::string(known) + to_string(type);
}

inline std::string reject_without_code(const Context& context, cuda::TensorCoreCode least) {
    const cuda::DeviceTraits& traits = traits_of(context);
    const bool wgmma = least == cuda::TensorCoreCode::wgmma;
    if (wgmma ? traits.major != 9 : traits.major < 8)
        return wgmma ? "needs a GPU of compute capability 9.0"
                     : "needs a GPU of compute capability 8.0 or above";
    context_device(context).activate();
    if (cuda::tensor_core_code(traits) >= least) return {};
    return "this program was built without code for compute capability " + std::to_string(traits.major) +
           "." + std::to_string(traits.minor);
}

// The product of two low parts is dropped, and low parts are rounded: up to 5u of one product, which may be
// the only one where the window reaches over an edge; the bound of fp32 admits that from 8 products on.
inline constexpr std::int64_t least_split_products = 8;
inline constexpr const char* few_products =
    "split TF32 needs at least 8 products an output to hold the bound of fp32";
inline std::int64_t products_an_output(const ConvolutionProblem& problem) {
    std::int64_t count = problem.weights[1];
    for (int axis = 2; axis < problem.weights.rank(); ++axis) count *= problem.weights[axis];
    return count;
}

}  // namespace convlens::cuda_rows::convolution
