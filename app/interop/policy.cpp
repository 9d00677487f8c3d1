#include "app/interop/policy.h"

#include "convlens/error.h"

namespace convlens::interop {
namespace {

// Why CUDA and Vulkan can't share memory here; empty: they can.
std::string obstacle(const Facts& facts) {
    if (!facts.compute_uuid || !facts.vulkan_uuid)
        return "it is not known whether " + facts.compute_device + " and " + facts.vulkan_device +
               " are the same GPU";
    if (*facts.compute_uuid != *facts.vulkan_uuid)
        return "the network runs on " + facts.compute_device + " and the window on " + facts.vulkan_device;
    if (!facts.vulkan_exports)
        return "the Vulkan driver of " + facts.vulkan_device + " exports no memory or timelines";
    if (!facts.cuda_imports) return facts.compute_device + " imports no external memory or semaphores";
    return {};
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

}  // namespace convlens::interop
