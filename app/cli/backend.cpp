#include "app/cli/backend.h"

#include "app/interop/policy.h"

namespace convlens::cli {

ContextOptions context_options(const CommonOptions& common) {
    std::string why_none;
    const auto devices = cuda_devices(&why_none);
    const auto choice = interop::choose_backend(common.backend, common.device, devices, why_none);
    return {.backend = choice.backend, .threads = common.threads, .device = choice.device};
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
