#include "app/cli/backend.h"

#include <algorithm>

#include "convlens/plan.h"

namespace convlens::cli {

ContextOptions context_options(const CommonOptions& common) {
    ContextOptions options{.backend = Backend::cpu, .threads = common.threads};
    if (common.backend == "cpu") return options;
    std::string why_none;
    const auto devices = cuda_devices(&why_none);
    if (devices.empty()) {
        if (common.backend == "cuda") throw Error(Status::not_supported, "--backend cuda: " + why_none);
        return options;
    }
    options.backend = Backend::cuda;
    if (common.device < 0) {
        options.device = devices.front().number;
        return options;
    }
    const bool known = std::any_of(devices.begin(), devices.end(),
                                   [&](const DeviceInfo& info) { return info.number == common.device; });
    if (!known)
        throw Error(Status::bad_parameter,
                    "--device " + std::to_string(common.device) + ": the CUDA devices here are 0 to " +
                        std::to_string(devices.size() - 1) + " (convlens info names them)");
    options.device = common.device;
    return options;
}

Precision parse_precision(const std::string& text, Backend backend) {
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
        if (text != to_string(precision)) continue;
        if (precision != Precision::fp32 && backend == Backend::cpu)
            throw Error(
                Status::not_supported,
                "--precision " + text + ": the cpu backend computes in fp32 only: take --precision fp32");
        return precision;
    }
    throw Error(Status::bad_parameter, "--precision '" + text + "' is not known: fp32, tf32, fp16 or bf16");
}

}  // namespace convlens::cli
