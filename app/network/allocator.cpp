#include "app/network/allocator.h"

#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "convlens/error.h"

namespace convlens::network {

namespace {

constexpr std::size_t alignment = 256;

std::size_t physical_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return std::numeric_limits<std::size_t>::max() / 2;
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

class HostAllocator final : public Allocator {
  public:
    Block allocate(std::size_t bytes, const char* label) override {
        const auto fail = [&](const std::string& why) {
            throw Error(Status::runtime_failure, std::string(label) + " needs " + std::to_string(bytes) +
                                                     " bytes of memory: " + why +
                                                     "; use a smaller input or a smaller model");
        };
        if (bytes > largest_block()) fail("this machine has " + std::to_string(largest_block()) + " bytes");
        const std::size_t size = (bytes + alignment) / alignment * alignment;
        void* data = std::aligned_alloc(alignment, size);
        if (data == nullptr) fail("the system refused it");
        Block block;
        block.data = static_cast<std::byte*>(data);
        block.bytes = bytes;
        return block;
    }
    void release(const Block& block) noexcept override { std::free(block.data); }
    std::size_t largest_block() const override {
        static const std::size_t limit = physical_memory();
        return limit;
    }
    const char* name() const override { return "plain memory"; }
};

class ContextAllocator final : public Allocator {
  public:
    explicit ContextAllocator(Context& context)
        : context_(context), name_("memory of " + context.device_text()) {}
    Block allocate(std::size_t bytes, const char* label) override {
        Block block;
        try {
            block.data = static_cast<std::byte*>(context_.allocate(bytes));
        } catch (const Error& error) {
            throw Error(error.status(), std::string(label) + ": " + error.what());
        }
        block.bytes = bytes;
        return block;
    }
    void release(const Block& block) noexcept override { context_.release(block.data); }
    std::size_t largest_block() const override { return std::numeric_limits<std::size_t>::max() / 2; }
    const char* name() const override { return name_.c_str(); }

  private:
    Context& context_;
    std::string name_;
};

}  // namespace

std::shared_ptr<Allocator> context_allocator(Context& context) {
    if (context.backend() == Backend::cpu) return host_allocator();
    return std::make_shared<ContextAllocator>(context);
}

std::shared_ptr<Allocator> host_allocator() {
    static const std::shared_ptr<Allocator> allocator = std::make_shared<HostAllocator>();
    return allocator;
}

}  // namespace convlens::network
