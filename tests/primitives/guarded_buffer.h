// Memory with guard bytes on both sides, one element off any larger alignment when asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace convlens::test {

class GuardedBuffer {
  public:
    // `shift` bytes are added to a 64-byte aligned address.
    explicit GuardedBuffer(std::size_t bytes, unsigned char fill, std::size_t shift = 0)
        : bytes_(bytes), storage_(bytes + shift + 2 * guard + 64, pattern) {
        const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + guard;
        begin_ = (address + 63) / 64 * 64 - reinterpret_cast<std::uintptr_t>(storage_.data()) + shift;
        for (unsigned char& byte : std::span(storage_).subspan(begin_, bytes)) byte = fill;
    }
    void* data() { return storage_.data() + begin_; }
    template <class T>
    T* as() {
        return reinterpret_cast<T*>(storage_.data() + begin_);
    }
    std::size_t bytes() const { return bytes_; }
    bool guards_intact() const {
        for (std::size_t i = 0; i < storage_.size(); ++i)
            if ((i < begin_ || i >= begin_ + bytes_) && storage_[i] != pattern) return false;
        return true;
    }

  private:
    static constexpr std::size_t guard = 256;
    static constexpr unsigned char pattern = 0x7F;  // as a float 3.4e38: a read of it shows
    std::size_t bytes_;
    std::size_t begin_ = 0;
    std::vector<unsigned char> storage_;
};

}  // namespace convlens::test
