// f32 rows of the forward convolution for f16 and bf16 tensors (inside the library only): sources are
// converted image by image, the row works in f32, and its result is rounded once.
#pragma once

#include "primitives/algorithm.h"

namespace convlens {

using ForwardRow = Algorithm<ConvolutionProblem>;

std::string reject_in_f32(const ForwardRow& row, const ConvolutionProblem& problem, const Context& context);
bool preferred_in_f32(const ForwardRow& row, const ConvolutionProblem& problem, const Context& context);
std::unique_ptr<Plan> make_in_f32(const ForwardRow& row, const ConvolutionProblem& problem,
                                  const Context& context, PlanInfo info);

// The row itself for f32, and that around it for 16-bit tensors.
template <ForwardRow (*f32)()>
ForwardRow also_16_bit() {
    const ForwardRow row = f32();
    return {row.name,
            row.error_class,
            row.deterministic,
            [](const ConvolutionProblem& problem, const Context& context) {
                return reject_in_f32(f32(), problem, context);
            },
            [](const ConvolutionProblem& problem, const Context& context) {
                return preferred_in_f32(f32(), problem, context);
            },
            [](const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
                return make_in_f32(f32(), problem, context, std::move(info));
            }};
}

}  // namespace convlens
