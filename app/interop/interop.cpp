#include "app/interop/interop.h"

#include <exception>
#include <utility>

namespace convlens::interop {
namespace {

constexpr std::size_t trial_bytes = 4096;

}  // namespace

Interop::Interop(render::Renderer& renderer, std::shared_ptr<Compute> compute, Request request)
    : host_memory_{renderer.arena_allocator(false), renderer.arena_allocator(true)},
      sharing_(renderer.sharing()),
      compute_(std::move(compute)),
      facts_(facts()) {
    facts_.vulkan_device = renderer.device_text();
    if (compute_ != nullptr) try_import(facts_);
    arena_ = make(choose_interop(request, facts_), request == Request::automatic);
}

Facts Interop::facts() const {
    Facts facts;
    facts.vulkan_uuid = sharing_->identity().uuid;
    facts.vulkan_pci = sharing_->identity().pci;
    facts.export_obstacle = sharing_->obstacle();
    facts.vulkan_exports = facts.export_obstacle.empty();
    facts.compute_device = "the processor";
    if (compute_ == nullptr) return facts;
    const render::DeviceIdentity identity = compute_->identity();
    facts.cuda = true;
    facts.compute_device = identity.name;
    facts.compute_uuid = identity.uuid;
    facts.compute_pci = identity.pci;
    return facts;
}

// Only what has been done once is known to be possible.
void Interop::try_import(Facts& facts) {
    if (!facts.vulkan_exports) return;
    // On another GPU an import may even succeed, and be of no use.
    facts.cuda_imports = true;
    const Choice possible = choose_interop(Request::automatic, facts);
    if (possible.mode != Mode::shared) return;
    facts.cuda_imports = false;
    std::uint64_t handle = 0;
    try {
        const render::Sharing::Block block = sharing_->export_block(trial_bytes, "trial");
        handle = block.handle;
        (void)compute_->import_memory(block.fd.get(), block.bytes);
        timeline_ = std::make_shared<CudaTimeline>(compute_, sharing_);
        facts.cuda_imports = true;
    } catch (const std::exception& error) {
        facts.import_obstacle = error.what();
    }
    sharing_->release(handle);
}

std::shared_ptr<ArenaAllocator> Interop::make(const Choice& choice, bool may_stage) {
    if (compute_ == nullptr) return host_arena(host_memory_[choice.mode == Mode::staged], choice);
    const bool shared = choice.mode == Mode::shared;
    return std::make_shared<CudaArena>(compute_, sharing_, shared ? timeline_ : nullptr, choice, may_stage);
}

std::shared_ptr<ArenaAllocator> Interop::switch_to(Request request) {
    Choice choice = choose_interop(request, facts_);
    if (request == Request::staged) choice.reason = "asked for";
    arena_ = make(choice, request == Request::automatic);
    return arena_;
}

std::function<void()> Interop::reader(const std::shared_ptr<network::Allocator>& memory,
                                      const render::Renderer& renderer, std::function<void()> finished) {
    const auto arena = std::dynamic_pointer_cast<CudaArena>(memory);
    if (arena == nullptr) return finished;
    // What was fetched to a mirror is no longer read from CUDA's memory when the refresh has been handed
    // over.
    const std::uint64_t value = renderer.last_read();
    if (arena->cuda_timeline() == nullptr || value == 0) return {};
    // Called on the engine's thread: compute itself waits, on the GPU.
    return [timeline = arena->cuda_timeline(), value] { timeline->add_reader(value); };
}

}  // namespace convlens::interop
