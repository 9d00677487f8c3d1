#include "primitives/scale.h"

#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/transform/scale.h"
#include "primitives/device.h"
#include "primitives/layout_of.h"

namespace convlens {

void scale(Context& context, const TensorDesc& desc, float factor, void* data) {
    if (context.device() != nullptr)
        context.device()->scale(layout_of(desc), factor, data);
    else
        cpu::scale(layout_of(desc), factor, data, context.pool());
}

void scale_on_host(const TensorDesc& desc, float factor, void* data) {
    cpu::ThreadPool alone(1);
    cpu::scale(layout_of(desc), factor, data, alone);
}

}  // namespace convlens
