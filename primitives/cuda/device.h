// The CUDA device of a context (inside the CUDA half of the library only).
#pragma once

#include "kernels/cuda/stream.h"
#include "primitives/device.h"

namespace convlens {

class CudaDevice : public Device {
  public:
    // Makes the device the calling thread's current one: threads come and go, devices may be several.
    virtual void activate() const = 0;
    virtual const cuda::DeviceTraits& traits() const = 0;
};

inline const CudaDevice& context_device(const Context& context) {
    return static_cast<const CudaDevice&>(*context.device());
}
inline cuda::Stream stream_of(const Context& context) {
    return static_cast<cuda::Stream>(context.device()->stream());
}
inline const cuda::DeviceTraits& traits_of(const Context& context) {
    return context_device(context).traits();
}

}  // namespace convlens
