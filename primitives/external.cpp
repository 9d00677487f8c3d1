#include "convlens/external.h"

#include <string>
#include <utility>

#include "primitives/device.h"

namespace convlens {
namespace {

Device& device_of(const Context& context, const char* what) {
    if (context.device() == nullptr)
        throw Error(Status::not_supported,
                    std::string(what) + " is for the backend cuda; the processor shares its memory as it is");
    return *context.device();
}

}  // namespace

struct ExternalMemory::Impl {
    std::unique_ptr<Device::ImportedMemory> memory;
};

ExternalMemory::ExternalMemory(Context& context, int fd, std::size_t bytes)
    : impl_(std::make_unique<Impl>()) {
    if (fd < 0 || bytes == 0)
        throw Error(Status::bad_parameter,
                    "memory of another API: a file descriptor and its size are wanted");
    impl_->memory = device_of(context, "memory of another API").import_memory(fd, bytes);
}
ExternalMemory::~ExternalMemory() = default;
ExternalMemory::ExternalMemory(ExternalMemory&&) noexcept = default;
ExternalMemory& ExternalMemory::operator=(ExternalMemory&&) noexcept = default;
std::byte* ExternalMemory::data() const noexcept { return impl_->memory->data(); }

struct ExternalTimeline::Impl {
    std::unique_ptr<Device::ImportedTimeline> timeline;
};

ExternalTimeline::ExternalTimeline(Context& context, int fd) : impl_(std::make_unique<Impl>()) {
    if (fd < 0) throw Error(Status::bad_parameter, "timeline of another API: a file descriptor is wanted");
    impl_->timeline = device_of(context, "the timeline of another API").import_timeline(fd);
}
ExternalTimeline::~ExternalTimeline() = default;
ExternalTimeline::ExternalTimeline(ExternalTimeline&&) noexcept = default;
ExternalTimeline& ExternalTimeline::operator=(ExternalTimeline&&) noexcept = default;
void ExternalTimeline::wait(std::uint64_t value) { impl_->timeline->wait(value); }
void ExternalTimeline::signal(std::uint64_t value) { impl_->timeline->signal(value); }

struct SideCopies::Impl {
    std::unique_ptr<Device::CopyStream> stream;
};

SideCopies::SideCopies(Context& context) : impl_(std::make_unique<Impl>()) {
    impl_->stream = device_of(context, "a stream of copies").make_copy_stream();
}
SideCopies::~SideCopies() = default;
void SideCopies::download(void* host, const void* src, std::size_t bytes) {
    if (bytes > 0) impl_->stream->download(host, src, bytes);
}
void SideCopies::finish() { impl_->stream->finish(); }

PinnedRange::PinnedRange(Context& context, void* host, std::size_t bytes) noexcept : host_(host) {
    if (context.device() != nullptr && bytes > 0 && context.device()->pin(host, bytes)) context_ = &context;
}
PinnedRange::~PinnedRange() {
    if (context_ != nullptr) context_->device()->unpin(host_);
}

MemoryState memory_state(const Context& context) {
    return context.device() != nullptr ? context.device()->memory_state() : MemoryState{};
}

}  // namespace convlens
