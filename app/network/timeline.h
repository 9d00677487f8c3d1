// Order between compute and those who read its memory elsewhere: who may touch it, and since when.
//
// The contract, the same for every backend:
//  - A timeline owns its counter. Nobody passes in a value; each write takes the next one, so values rise
//    strictly over all arenas, models and window sizes.
//  - "Compute writes now" is the scope of a ComputeWrites: its constructor makes compute wait for the readers
//    so far, its destructor makes the writes visible to readers that ask for `written()` afterwards. A scope
//    left by an exception still signals: a reader never waits for a write that will not come.
#pragma once

#include <cstdint>

namespace convlens::network {

class Timeline {
  public:
    virtual ~Timeline() = default;
    // The value that the last finished (host) or queued (CUDA) write signals; 0 before the first.
    virtual std::uint64_t written() const = 0;

  private:
    friend class ComputeWrites;
    virtual void begin_write() = 0;
    virtual void end_write() noexcept = 0;
};

// The scope in which compute may write the arena.
class ComputeWrites {
  public:
    explicit ComputeWrites(Timeline& timeline) : ComputeWrites(&timeline) {}
    // Null: nobody reads the memory but compute itself, or readers are ordered otherwise.
    explicit ComputeWrites(Timeline* timeline) : timeline_(timeline) {
        if (timeline_ != nullptr) timeline_->begin_write();
    }
    ~ComputeWrites() {
        if (timeline_ != nullptr) timeline_->end_write();
    }
    ComputeWrites(const ComputeWrites&) = delete;
    ComputeWrites& operator=(const ComputeWrites&) = delete;

  private:
    Timeline* timeline_;
};

}  // namespace convlens::network
