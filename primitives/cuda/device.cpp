#include "primitives/cuda/device.h"
#include "kernels/cuda/gather/gather.h"
#include "kernels/cuda/gather/mean_range.h"
#include "kernels/cuda/transform/scale.h"
#include "primitives/cuda/nvml.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "primitives/cuda/external.h"
#include "primitives/cuda/map_statistics.h"

namespace convlens {
namespace {

// Errors of the device that a caller can do nothing about but be told.
void check(cudaError_t error, const std::string& what) {
    if (error == cudaSuccess) return;
    cudaGetLastError();  // it must not be found again by the next launch
    throw Error(Status::runtime_failure,
                what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")");
}

std::string why_no_device(cudaError_t error) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    switch (error) {
        case cudaErrorInsufficientDriver:
            if (driver == 0)
                return "there is no NVIDIA driver on this machine; install one, or use the cpu backend";
            return "the NVIDIA driver is for CUDA " + version(driver) + ", this program needs CUDA " +
                   version(runtime) + "; install a newer driver, or use the cpu backend";
        case cudaErrorNoDevice:
            return "the NVIDIA driver finds no GPU; check CUDA_VISIBLE_DEVICES, or use the cpu backend";
        default:
            return std::string("the NVIDIA driver does not start: ") + cudaGetErrorString(error) +
                   "; use the cpu backend";
    }
}

DeviceInfo describe(int number) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, number), "device " + std::to_string(number));
    DeviceInfo info;
    info.number = number;
    info.name = properties.name;
    std::memcpy(info.uuid.data(), &properties.uuid, info.uuid.size());
    char pci[32] = {};
    if (cudaDeviceGetPCIBusId(pci, sizeof pci, number) == cudaSuccess) info.pci = pci;
    info.compute_major = properties.major;
    info.compute_minor = properties.minor;
    info.multiprocessors = properties.multiProcessorCount;
    info.memory_bytes = properties.totalGlobalMem;
    return info;
}

class RuntimeMarks final : public Device::MarkSet {
  public:
    RuntimeMarks(const CudaDevice& device, int count) : device_(device) {
        device.activate();
        for (int i = 0; i < count; ++i) {
            cudaEvent_t event = nullptr;
            const cudaError_t error = cudaEventCreate(&event);
            if (error != cudaSuccess) destroy();
            check(error, "a timer of the device");
            events_.push_back(event);
        }
    }
    ~RuntimeMarks() override { destroy(); }
    void set(int mark) override {
        check(cudaEventRecord(events_[static_cast<std::size_t>(mark)],
                              static_cast<cudaStream_t>(device_.stream())),
              "a timer of the device");
    }
    double milliseconds(int from, int to) const override {
        float ms = 0;
        check(cudaEventElapsedTime(&ms, events_[static_cast<std::size_t>(from)],
                                   events_[static_cast<std::size_t>(to)]),
              "a timer of the device");
        return static_cast<double>(ms);
    }

  private:
    void destroy() noexcept {
        for (const cudaEvent_t event : events_) cudaEventDestroy(event);
        events_.clear();
    }
    const CudaDevice& device_;
    std::vector<cudaEvent_t> events_;
};

class RuntimeGraph final : public Device::Graph {
  public:
    RuntimeGraph(const CudaDevice& device, cudaGraph_t graph) : device_(device) {
        const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
        cudaGraphDestroy(graph);
        check(error, "recording a pass");
    }
    ~RuntimeGraph() override { cudaGraphExecDestroy(executable_); }
    void run() override {
        device_.activate();
        check(cudaGraphLaunch(executable_, static_cast<cudaStream_t>(device_.stream())), "a recorded pass");
    }

  private:
    const CudaDevice& device_;
    cudaGraphExec_t executable_ = nullptr;
};

// Device memory that grows and is kept.
class Scratch {
  public:
    ~Scratch() { cudaFree(memory_); }
    std::byte* of(std::size_t bytes) {
        if (bytes > bytes_) {
            cudaFree(memory_);
            memory_ = nullptr;
            bytes_ = 0;
            check(cudaMalloc(&memory_, bytes), "memory of the device");
            bytes_ = bytes;
        }
        return static_cast<std::byte*>(memory_);
    }

