#include "convlens/context.h"

#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "kernels/cpu/machine.h"
#include "kernels/cpu/thread_pool.h"
#include "primitives/device.h"

namespace convlens {

const char* to_string(Backend backend) noexcept { return backend == Backend::cpu ? "cpu" : "cuda"; }

std::vector<DeviceInfo> cuda_devices(std::string* why_none) {
    std::string reason;
    auto devices = list_cuda_devices(reason);
    if (why_none != nullptr) *why_none = std::move(reason);
    return devices;
}

struct Context::Impl {
    Backend backend;
    std::unique_ptr<cpu::ThreadPool> pool;
    std::unique_ptr<Device> device;
};

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>()) {
    if (options.threads < 0 || options.threads > 1024)
        throw Error(Status::bad_parameter,
                    "threads: " + std::to_string(options.threads) + " is not in 0 to 1024");
    impl_->backend = options.backend;
    if (options.backend > Backend::cuda)
        throw Error(Status::bad_parameter,
                    "backend: " + std::to_string(static_cast<int>(options.backend)) + " does not exist");
    if (options.backend == Backend::cpu && options.stream != nullptr)
        throw Error(Status::bad_parameter, "stream: the processor has none; leave it null");
    if (options.backend == Backend::cuda) impl_->device = open_cuda_device(options.device);
    if (options.stream != nullptr) impl_->device->set_stream(options.stream);
    try {
        impl_->pool = std::make_unique<cpu::ThreadPool>(options.threads, options.nice);
    } catch (const std::system_error& error) {
        throw Error(Status::runtime_failure, "threads: the system does not start all of them (" +
                                                 std::string(error.what()) + "); ask for fewer threads");
    }
}

Context::~Context() = default;
Backend Context::backend() const noexcept { return impl_->backend; }
int Context::threads() const noexcept { return impl_->pool->threads(); }
cpu::ThreadPool& Context::pool() const { return *impl_->pool; }
Device* Context::device() const noexcept { return impl_->device.get(); }

void Context::synchronize() {
    if (impl_->device) impl_->device->synchronize();
}

void* Context::stream() const noexcept { return impl_->device ? impl_->device->stream() : nullptr; }

void Context::set_stream(void* stream) {
    if (!impl_->device) throw Error(Status::not_supported, "stream: the processor has none");
    impl_->device->set_stream(stream);
}

std::optional<double> Context::cpu_milliseconds() const {
    if (impl_->device) return std::nullopt;
    return impl_->pool->cpu_milliseconds();
}

std::string Context::device_text() const {
    if (impl_->device) return impl_->device->text();
    const int count = threads();
    return cpu::processor_name() + ", " + cpu::vector_target_name() + ", " + std::to_string(count) +
           (count == 1 ? " thread" : " threads");
}

std::optional<DeviceHealth> Context::health() const {
    return impl_->device ? impl_->device->health() : std::nullopt;
}

void Context::begin_range(const char* name) {
    if (impl_->device) impl_->device->begin_range(name);
}

void Context::end_range() {
    if (impl_->device) impl_->device->end_range();
}

namespace {
constexpr std::align_val_t host_alignment{256};
}

void* Context::allocate(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (impl_->device) return impl_->device->allocate(bytes);
    void* memory = ::operator new(bytes, host_alignment, std::nothrow);
    if (memory == nullptr)
        throw Error(Status::runtime_failure, "out of memory for " + std::to_string(bytes) +
                                                 " bytes of weights or workspace; use a smaller input");
    return memory;
}

void Context::release(void* memory) noexcept {
    if (memory == nullptr) return;
    if (impl_->device)
        impl_->device->release(memory);
    else
        ::operator delete(memory, host_alignment);
}

void Context::upload(void* dst, const void* host, std::size_t bytes) {
    if (bytes == 0) return;
    if (impl_->device)
        impl_->device->upload(dst, host, bytes);
    else
        std::memcpy(dst, host, bytes);
}

void Context::download(void* host, const void* src, std::size_t bytes) {
    if (bytes == 0) return;
    if (impl_->device)
        impl_->device->download(host, src, bytes);
    else
        std::memcpy(host, src, bytes);
}

void Context::fill(void* dst, unsigned char value, std::size_t bytes) {
    if (bytes == 0) return;
    if (impl_->device)
        impl_->device->fill(dst, value, bytes);
    else
        std::memset(dst, value, bytes);
}

Buffer::Buffer(Context& context, std::size_t bytes)
    : context_(&context), data_(static_cast<std::byte*>(context.allocate(bytes))), bytes_(bytes) {}

Buffer::Buffer(Context& context, const void* host, std::size_t bytes) : Buffer(context, bytes) {
    context.upload(data_, host, bytes);
}

Buffer::Buffer(Buffer&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Buffer::~Buffer() {
    if (context_ != nullptr) context_->release(data_);
}

struct Marks::Impl {
    using Clock = std::chrono::steady_clock;
    int count = 0;
    std::unique_ptr<Device::MarkSet> device;
    std::vector<Clock::time_point> times;
};

Marks::Marks(Context& context, int count) : impl_(std::make_unique<Impl>()) {
    impl_->count = count;
    if (context.device() != nullptr)
        impl_->device = context.device()->make_marks(count);
    else
        impl_->times.resize(static_cast<std::size_t>(count));
}

Marks::~Marks() = default;
Marks::Marks(Marks&&) noexcept = default;
Marks& Marks::operator=(Marks&&) noexcept = default;
int Marks::count() const noexcept { return impl_->count; }

void Marks::set(int mark) {
    if (impl_->device)
        impl_->device->set(mark);
    else
        impl_->times[static_cast<std::size_t>(mark)] = Impl::Clock::now();
}

double Marks::milliseconds(int from, int to) const {
    if (impl_->device) return impl_->device->milliseconds(from, to);
    const auto duration =
        impl_->times[static_cast<std::size_t>(to)] - impl_->times[static_cast<std::size_t>(from)];
    return std::chrono::duration<double, std::milli>(duration).count();
}

struct Recording::Impl {
    Device* device = nullptr;
    std::unique_ptr<Device::Graph> graph;
};

Recording::Recording(Context& context) : impl_(std::make_unique<Impl>()) {
    impl_->device = context.device();
    if (impl_->device == nullptr)
        throw Error(Status::not_supported, "work of the processor is not recorded; run it instead");
}

Recording::~Recording() = default;
void Recording::begin() { impl_->device->begin_recording(); }
void Recording::abandon() noexcept { impl_->device->abandon_recording(); }
void Recording::end() { impl_->graph = impl_->device->end_recording(); }
void Recording::run() { impl_->graph->run(); }

}  // namespace convlens
