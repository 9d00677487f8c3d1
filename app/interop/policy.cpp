#include "app/interop/policy.h"

#include "convlens/error.h"

namespace convlens::interop {
namespace {

// Why CUDA and Vulkan can't share memory here; empty: they can.
std::string obstacle(const Facts& facts) {
    const bool uuids = facts.compute_uuid && facts.vulkan_uuid;
    if (!uuids && (facts.compute_pci.empty() || facts.vulkan_pci.empty()))
        return "it is not known whether " + facts.compute_device + " and " + facts.vulkan_device +
               " are the same GPU";
    if (!render::same_device({facts.compute_device, facts.compute_uuid, facts.compute_pci},
                             {facts.vulkan_device, facts.vulkan_uuid, facts.vulkan_pci}))
        return "the network runs on " + facts.compute_device + " and the window on " + facts.vulkan_device;
    if (!facts.vulkan_exports)
        return "the Vulkan driver of " + facts.vulkan_device + " exports no memory or timelines" +
               (facts.export_obstacle.empty() ? "" : ": " + facts.export_obstacle);
    if (!facts.cuda_imports)
        return facts.import_obstacle.empty()
                   ? facts.compute_device + " imports no external memory or semaphores"
                   : facts.import_obstacle;
    return {};
}

// Why the kernels of this program do not run on a device; empty: they do.
std::string why_unfit(const DeviceInfo& device) {
    constexpr int least = 75;  // of the oldest code in a build
    if (device.compute_major * 10 + device.compute_minor >= least) return {};
    return device.name + " has compute capability " + std::to_string(device.compute_major) + "." +
           std::to_string(device.compute_minor) + ", 7.5 is the oldest that this program's kernels are for";
}

}  // namespace

const char* to_string(Mode mode) noexcept {
    switch (mode) {
        case Mode::host:
            return "host";
        case Mode::shared:
            return "shared";
        case Mode::staged:
            return "staged";
    }
    return "unknown";
}

std::optional<Request> parse_request(const std::string& text) {
    if (text == "auto") return Request::automatic;
    if (text == "shared") return Request::shared;
    if (text == "staged") return Request::staged;
    return std::nullopt;
}

Choice choose_interop(Request request, const Facts& facts) {
    if (request == Request::staged) return {Mode::staged, "asked for by --interop staged"};
    if (!facts.cuda)
        return {Mode::host,
                "kernels of the processor write the memory that " + facts.vulkan_device + " reads"};
    const std::string why_not = obstacle(facts);
    if (why_not.empty())
        return {Mode::shared, facts.compute_device + " computes and draws in the same memory"};
    if (request == Request::shared)
        throw Error(Status::not_supported, "--interop shared is not possible: " + why_not +
                                               "; use --interop staged, or the --device of the network");
    return {Mode::staged, why_not};
}

BackendChoice choose_backend(const std::string& backend, int device, const std::vector<DeviceInfo>& devices,
                             const std::string& why_none) {
    if (backend == "cpu") return {};
    std::string names, why = why_none;
    for (const DeviceInfo& info : devices) {
        const bool asked = info.number == device;
        const std::string refusal = why_unfit(info);
        if (refusal.empty() && (asked || device < 0)) return {Backend::cuda, info.number, {}};
        if (!refusal.empty() && why.empty()) why = refusal;
        if (asked) throw Error(Status::not_supported, "--device " + std::to_string(device) + ": " + refusal);
        names += (names.empty() ? "" : ", ") + std::to_string(info.number) + " (" + info.name + ")";
    }
    if (devices.empty() || device < 0) {
        if (backend == "cuda") throw Error(Status::not_supported, "--backend cuda: " + why);
        return {Backend::cpu, 0, why};
    }
    throw Error(Status::bad_parameter, "--device " + std::to_string(device) +
                                           ": there is no such CUDA device; take one of " + names);
}

render::DeviceIdentity identity_of(const DeviceInfo& device) {
    return {device.name, device.uuid, device.pci};
}

int device_of_window(int asked, const std::vector<DeviceInfo>& devices,
                     const render::DeviceIdentity& drawing) {
    if (asked >= 0) return asked;
    for (const DeviceInfo& device : devices)
        if (render::same_device(identity_of(device), drawing)) return device.number;
    return devices.empty() ? 0 : devices.front().number;
}

}  // namespace convlens::interop
