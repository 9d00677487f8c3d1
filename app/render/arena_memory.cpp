#include "app/render/arena_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "convlens/error.h"

namespace convlens::render {
namespace {

// One gibibyte: within the allocation limit of every device, and far above what one tensor needs.
constexpr std::uint64_t block_limit = std::uint64_t{1} << 30;

std::size_t largest_block_of(const Device& device) {
    return static_cast<std::size_t>(std::min(block_limit, device.max_allocation()));
}

// In whole units of 256 bytes; throws for what the device does not give at once.
std::size_t block_size(const Device& device, std::size_t bytes) {
    if (bytes > largest_block_of(device))
        throw Error(Status::runtime_failure,
                    "A block of " + std::to_string(bytes) + " bytes is larger than the " +
                        std::to_string(largest_block_of(device)) + " bytes that " + device.name() +
                        " gives at once; use a smaller input or the lean mode");
    return std::max<std::size_t>((bytes + 255) / 256 * 256, 256);
}

class ArenaMemory final : public network::Allocator {
  public:
    ArenaMemory(std::shared_ptr<Device> device, std::shared_ptr<ArenaBook> book, bool staged)
        : device_(std::move(device)), book_(std::move(book)), staged_(staged) {
        name_ = (staged_ ? "memory copied to " : "memory shared with ") + device_->name();
    }

    network::Block allocate(std::size_t bytes, const char* label) override {
        const std::size_t size = block_size(*device_, bytes);
        auto block = std::make_shared<ArenaBlock>();
        block->memory = Buffer(*device_, {.bytes = size,
                                          .usage = arena_usage,
                                          .cached = true,
                                          .viewer = false,
                                          .name = label != nullptr ? label : "arena"});
        if (staged_)
            block->copy = Buffer(
                *device_,
                {.bytes = size,
                 .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                          VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                 .mapped = false,
                 .name = "staged arena"});
        block->views = std::make_unique<ValueViews>(
            *device_, staged_ ? block->copy.handle() : block->memory.handle(), size);
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

    std::size_t largest_block() const override { return largest_block_of(*device_); }

    const char* name() const override { return name_.c_str(); }

  private:
    std::shared_ptr<Device> device_;
    std::shared_ptr<ArenaBook> book_;
    bool staged_;
    std::string name_;
};

class ArenaSharing final : public Sharing {
  public:
    ArenaSharing(std::shared_ptr<Device> device, std::shared_ptr<ArenaBook> book)
        : device_(std::move(device)), book_(std::move(book)) {}

    const DeviceIdentity& identity() const override { return device_->identity(); }
    const std::string& obstacle() const override { return device_->export_obstacle(); }
    std::size_t largest_block() const override { return largest_block_of(*device_); }

    Block export_block(std::size_t bytes, const char* label) override {
        check_exports();
        auto block = std::make_shared<ArenaBlock>();
        block->external = true;
        block->memory = Buffer(*device_, {.bytes = block_size(*device_, bytes),
                                          .usage = arena_usage,
                                          .exported = true,
                                          .viewer = false,
                                          .name = label != nullptr ? label : "arena"});
        FileDescriptor fd(block->memory.export_fd());
        Block result = add(std::move(block));
        result.fd = std::move(fd);
        return result;
    }

    Block mirror_block(std::size_t bytes, const char* label, Fetch fetch) override {
        auto block = std::make_shared<ArenaBlock>();
        block->is_mirror = true;
        block->fetch = std::move(fetch);
        block->memory = Buffer(*device_, {.bytes = block_size(*device_, bytes),
                                          .usage = arena_usage,
                                          .cached = true,
                                          .viewer = false,
                                          .name = label != nullptr ? label : "mirror"});
        return add(std::move(block));
    }

    void release(std::uint64_t handle) noexcept override {
        if (handle != 0) book_->remove(handle);
    }

    FileDescriptor export_written() override {
        check_exports();
        return FileDescriptor(device_->written().export_fd());
    }
    FileDescriptor export_read() override {
        check_exports();
        return FileDescriptor(device_->read().export_fd());
    }
    void signal_written(std::uint64_t value) noexcept override { device_->written().signal(value); }

  private:
    void check_exports() const {
        if (!obstacle().empty())
            throw Error(Status::not_supported, device_->name() + " shares no memory: " + obstacle());
    }

