// What a backend other than the processor brings (inside the library only).
//
// The processor's half of the library never names CUDA: it asks the functions at the end of this file, which
// stand in the target of the CUDA backend, or in no_cuda.cpp where the build has none. Switching the backend
// on or off rebuilds neither half.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convlens/context.h"
#include "convlens/external.h"
#include "kernels/common/layout.h"
#include "primitives/algorithm.h"
#include "primitives/map_statistics.h"

namespace convlens {

// Of one context; used by one thread at a time. Every function throws Error(runtime_failure) when the device
// says that something failed, at the latest when it is asked to wait.
class Device {
  public:
    virtual ~Device() = default;
    virtual const DeviceInfo& info() const = 0;
    virtual std::string text() const = 0;
    virtual void* stream() const = 0;  // cudaStream_t
    // Null: the device's own. Throws Error(bad_parameter) for a stream of another device.
    virtual void set_stream(void* stream) = 0;
    // Whether kernels may follow this pointer.
    virtual bool can_address(const void* memory) const = 0;
    virtual void synchronize() = 0;

    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;
    virtual void upload(void* dst, const void* host, std::size_t bytes) = 0;
    virtual void download(void* host, const void* src, std::size_t bytes) = 0;
    virtual void fill(void* dst, unsigned char value, std::size_t bytes) = 0;
    // data = factor * data; factor 0 writes zeros without reading. Floating-point types.
    virtual void scale(const kernels::Layout& layout, float factor, void* data) = 0;

    virtual std::optional<DeviceHealth> health() const = 0;
    virtual void begin_range(const char* name) = 0;
    virtual void end_range() = 0;
    // For each view the lowest and the highest mean of |x| over `channels`, on a grid of `grid` x `grid`
    // cells; lowest above highest where no mean is finite.
    struct View {
        const float* data = nullptr;  // element 0, device memory
        std::int64_t width = 0, height = 0, channels = 0;
        std::int64_t stride_x = 0, stride_y = 0, stride_c = 0;  // in elements
    };
    struct Range {
        float lo = 0, hi = 0;
    };
    virtual void mean_ranges(std::span<const View> views, int grid, Range* out) = 0;
    // Elements of `base` (device memory) at these offsets, into host memory.
    virtual void gather(const float* base, std::span<const std::int64_t> offsets, float* out) = 0;

    virtual std::unique_ptr<MapStatisticsTaker> make_map_statistics() = 0;

    class MarkSet {
      public:
        virtual ~MarkSet() = default;
        virtual void set(int mark) = 0;
        virtual double milliseconds(int from, int to) const = 0;
    };
    virtual std::unique_ptr<MarkSet> make_marks(int count) = 0;

    class Graph {
      public:
        virtual ~Graph() = default;
        virtual void run() = 0;
    };
    virtual void begin_recording() = 0;
    virtual void abandon_recording() noexcept = 0;
    virtual std::unique_ptr<Graph> end_recording() = 0;

    // What external.h promises of these.
    class ImportedMemory {
      public:
        virtual ~ImportedMemory() = default;
        virtual std::byte* data() const = 0;
    };
    virtual std::unique_ptr<ImportedMemory> import_memory(int fd, std::size_t bytes) = 0;
    class ImportedTimeline {
      public:
        virtual ~ImportedTimeline() = default;
        virtual void wait(std::uint64_t value) = 0;
        virtual void signal(std::uint64_t value) = 0;
    };
    virtual std::unique_ptr<ImportedTimeline> import_timeline(int fd) = 0;
    class CopyStream {
      public:
        virtual ~CopyStream() = default;
        virtual void download(void* host, const void* src, std::size_t bytes) = 0;
        virtual void finish() = 0;
    };
    virtual std::unique_ptr<CopyStream> make_copy_stream() = 0;
    virtual bool pin(void* host, std::size_t bytes) noexcept = 0;
    virtual void unpin(void* host) noexcept = 0;
    virtual MemoryState memory_state() const = 0;
};

// Throws Error(not_supported) with the reason and the remedy.
std::unique_ptr<Device> open_cuda_device(int number);
std::vector<DeviceInfo> list_cuda_devices(std::string& why_none);
// The list of the CUDA backend; empty where the build has none.
template <class P>
std::span<const Algorithm<P>> cuda_algorithms();

}  // namespace convlens
