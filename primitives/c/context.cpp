// Devices, contexts and memory of the C interface.
#include <algorithm>

#include "primitives/c/structs.h"

using namespace convlens;
using namespace convlens::c;

namespace {

template <std::size_t n>
void copy_text(char (&to)[n], const std::string& text) {
    const std::size_t length = std::min(text.size(), n - 1);
    std::copy_n(text.begin(), length, to);
    to[length] = 0;
}

std::vector<DeviceInfo> devices_or_reason() {
    std::string why_none;
    auto devices = cuda_devices(&why_none);
    if (devices.empty()) throw Error(Status::not_supported, "no CUDA device: " + why_none);
    return devices;
}

}  // namespace

convlens_status convlens_cuda_device_count(int32_t* count) {
    return guarded([&] {
        need(count, "count");
        *count = 0;
        *count = static_cast<int32_t>(devices_or_reason().size());
    });
}

convlens_status convlens_cuda_device(int32_t index, convlens_device_info* info) {
    return guarded([&] {
        need(info, "info");
        const auto devices = devices_or_reason();
        if (index < 0 || static_cast<std::size_t>(index) >= devices.size())
            throw Error(Status::bad_parameter, "index: " + std::to_string(index) + " is not below the " +
                                                   std::to_string(devices.size()) + " devices");
        const DeviceInfo& device = devices[static_cast<std::size_t>(index)];
        convlens_device_info values = convlens_device_info_default();
        values.number = device.number;
        values.compute_major = device.compute_major;
        values.compute_minor = device.compute_minor;
        values.multiprocessors = device.multiprocessors;
        values.memory_bytes = device.memory_bytes;
        copy_text(values.name, device.name);
        copy_text(values.pci, device.pci);
        std::copy(device.uuid.begin(), device.uuid.end(), values.uuid);
        write_struct(info, values, "info");
    });
}

convlens_status convlens_context_create(const convlens_context_options* options, convlens_context** context) {
    return guarded([&] {
        const Result<convlens_context> result(context);
        convlens_context_options given = convlens_context_options_default();
        if (options != nullptr) given = read_struct(options, given, "options");
        ContextOptions wanted;
        wanted.backend = to_enum<Backend>(given.backend);
        wanted.threads = given.threads;
        wanted.nice = given.nice;
        wanted.device = given.device;
        wanted.stream = given.stream;
        result.set(std::make_unique<ContextObject>(wanted));
    });
}

convlens_status convlens_context_destroy(convlens_context* context) { return destroy(context); }

convlens_status convlens_context_synchronize(convlens_context* context) {
    return guarded([&] { object(context).context.synchronize(); });
}

convlens_status convlens_context_set_stream(convlens_context* context, void* stream) {
    return guarded([&] { object(context).context.set_stream(stream); });
}

convlens_status convlens_context_get_stream(const convlens_context* context, void** stream) {
    return guarded([&] {
        void* const in_use = object(context).context.stream();
        need(stream, "stream");
        *stream = in_use;
    });
}

convlens_status convlens_context_device_text(const convlens_context* context, const char** text) {
    return guarded([&] {
        const std::string& of_device = object(context).device_text;
        need(text, "text");
        *text = of_device.c_str();
    });
}

convlens_status convlens_allocate(convlens_context* context, size_t bytes, void** memory) {
    return guarded([&] {
        need(memory, "memory");
        *memory = nullptr;
        *memory = object(context).context.allocate(bytes);
    });
}

convlens_status convlens_release(convlens_context* context, void* memory) {
    return guarded([&] { object(context).context.release(memory); });
}

convlens_status convlens_upload(convlens_context* context, void* dst, const void* host, size_t bytes) {
    return guarded([&] {
        Context& on = object(context).context;
        if (bytes == 0) return;
        need(dst, "dst");
        need(host, "host");
        on.upload(dst, host, bytes);
    });
}

convlens_status convlens_download(convlens_context* context, void* host, const void* src, size_t bytes) {
    return guarded([&] {
        Context& on = object(context).context;
        if (bytes == 0) return;
        need(host, "host");
        need(src, "src");
        on.download(host, src, bytes);
    });
}

convlens_status convlens_fill(convlens_context* context, void* dst, int32_t value, size_t bytes) {
    return guarded([&] {
        Context& on = object(context).context;
        if (value < 0 || value > 255)
            throw Error(Status::bad_parameter, "value: " + std::to_string(value) + " is not in 0 to 255");
        if (bytes == 0) return;
        need(dst, "dst");
        on.fill(dst, static_cast<unsigned char>(value), bytes);
    });
}