    Block add(std::shared_ptr<ArenaBlock> block) {
        block->views = std::make_unique<ValueViews>(*device_, block->memory.handle(), block->memory.bytes());
        Block result;
        result.address = block->address();
        result.bytes = static_cast<std::size_t>(block->memory.allocation_bytes());
        result.mapped = block->memory.mapped();
        result.handle = book_->add(std::move(block));
        return result;
    }

    std::shared_ptr<Device> device_;
    std::shared_ptr<ArenaBook> book_;
};

VkDescriptorSetLayout make_values_layout(Device& device) {
    const VkDescriptorSetLayoutBinding binding{.binding = 0,
                                               .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                                               .descriptorCount = 1,
                                               .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                               .bindingCount = 1,
                                               .pBindings = &binding};
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    check(vkCreateDescriptorSetLayout(device.handle(), &info, nullptr, &layout),
          "Creating a descriptor layout");
    return layout;
}

}  // namespace

ValueViews::ValueViews(Device& device, VkBuffer buffer, std::uint64_t bytes) : device_(device) {
    // Below 2^31 bytes, so that 32 bits hold every offset.
    const std::uint64_t limit =
        std::min<std::uint64_t>(std::uint64_t{device.limits().maxTexelBufferElements} * 4, 1u << 30) / 512 *
        512;
    const std::uint64_t step = limit / 2;
    const std::uint64_t count = bytes <= limit ? 1 : (bytes - limit + step - 1) / step + 1;
    try {
        layout_ = make_values_layout(device);
        const std::uint32_t sets = static_cast<std::uint32_t>(count);
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, sets};
        const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                              .maxSets = sets,
                                              .poolSizeCount = 1,
                                              .pPoolSizes = &size};
        check(vkCreateDescriptorPool(device.handle(), &info, nullptr, &pool_), "Creating a descriptor pool");
        for (std::uint64_t i = 0; i < count; ++i)
            make_window(buffer, i * step, std::min(limit, bytes - i * step));
    } catch (...) {
        destroy();
        throw;
    }
}

ValueViews::~ValueViews() { destroy(); }

void ValueViews::destroy() noexcept {
    for (const VkBufferView view : views_) vkDestroyBufferView(device_.handle(), view, nullptr);
    vkDestroyDescriptorPool(device_.handle(), pool_, nullptr);
    vkDestroyDescriptorSetLayout(device_.handle(), layout_, nullptr);
}

void ValueViews::make_window(VkBuffer buffer, std::uint64_t first, std::uint64_t bytes) {
    const VkBufferViewCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                      .buffer = buffer,
                                      .format = VK_FORMAT_R32_SFLOAT,
                                      .offset = first,
                                      .range = bytes};
    VkBufferView view = VK_NULL_HANDLE;
    check(vkCreateBufferView(device_.handle(), &info, nullptr, &view), "Creating a view of the arena");
    views_.push_back(view);
    Window window{.first = first, .bytes = bytes};
    const VkDescriptorSetAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                               .descriptorPool = pool_,
                                               .descriptorSetCount = 1,
                                               .pSetLayouts = &layout_};
    check(vkAllocateDescriptorSets(device_.handle(), &allocate, &window.set), "Allocating a descriptor set");
    const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                     .dstSet = window.set,
                                     .descriptorCount = 1,
                                     .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                                     .pTexelBufferView = &views_.back()};
    vkUpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
    windows_.push_back(window);
}

const ValueViews::Window* ValueViews::find(std::uint64_t first, std::uint64_t last) const {
    for (const Window& window : windows_)
        if (first >= window.first && last - window.first < window.bytes) return &window;
    return nullptr;
}

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
    if (block->is_mirror) {
        const std::lock_guard fetch_lock(block->fetch_mutex);
        block->fetch = nullptr;
    }
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

std::shared_ptr<Sharing> make_sharing(std::shared_ptr<Device> device, std::shared_ptr<ArenaBook> book) {
    return std::make_shared<ArenaSharing>(std::move(device), std::move(book));
}

std::shared_ptr<network::Allocator> arena_memory(std::shared_ptr<Device> device,
                                                 std::shared_ptr<ArenaBook> book, bool staged) {
    return std::make_shared<ArenaMemory>(std::move(device), std::move(book), staged);
}

}  // namespace convlens::render
