#include "app/interop/arena.h"

#include <cstdint>
#include <exception>
#include <utility>

#include "convlens/error.h"

namespace convlens::interop {
namespace {

class HostArena final : public ArenaAllocator {
  public:
    HostArena(std::shared_ptr<network::Allocator> memory, Choice choice)
        : memory_(std::move(memory)), choice_(std::move(choice)) {}
    network::Block allocate(std::size_t bytes, const char* label) override {
        const network::Block block = memory_->allocate(bytes, label);
        if (choice_.mode == Mode::staged) staging_bytes_ += block.bytes;
        return block;
    }
    void release(const network::Block& block) noexcept override {
        if (choice_.mode == Mode::staged) staging_bytes_ -= block.bytes;
        memory_->release(block);
    }
    std::size_t largest_block() const override { return memory_->largest_block(); }
    const char* name() const override { return memory_->name(); }
    Mode mode() const override { return choice_.mode; }
    std::string reason() const override { return choice_.reason; }
    std::uint64_t staging_bytes() const override { return staging_bytes_.load(); }

  private:
    std::shared_ptr<network::Allocator> memory_;
    const Choice choice_;
    std::atomic<std::uint64_t> staging_bytes_{0};
};

// What a mirror needs to be filled; the renderer keeps it until the block is released.
struct Mirror {
    std::shared_ptr<Compute> compute;
    const std::byte* src = nullptr;
    std::shared_ptr<void> pin;
};

bool is_aligned(const std::byte* data) { return reinterpret_cast<std::uintptr_t>(data) % 256 == 0; }

}  // namespace

std::shared_ptr<ArenaAllocator> host_arena(std::shared_ptr<network::Allocator> memory, const Choice& choice) {
    return std::make_shared<HostArena>(std::move(memory), choice);
}

CudaArena::CudaArena(std::shared_ptr<Compute> compute, std::shared_ptr<render::Sharing> sharing,
                     std::shared_ptr<CudaTimeline> timeline, Choice choice, bool may_stage)
    : compute_(std::move(compute)),
      sharing_(std::move(sharing)),
      timeline_(std::move(timeline)),
      may_stage_(may_stage),
      name_((choice.mode == Mode::shared ? "memory shared with " : "memory copied to ") +
            sharing_->identity().name),
      choice_(std::move(choice)) {}

CudaArena::~CudaArena() = default;

Mode CudaArena::mode() const {
    const std::lock_guard lock(mutex_);
    return choice_.mode;
}

std::string CudaArena::reason() const {
    const std::lock_guard lock(mutex_);
    return choice_.reason;
}

network::Block CudaArena::allocate(std::size_t bytes, const char* label) {
    return mode() == Mode::shared ? share(bytes, label) : stage(bytes, label);
}

network::Block CudaArena::share(std::size_t bytes, const char* label) {
    render::Sharing::Block exported = sharing_->export_block(bytes, label);
    Entry entry;
    entry.bytes = exported.bytes;
    std::string refusal;
    try {
        entry.mapping = compute_->import_memory(exported.fd.get(), exported.bytes);
        if (!is_aligned(entry.mapping->data())) refusal = "CUDA maps Vulkan's memory off the 256-byte grid";
    } catch (const std::exception& error) {
        refusal = error.what();
    }
    if (refusal.empty()) {
        const network::Block block{entry.mapping->data(), bytes, exported.address, exported.handle};
        entries_.emplace(exported.handle, std::move(entry));
        return block;
    }
    entry.mapping.reset();
    sharing_->release(exported.handle);
    if (!may_stage_)
        throw Error(Status::not_supported, std::string(label != nullptr ? label : "arena") + ": " + refusal +
                                               "; use interop staged, or a smaller input");
    // Where the import was refused for want of memory, this is too, and nothing has changed.
    const network::Block block = stage(bytes, label);
    const std::lock_guard lock(mutex_);
    choice_ = {Mode::staged, refusal};
    return block;
}

network::Block CudaArena::stage(std::size_t bytes, const char* label) {
    Entry entry;
    entry.plain = compute_->allocate(bytes);
    auto mirror = std::make_shared<Mirror>();
    mirror->compute = compute_;
    mirror->src = entry.plain;
    render::Sharing::Block block;
    try {
        block = sharing_->mirror_block(bytes, label,
                                       [mirror](std::byte* mapped, std::span<const render::BlockPart> parts) {
                                           mirror->compute->fetch(mapped, mirror->src, parts);
                                       });
    } catch (...) {
        compute_->release(entry.plain);
        throw;
    }
    mirror->pin = compute_->pin(block.mapped, bytes);
    entry.bytes = block.bytes;
    staging_bytes_ += entry.bytes;
    const network::Block result{entry.plain, bytes, block.address, block.handle};
    entries_.emplace(block.handle, std::move(entry));
    return result;
}

void CudaArena::release(const network::Block& block) noexcept {
    const auto found = entries_.find(block.handle);
    if (found == entries_.end()) return;
    Entry entry = std::move(found->second);
    entries_.erase(found);
    // Nothing that was handed over may still write it.
    try {
        compute_->synchronize();
    } catch (const std::exception&) {
    }
    if (entry.mapping != nullptr) {
        entry.mapping.reset();
        sharing_->release(block.handle);
        return;
    }
    sharing_->release(block.handle);  // nobody fetches from now on
    compute_->release(entry.plain);
    staging_bytes_ -= entry.bytes;
}

}  // namespace convlens::interop