  private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

class RuntimeDevice final : public CudaDevice {
  public:
    explicit RuntimeDevice(int number) : info_(describe(number)) {
        activate();
        check(cudaStreamCreateWithFlags(&own_stream_, cudaStreamNonBlocking), info_.name);
        stream_ = own_stream_;
        traits_.major = info_.compute_major;
        traits_.minor = info_.compute_minor;
        traits_.multiprocessors = info_.multiprocessors;
        cudaDeviceGetAttribute(&traits_.shared_bytes_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, number);
        cudaDeviceGetAttribute(&traits_.l2_bytes, cudaDevAttrL2CacheSize, number);
        cudaDeviceGetAttribute(&addresses_host_memory_, cudaDevAttrPageableMemoryAccess, number);
    }
    ~RuntimeDevice() override {
        cudaSetDevice(info_.number);
        cudaStreamDestroy(own_stream_);
    }

    void activate() const override { check(cudaSetDevice(info_.number), info_.name); }
    const cuda::DeviceTraits& traits() const override { return traits_; }
    const DeviceInfo& info() const override { return info_; }
    std::string text() const override {
        return info_.name + ", compute capability " + std::to_string(info_.compute_major) + "." +
               std::to_string(info_.compute_minor);
    }
    void* stream() const override { return stream_; }
    void set_stream(void* stream) override {
        activate();
        const auto wanted = stream == nullptr ? own_stream_ : static_cast<cudaStream_t>(stream);
        int device = info_.number;
        check(cudaStreamGetDevice(wanted, &device), "stream");
        if (device != info_.number)
            throw Error(Status::bad_parameter, "stream: it is of device " + std::to_string(device) +
                                                   ", the context is of device " +
                                                   std::to_string(info_.number));
        stream_ = wanted;
    }
    // Asking the driver takes 75 ns a pointer, so that pages of device memory are remembered: no host memory
    // shares one with them.
    bool can_address(const void* memory) const override {
        if (addresses_host_memory_ != 0) return true;
        const auto page = reinterpret_cast<std::uintptr_t>(memory) >> 21;
        std::uintptr_t& known = device_pages_[page % device_pages_.size()];
        if (known == page) return true;
        cudaPointerAttributes attributes{};
        if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
            cudaGetLastError();
            return true;  // not known: the launch will tell
        }
        if (attributes.type == cudaMemoryTypeDevice) known = page;
        return attributes.type != cudaMemoryTypeUnregistered;
    }
    void synchronize() override {
        activate();
        check(cudaStreamSynchronize(stream_), info_.name);
    }

