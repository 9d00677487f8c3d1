#include "app/interop/compute.h"

#include <utility>

#include "convlens/external.h"

namespace convlens::interop {
namespace {

class CudaMapping final : public Compute::Mapping {
  public:
    CudaMapping(Context& context, int fd, std::size_t bytes) : memory_(context, fd, bytes) {}
    std::byte* data() const override { return memory_.data(); }

  private:
    ExternalMemory memory_;
};

class CudaSemaphore final : public Compute::Semaphore {
  public:
    CudaSemaphore(Context& context, int fd) : timeline_(context, fd) {}
    void wait(std::uint64_t value) override { timeline_.wait(value); }
    void signal(std::uint64_t value) override { timeline_.signal(value); }

  private:
    ExternalTimeline timeline_;
};

class CudaCompute final : public Compute {
  public:
    CudaCompute(std::shared_ptr<Context> context, DeviceInfo info)
        : context_(std::move(context)), info_(std::move(info)), copies_(*context_) {}

    render::DeviceIdentity identity() const override { return {info_.name, info_.uuid, info_.pci}; }
    std::unique_ptr<Mapping> import_memory(int fd, std::size_t bytes) override {
        return std::make_unique<CudaMapping>(*context_, fd, bytes);
    }
    std::unique_ptr<Semaphore> import_timeline(int fd) override {
        return std::make_unique<CudaSemaphore>(*context_, fd);
    }
    std::byte* allocate(std::size_t bytes) override {
        return static_cast<std::byte*>(context_->allocate(bytes));
    }
    void release(std::byte* memory) noexcept override { context_->release(memory); }
    void synchronize() override { context_->synchronize(); }
    void fetch(std::byte* host, const std::byte* src, std::span<const render::BlockPart> parts) override {
        for (const render::BlockPart& part : parts)
            copies_.download(host + part.offset, src + part.offset, part.bytes);
        copies_.finish();
    }
    std::shared_ptr<void> pin(std::byte* host, std::size_t bytes) override {
        return std::make_shared<PinnedRange>(*context_, host, bytes);
    }

  private:
    std::shared_ptr<Context> context_;
    DeviceInfo info_;
    SideCopies copies_;
};

}  // namespace

std::shared_ptr<Compute> compute_of(std::shared_ptr<Context> context, const DeviceInfo& device) {
    return std::make_shared<CudaCompute>(std::move(context), device);
}

}  // namespace convlens::interop
