// What the CUDA device shares with another API of the same GPU (inside the CUDA half of the library only).
#pragma once

#include <memory>

#include "primitives/cuda/device.h"

namespace convlens {

std::unique_ptr<Device::ImportedMemory> cuda_imported_memory(const CudaDevice& device, int fd,
                                                             std::size_t bytes);
std::unique_ptr<Device::ImportedTimeline> cuda_imported_timeline(const CudaDevice& device, int fd);
std::unique_ptr<Device::CopyStream> cuda_copy_stream(const CudaDevice& device);
bool cuda_pin(const CudaDevice& device, void* host, std::size_t bytes) noexcept;
void cuda_unpin(const CudaDevice& device, void* host) noexcept;
MemoryState cuda_memory_state(const CudaDevice& device);

}  // namespace convlens
