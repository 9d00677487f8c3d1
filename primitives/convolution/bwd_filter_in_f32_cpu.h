// f32 rows of the filter gradient for f16 and bf16 tensors (inside the library only): sources are converted
// image by image, sums stay in f32, and the gradient is rounded once.
#pragma once

#include "primitives/algorithm.h"

namespace convlens {

using FilterRow = Algorithm<ConvolutionBwdFilterProblem>;

std::string reject_in_f32(const FilterRow& row, const ConvolutionBwdFilterProblem& problem,
                          const Context& context);
std::unique_ptr<Plan> make_in_f32(const FilterRow& row, const ConvolutionBwdFilterProblem& problem,
                                  const Context& context, PlanInfo info);

// The row itself for f32, and that around it for 16-bit tensors. `preferred` of the row must not ask for the
// type.
template <FilterRow (*f32)()>
FilterRow also_16_bit() {
    FilterRow row = f32();
    row.reject = [](const ConvolutionBwdFilterProblem& problem, const Context& context) {
        return reject_in_f32(f32(), problem, context);
    };
    row.make = [](const ConvolutionBwdFilterProblem& problem, const Context& context, PlanInfo info) {
        return make_in_f32(f32(), problem, context, std::move(info));
    };
    return row;
}

}  // namespace convlens
