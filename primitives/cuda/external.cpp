#include "primitives/cuda/external.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <string>

namespace convlens {
namespace {

void check(cudaError_t error, const std::string& what) {
    if (error == cudaSuccess) return;
    cudaGetLastError();  // it must not be found again by the next launch
    throw Error(Status::runtime_failure,
                what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")");
}

// A successful import owns the descriptor that it was given: it gets one of its own, the caller keeps the
// other.
class OwnDescriptor {
  public:
    explicit OwnDescriptor(int fd) : fd_(dup(fd)) {
        if (fd_ < 0)
            throw Error(Status::runtime_failure, "the system has no file descriptors left; close some files");
    }
    ~OwnDescriptor() {
        if (fd_ >= 0) close(fd_);
    }
    OwnDescriptor(const OwnDescriptor&) = delete;
    OwnDescriptor& operator=(const OwnDescriptor&) = delete;
    int get() const { return fd_; }
    void imported() { fd_ = -1; }

  private:
    int fd_;
};

cudaStream_t stream_of(const CudaDevice& device) { return static_cast<cudaStream_t>(device.stream()); }

class Memory final : public Device::ImportedMemory {
  public:
    Memory(const CudaDevice& device, int fd, std::size_t bytes) : device_(device) {
        device.activate();
        OwnDescriptor own(fd);
        cudaExternalMemoryHandleDesc handle{};
        handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
        handle.handle.fd = own.get();
        handle.size = bytes;
        handle.flags = cudaExternalMemoryDedicated;
        const std::string what =
            device.info().name + " does not import " + std::to_string(bytes) + " bytes of another API";
        check(cudaImportExternalMemory(&memory_, &handle), what);
        own.imported();
        cudaExternalMemoryBufferDesc buffer{};
        buffer.size = bytes;
        void* data = nullptr;
        if (const cudaError_t error = cudaExternalMemoryGetMappedBuffer(&data, memory_, &buffer)) {
            cudaDestroyExternalMemory(memory_);
            check(error, what);
        }
        data_ = static_cast<std::byte*>(data);
    }
    ~Memory() override {
        cudaSetDevice(device_.info().number);
        cudaStreamSynchronize(stream_of(device_));
        cudaFree(data_);
        cudaDestroyExternalMemory(memory_);
        cudaGetLastError();
    }
    std::byte* data() const override { return data_; }

  private:
    const CudaDevice& device_;
    cudaExternalMemory_t memory_ = nullptr;
    std::byte* data_ = nullptr;
};

class Timeline final : public Device::ImportedTimeline {
  public:
    Timeline(const CudaDevice& device, int fd) : device_(device) {
        device.activate();
        OwnDescriptor own(fd);
        cudaExternalSemaphoreHandleDesc handle{};
        handle.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
        handle.handle.fd = own.get();
        check(cudaImportExternalSemaphore(&semaphore_, &handle),
              device.info().name + " does not import a timeline of another API");
        own.imported();
    }
    ~Timeline() override {
        cudaSetDevice(device_.info().number);
        cudaStreamSynchronize(stream_of(device_));
        cudaDestroyExternalSemaphore(semaphore_);
        cudaGetLastError();
    }
    void wait(std::uint64_t value) override {
        device_.activate();
        cudaExternalSemaphoreWaitParams params{};
        params.params.fence.value = value;
        check(cudaWaitExternalSemaphoresAsync(&semaphore_, &params, 1, stream_of(device_)),
              "waiting for another API");
    }
    void signal(std::uint64_t value) override {
        device_.activate();
        cudaExternalSemaphoreSignalParams params{};
        params.params.fence.value = value;
        check(cudaSignalExternalSemaphoresAsync(&semaphore_, &params, 1, stream_of(device_)),
              "signalling another API");
    }

  private:
    const CudaDevice& device_;
    cudaExternalSemaphore_t semaphore_ = nullptr;
};

class Copies final : public Device::CopyStream {
  public:
    explicit Copies(const CudaDevice& device) : device_(device) {
        device.activate();
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream of copies");
    }
    ~Copies() override {
        cudaSetDevice(device_.info().number);
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
        cudaGetLastError();
    }
    void download(void* host, const void* src, std::size_t bytes) override {
        device_.activate();
        check(cudaMemcpyAsync(host, src, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the device");
    }
    void finish() override {
        device_.activate();
        check(cudaStreamSynchronize(stream_), "copying from the device");
    }

  private:
    const CudaDevice& device_;
    cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Device::ImportedMemory> cuda_imported_memory(const CudaDevice& device, int fd,
                                                             std::size_t bytes) {
    return std::make_unique<Memory>(device, fd, bytes);
}

std::unique_ptr<Device::ImportedTimeline> cuda_imported_timeline(const CudaDevice& device, int fd) {
    return std::make_unique<Timeline>(device, fd);
}

std::unique_ptr<Device::CopyStream> cuda_copy_stream(const CudaDevice& device) {
    return std::make_unique<Copies>(device);
}

bool cuda_pin(const CudaDevice& device, void* host, std::size_t bytes) noexcept {
    cudaSetDevice(device.info().number);
    const bool pinned = cudaHostRegister(host, bytes, cudaHostRegisterDefault) == cudaSuccess;
    cudaGetLastError();
    return pinned;
}

void cuda_unpin(const CudaDevice& device, void* host) noexcept {
    cudaSetDevice(device.info().number);
    cudaHostUnregister(host);
    cudaGetLastError();
}

MemoryState cuda_memory_state(const CudaDevice& device) {
    device.activate();
    MemoryState state;
    check(cudaMemGetInfo(&state.free_bytes, &state.total_bytes), device.info().name);
    return state;
}

}  // namespace convlens
