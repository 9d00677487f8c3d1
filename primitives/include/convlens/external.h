// What a context of the backend cuda shares with another API of the same GPU (Vulkan): memory, and the order
// of reads and writes. And copies beside the context's own work, for those who can't share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "convlens/context.h"

#pragma GCC visibility push(default)
namespace convlens {

// Memory that another API has exported as an opaque file descriptor, of one buffer alone (a dedicated
// allocation), mapped into the context's device. The exporter keeps its own use of it; the context must
// outlive the mapping.
class ExternalMemory {
  public:
    // `bytes`: the size of the exported allocation. The descriptor stays the caller's, who closes it. Throws
    // Error(not_supported) on the processor, Error(runtime_failure) with the reason where the device refuses.
    ExternalMemory(Context& context, int fd, std::size_t bytes);
    // Waits for the context's work first.
    ~ExternalMemory();
    ExternalMemory(ExternalMemory&&) noexcept;
    ExternalMemory& operator=(ExternalMemory&&) noexcept;
    std::byte* data() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// A timeline semaphore that another API has exported as an opaque file descriptor. The context must outlive
// it.
class ExternalTimeline {
  public:
    // The descriptor as with ExternalMemory.
    ExternalTimeline(Context& context, int fd);
    ~ExternalTimeline();
    ExternalTimeline(ExternalTimeline&&) noexcept;
    ExternalTimeline& operator=(ExternalTimeline&&) noexcept;
    // The context's later work waits until the semaphore has reached `value`. Returns at once; not while a
    // Recording is made.
    void wait(std::uint64_t value);
    // The semaphore reaches `value` when the context's work so far is done. Returns at once; not while a
    // Recording is made.
    void signal(std::uint64_t value);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Copies from a context's memory to the host beside the context's work, on a stream of their own: the only
// thing that one further thread may do with a context while another uses it. They see what the context had
// finished (Context::synchronize) when they were handed over. The context must outlive it.
class SideCopies {
  public:
    explicit SideCopies(Context& context);
    ~SideCopies();
    SideCopies(const SideCopies&) = delete;
    SideCopies& operator=(const SideCopies&) = delete;
    // Queues a copy; `host` holds the bytes after finish().
    void download(void* host, const void* src, std::size_t bytes);
    void finish();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Makes copies between this memory of the host and the device faster, as long as it lives; false where the
// driver does not take the memory, which then works all the same.
class PinnedRange {
  public:
    PinnedRange(Context& context, void* host, std::size_t bytes) noexcept;
    ~PinnedRange();
    PinnedRange(const PinnedRange&) = delete;
    PinnedRange& operator=(const PinnedRange&) = delete;
    explicit operator bool() const noexcept { return context_ != nullptr; }

  private:
    Context* context_ = nullptr;
    void* host_ = nullptr;
};

struct MemoryState {
    std::size_t free_bytes = 0, total_bytes = 0;
};
// Of the context's device, for all programs together; both 0 on the processor. Any thread.
MemoryState memory_state(const Context& context);

}  // namespace convlens
#pragma GCC visibility pop