    void* allocate(std::size_t bytes) override {
        activate();
        void* memory = nullptr;
        const cudaError_t error = cudaMalloc(&memory, bytes);
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            std::size_t free = 0, total = 0;
            cudaMemGetInfo(&free, &total);
            throw Error(Status::runtime_failure,
                        info_.name + " has no " + std::to_string(bytes) + " bytes of memory left (" +
                            std::to_string(free) + " of " + std::to_string(total) +
                            " are free); use a smaller input, a smaller batch or the lean mode");
        }
        check(error, "memory of the device");
        return memory;
    }
    void release(void* memory) noexcept override {
        device_pages_.fill(0);
        cudaSetDevice(info_.number);
        cudaFree(memory);
    }
    void upload(void* dst, const void* host, std::size_t bytes) override {
        activate();
        // From pageable memory: the source has been read when the call returns.
        check(cudaMemcpyAsync(dst, host, bytes, cudaMemcpyHostToDevice, stream_), "copying to the device");
        check(cudaStreamSynchronize(stream_), "copying to the device");
    }
    void download(void* host, const void* src, std::size_t bytes) override {
        activate();
        check(cudaMemcpyAsync(host, src, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the device");
        check(cudaStreamSynchronize(stream_), "copying from the device");
    }
    void fill(void* dst, unsigned char value, std::size_t bytes) override {
        activate();
        check(cudaMemsetAsync(dst, value, bytes, stream_), "clearing memory of the device");
    }

    void scale(const kernels::Layout& layout, float factor, void* data) override {
        activate();
        cuda::scale(layout, factor, data, stream_);
        if (const char* error = cuda::take_launch_error())
            throw Error(Status::runtime_failure,
                        std::string("scaling a tensor: the device refused the launch: ") + error);
    }

    std::optional<DeviceHealth> health() const override {
        if (!monitor_asked_) {
            monitor_asked_ = true;
            monitor_ = HealthMonitor::open(info_.pci);
        }
        return monitor_ ? monitor_->read() : std::nullopt;
    }
    void begin_range(const char* name) override { nvtxRangePushA(name); }
    void end_range() override { nvtxRangePop(); }

    void mean_ranges(std::span<const View> views, int grid, Range* out) override {
        static_assert(sizeof(View) == sizeof(cuda::MeanView) && sizeof(Range) == sizeof(cuda::MeanRange));
        if (views.empty()) return;
        activate();
        std::byte* memory = scratch_.of(views.size_bytes() + views.size() * sizeof(Range));
        auto* ranges = memory + views.size_bytes();
        upload(memory, views.data(), views.size_bytes());
        cuda::mean_ranges(reinterpret_cast<const cuda::MeanView*>(memory), static_cast<int>(views.size()),
                          grid, reinterpret_cast<cuda::MeanRange*>(ranges), stream_);
        download(out, ranges, views.size() * sizeof(Range));
    }
    void gather(const float* base, std::span<const std::int64_t> offsets, float* out) override {
        if (offsets.empty()) return;
        activate();
        const std::size_t values_at = offsets.size_bytes();
        std::byte* memory = scratch_.of(values_at + offsets.size() * sizeof(float));
        auto* there = reinterpret_cast<std::int64_t*>(memory);
        auto* values = reinterpret_cast<float*>(memory + values_at);
        upload(there, offsets.data(), offsets.size_bytes());
        cuda::gather_floats(base, there, static_cast<int>(offsets.size()), values, stream_);
        download(out, values, offsets.size() * sizeof(float));
    }

    std::unique_ptr<MapStatisticsTaker> make_map_statistics() override { return cuda_map_statistics(*this); }

    std::unique_ptr<MarkSet> make_marks(int count) override {
        return std::make_unique<RuntimeMarks>(*this, count);
    }
    void begin_recording() override {
        activate();
        check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "recording a pass");
    }
    void abandon_recording() noexcept override {
        cudaGraph_t graph = nullptr;
        if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph != nullptr) cudaGraphDestroy(graph);
        cudaGetLastError();
    }
    std::unique_ptr<Graph> end_recording() override {
        cudaGraph_t graph = nullptr;
        check(cudaStreamEndCapture(stream_, &graph), "recording a pass");
        return std::make_unique<RuntimeGraph>(*this, graph);
    }

    std::unique_ptr<ImportedMemory> import_memory(int fd, std::size_t bytes) override {
        return cuda_imported_memory(*this, fd, bytes);
    }
    std::unique_ptr<ImportedTimeline> import_timeline(int fd) override {
        return cuda_imported_timeline(*this, fd);
    }
    std::unique_ptr<CopyStream> make_copy_stream() override { return cuda_copy_stream(*this); }
    bool pin(void* host, std::size_t bytes) noexcept override { return cuda_pin(*this, host, bytes); }
    void unpin(void* host) noexcept override { cuda_unpin(*this, host); }
    MemoryState memory_state() const override { return cuda_memory_state(*this); }

  private:
    DeviceInfo info_;
    cuda::DeviceTraits traits_;
    int addresses_host_memory_ = 0;
    mutable std::array<std::uintptr_t, 64> device_pages_{};
    cudaStream_t own_stream_ = nullptr;
    cudaStream_t stream_ = nullptr;  // in use
    Scratch scratch_;
    mutable bool monitor_asked_ = false;
    mutable std::unique_ptr<HealthMonitor> monitor_;
};

}  // namespace

std::vector<DeviceInfo> list_cuda_devices(std::string& why_none) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (error != cudaSuccess) {
        why_none = why_no_device(error);
        return {};
    }
    std::vector<DeviceInfo> devices;
    for (int number = 0; number < count; ++number) {
        try {
            devices.push_back(describe(number));
        } catch (const Error& failure) {
            why_none = failure.what();
        }
    }
    if (devices.empty() && why_none.empty()) why_none = why_no_device(cudaErrorNoDevice);
    return devices;
}

std::unique_ptr<Device> open_cuda_device(int number) {
    std::string why_none;
    const auto devices = list_cuda_devices(why_none);
    if (devices.empty()) throw Error(Status::not_supported, "no CUDA device: " + why_none);
    const bool known = std::any_of(devices.begin(), devices.end(),
                                   [&](const DeviceInfo& info) { return info.number == number; });
    if (!known)
        throw Error(Status::bad_parameter, "device: there is no CUDA device " + std::to_string(number) +
                                               ", only 0 to " + std::to_string(devices.size() - 1));
    return std::make_unique<RuntimeDevice>(number);
}

}  // namespace convlens
