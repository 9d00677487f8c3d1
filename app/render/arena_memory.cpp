#include "app/render/arena_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "convlens/error.h"

namespace convlens::render {
namespace {

// One gibibyte: within the allocation limit of every device, and far above what one tensor needs.
constexpr std::uint64_t block_limit = std::uint64_t{1} << 30;

class ArenaMemory final : public network::Allocator {
  public:
    ArenaMemory(std::shared_ptr<Device> device, std::shared_ptr<ArenaBook> book, bool staged)
        : device_(std::move(device)), book_(std::move(book)), staged_(staged) {
        name_ = (staged_ ? "memory copied to " : "memory shared with ") + device_->name();
    }

    network::Block allocate(std::size_t bytes, const char* label) override {
        if (bytes > largest_block())
            throw Error(Status::runtime_failure,
                        "A block of " + std::to_string(bytes) + " bytes is larger than the " +
                            std::to_string(largest_block()) + " bytes that " + device_->name() +
                            " gives at once; use a smaller input or the lean mode");
        const std::size_t size = std::max<std::size_t>((bytes + 255) / 256 * 256, 256);
        auto block = std::make_shared<ArenaBlock>();
        block->memory =
            Buffer(*device_, {.bytes = size,
                              .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                       VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                              .cached = true,
                              .viewer = false,
                              .name = label != nullptr ? label : "arena"});
        if (staged_)
            block->copy = Buffer(
                *device_, {.bytes = size,
                           .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                           .mapped = false,
                           .name = "staged arena"});
        network::Block result{
            .data = block->memory.mapped(), .bytes = size, .device_address = block->address()};
        if (reinterpret_cast<std::uintptr_t>(result.data) % 256 != 0)
            throw Error(Status::runtime_failure,
                        device_->name() + " maps memory off the 256-byte grid; choose another --device");
        result.handle = book_->add(std::move(block));
        return result;
    }

    void release(const network::Block& block) noexcept override {
        if (block.handle != 0) book_->remove(block.handle);
    }

    std::size_t largest_block() const override {
        return static_cast<std::size_t>(std::min(block_limit, device_->max_allocation()));
    }

    const char* name() const override { return name_.c_str(); }

  private:
    std::shared_ptr<Device> device_;
    std::shared_ptr<ArenaBook> book_;
    bool staged_;
    std::string name_;
};

}  // namespace

std::uint64_t ArenaBook::add(std::shared_ptr<ArenaBlock> block) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t handle = block->address();
    by_address_[handle] = std::move(block);
    return handle;
}

void ArenaBook::remove(std::uint64_t handle) noexcept {
    const std::lock_guard lock(mutex_);
    const auto entry = by_address_.find(handle);
    if (entry == by_address_.end()) return;
    std::shared_ptr<ArenaBlock> block = std::move(entry->second);
    by_address_.erase(entry);
    Timeline& timeline = device_->timeline();
    if (recording_)
        device_->defer(std::move(block));
    else if (timeline.completed() < timeline.last())
        device_->defer(std::move(block), timeline.last());
}

void ArenaBook::begin_recording() {
    const std::lock_guard lock(mutex_);
    recording_ = true;
}

void ArenaBook::end_recording() {
    const std::lock_guard lock(mutex_);
    recording_ = false;
}

std::shared_ptr<ArenaBlock> ArenaBook::find(std::uint64_t first, std::uint64_t last) const {
    const std::lock_guard lock(mutex_);
    auto entry = by_address_.upper_bound(first);
    if (entry == by_address_.begin()) return nullptr;
    --entry;
    const std::uint64_t offset = first - entry->first, end = last - entry->first;
    if (last < first || end >= entry->second->memory.bytes() || offset > end) return nullptr;
    return entry->second;
}

std::uint64_t ArenaBook::bytes() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const auto& [address, block] : by_address_) sum += block->memory.bytes();
    return sum;
}

std::shared_ptr<network::Allocator> arena_memory(std::shared_ptr<Device> device,
                                                 std::shared_ptr<ArenaBook> book, bool staged) {
    return std::make_shared<ArenaMemory>(std::move(device), std::move(book), staged);
}

}  // namespace convlens::render
