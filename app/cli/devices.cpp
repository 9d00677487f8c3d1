#include "app/cli/devices.h"

#include "app/cli/backend.h"
#include "app/cli/message.h"
#include "app/interop/policy.h"

namespace convlens::cli {

Devices::Devices(const CommonOptions& common, int nice) : common_(common), options_(context_options(common)) {
    options_.nice = nice;
    if (options_.backend == Backend::cuda) cuda_ = cuda_devices();
}

void Devices::choose_graphics(render::RendererOptions& renderer) const {
    if (cuda_.empty()) renderer.device = common_.device;
    for (const DeviceInfo& device : cuda_)
        if (common_.device < 0 || device.number == common_.device)
            renderer.wanted_devices.push_back(interop::identity_of(device));
}

std::shared_ptr<Context> Devices::open(const render::Renderer& renderer) {
    if (!cuda_.empty())
        options_.device = interop::device_of_window(common_.device, cuda_, renderer.identity());
    try {
        return std::make_shared<Context>(options_);
    } catch (const Error& error) {
        if (cuda_.empty() || common_.backend != "auto") throw;
        note(std::string(error.what()) + ": the processor computes instead");
    }
    cuda_.clear();
    options_.backend = Backend::cpu;
    return std::make_shared<Context>(options_);
}

std::shared_ptr<interop::Compute> Devices::compute(const std::shared_ptr<Context>& context) const {
    for (const DeviceInfo& device : cuda_)
        if (device.number == options_.device) return interop::compute_of(context, device);
    return nullptr;
}

}  // namespace convlens::cli
