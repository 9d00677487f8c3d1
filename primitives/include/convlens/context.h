// Contexts: a backend, its device or threads, its memory and the order of its work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convlens/error.h"

namespace convlens {
namespace cpu {
class ThreadPool;
}
class Device;
}  // namespace convlens

#pragma GCC visibility push(default)
namespace convlens {

enum class Backend : std::uint8_t { cpu, cuda };
const char* to_string(Backend backend) noexcept;

// A CUDA device of this machine.
struct DeviceInfo {
    int number = 0;
    std::string name;                     // "NVIDIA H200"
    std::array<std::uint8_t, 16> uuid{};  // as Vulkan's VkPhysicalDeviceIDProperties::deviceUUID
    std::string pci;                      // "0000:01:00.0"
    int compute_major = 0, compute_minor = 0;
    int multiprocessors = 0;
    std::size_t memory_bytes = 0;
};
// All of them; where there are none, `why_none` says why (not in this build, no driver, driver too old, no
// device) and what would help. Never throws.
std::vector<DeviceInfo> cuda_devices(std::string* why_none = nullptr);

// What a device says of itself just now.
struct DeviceHealth {
    int clock_mhz = 0, max_clock_mhz = 0;  // of the multiprocessors; 0: not known
    int temperature_c = 0;                 // 0: not known
    std::string throttled_by;              // "heat", "power limit", "hardware slowdown"; empty: by nothing
};

struct ContextOptions {
    Backend backend = Backend::cpu;
    int threads = 0;  // processor: threads in all, the caller's included; 0: one a core
    int nice = 0;     // processor: added to the pool threads' nice value (a window asks for 10)
    int device = 0;   // cuda: device number
    // cuda: a cudaStream_t of the caller's on that device, which must outlive the context (cudaStreamLegacy
    // and cudaStreamPerThread are accepted); null: a stream of the context's own
    void* stream = nullptr;
};

// Work of a context is done in the order in which it was handed over. Any number of contexts may exist; no
// two threads may use one context at the same time. On CUDA a function that takes a context leaves its device
// the calling thread's current one.
class Context {
  public:
    // Throws Error(not_supported) with the reason for a backend that is not built in or has no device,
    // Error(bad_parameter) for an unknown device or a stream of another one.
    explicit Context(const ContextOptions& options = {});
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    Backend backend() const noexcept;
    int threads() const noexcept;
    // "AMD EPYC ..., AVX-512, 2 threads"; "NVIDIA H200, compute capability 9.0"
    std::string device_text() const;
    // CPU time in milliseconds that the calling thread and the pool have used so far; null on other backends.
    std::optional<double> cpu_milliseconds() const;
    // Waits until the work handed over so far is done (a no-op on the processor). Throws
    // Error(runtime_failure) when it failed.
    void synchronize();
    // cuda: the stream in use (cudaStream_t), null on the processor. Later work goes to another one with
    // set_stream (null: back to the context's own); the order between the two is the caller's. Throws
    // Error(not_supported) on the processor, Error(bad_parameter) for a stream of another device.
    void* stream() const noexcept;
    void set_stream(void* stream);
    // Clock, temperature and throttling; empty on the processor and where the driver does not say. Takes up
    // to a millisecond.
    std::optional<DeviceHealth> health() const;
    // A named range in the timeline of a profiler (NVTX) around the work that is handed over between the two;
    // a no-op where no profiler looks.
    void begin_range(const char* name);
    void end_range();
    // The threads of the processor: all kernels of the backend cpu, and on cuda what the processor does
    // beside.
    cpu::ThreadPool& pool() const;
    // The device of a backend other than cpu (inside the library); null on the processor.
    Device* device() const noexcept;

    // Memory of the backend, 256-byte aligned, not cleared. Throws Error(runtime_failure) naming the size and
    // what is free. 0 bytes: null. release(null) does nothing.
    void* allocate(std::size_t bytes);
    void release(void* memory) noexcept;
    // Copies between host memory and the backend's, after the work handed over so far. upload: `host` may be
    // changed after the return. download: waits, `host` holds the values then.
    void upload(void* dst, const void* host, std::size_t bytes);
    void download(void* host, const void* src, std::size_t bytes);
    // Sets bytes of the backend's memory, after the work handed over so far.
    void fill(void* dst, unsigned char value, std::size_t bytes);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Memory of a context's backend, owned. The context must outlive it.
class Buffer {
  public:
    Buffer() = default;
    Buffer(Context& context, std::size_t bytes);
    Buffer(Context& context, const void* host, std::size_t bytes);  // with its contents
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();
    std::byte* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    Context* context_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// Points of time in the order of a context's work: CUDA events, or the clock on the processor.
class Marks {
  public:
    Marks(Context& context, int count);
    ~Marks();
    Marks(Marks&&) noexcept;
    Marks& operator=(Marks&&) noexcept;
    int count() const noexcept;
    void set(int mark);
    // Milliseconds from one mark to another; both were set, and the context has been synchronized since.
    double milliseconds(int from, int to) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Work that was recorded once and is handed over again as a whole (a CUDA graph).
class Recording {
  public:
    // Records what `work` hands over to the context instead of doing it; every pointer in it must stay valid.
    // Throws Error(not_supported) on the processor, and whatever `work` throws.
    template <class Work>
    Recording(Context& context, Work&& work) : Recording(context) {
        begin();
        try {
            work();
        } catch (...) {
            abandon();
            throw;
        }
        end();
    }
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    void run();

  private:
    explicit Recording(Context& context);
    void begin();
    void abandon() noexcept;
    void end();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convlens
#pragma GCC visibility pop
