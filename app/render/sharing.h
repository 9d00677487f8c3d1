// How another API computes in this renderer's memory, or beside it: the graphics half of interop, without a
// Vulkan type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace convlens::render {

// Which GPU this is, as CUDA names it too.
struct DeviceIdentity {
    std::string name;  // "NVIDIA H200"
    std::optional<std::array<std::uint8_t, 16>> uuid;
    std::string pci;  // "0000:01:00.0"; empty: not known
};

// Whether both stand for one GPU: by UUID, or by place on the bus where one side knows no UUID.
bool same_device(const DeviceIdentity& a, const DeviceIdentity& b);

// A part of a block that a refresh is about to read.
struct BlockPart {
    std::uint64_t offset = 0, bytes = 0;
};

// An opaque file descriptor, owned.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();
    int get() const { return fd_; }

  private:
    int fd_ = -1;
};

class Sharing {
  public:
    virtual ~Sharing() = default;
    virtual const DeviceIdentity& identity() const = 0;
    // Why this device exports no memory or no timelines; empty: it does.
    virtual const std::string& obstacle() const = 0;
    virtual std::size_t largest_block() const = 0;

    struct Block {
        std::uint64_t handle = 0;
        std::uint64_t address = 0;    // what shaders read
        std::size_t bytes = 0;        // of the allocation
        std::byte* mapped = nullptr;  // mirrors only
        FileDescriptor fd;            // exported blocks only
    };
    // Device-local memory of a dedicated allocation. It belongs to the other API (VK_QUEUE_FAMILY_EXTERNAL)
    // except while a refresh reads it. Any thread. Throws Error(runtime_failure) with the size.
    virtual Block export_block(std::size_t bytes, const char* label) = 0;
    // Memory of the host that shaders read. Before a refresh does, `fetch` is called on the window's thread
    // with the parts that it will read, ascending and apart; they hold what is to be shown when it returns.
    using Fetch = std::function<void(std::byte* mapped, std::span<const BlockPart> parts)>;
    virtual Block mirror_block(std::size_t bytes, const char* label, Fetch fetch) = 0;
    // The memory goes when no refresh reads it any more; `fetch` is not called again. Any thread.
    virtual void release(std::uint64_t handle) noexcept = 0;

    // The timeline that compute signals: Renderer::end_refresh waits for its values on the GPU.
    virtual FileDescriptor export_written() = 0;
    // The timeline that refreshes signal: its values are those of Renderer::last_refresh.
    virtual FileDescriptor export_read() = 0;
    // In place of compute, where that can't signal any more. Any thread.
    virtual void signal_written(std::uint64_t value) noexcept = 0;
};

}  // namespace convlens::render
