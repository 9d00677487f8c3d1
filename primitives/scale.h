// Scaling of tensors in place (inside the library only): what beta and alpha come down to.
#pragma once

#include "convlens/context.h"
#include "convlens/tensor.h"

namespace convlens {

// data = factor * data for memory of the context's backend; factor 0 writes zeros without reading.
// Floating-point types.
void scale(Context& context, const TensorDesc& desc, float factor, void* data);
void scale_on_host(const TensorDesc& desc, float factor, void* data);

}  // namespace convlens
