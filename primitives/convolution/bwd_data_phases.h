// The data gradient as forward convolutions of stride 1 (inside the library only).
//
// Cells of dst whose index leaves the same rest by the stride are reached through the same taps: each such
// phase is a stride-1 convolution of src with those taps in reverse order, the roles of channels and filters
// exchanged, and writes every stride-th cell of dst. So every forward row is a row of the data gradient too.
#pragma once

#include <vector>

#include "primitives/algorithm.h"

namespace convlens {

// Taps of one spatial axis in the order in which the phase reads them: first, first + step, ... (step < 0
// mostly).
struct PhaseTaps {
    std::int64_t first = 0, step = 0;
};

struct DataPhase {
    ConvolutionProblem problem;   // src and dst are views into those of the gradient
    std::vector<PhaseTaps> taps;  // one a spatial axis
};

struct DataPhases {
    std::vector<DataPhase> phases;
    std::vector<TensorDesc> unreached;  // views of dst that no output reads
};

// More phases than this are refused: each is a launch of its own.
inline constexpr std::int64_t most_data_phases = 64;
std::string reject_data_phases(const ConvolutionBwdDataProblem& problem);

// problem has passed reject_data_phases().
DataPhases data_phases(const ConvolutionBwdDataProblem& problem);

// The plain weights of a phase (C x K/groups x taps), from those of the gradient.
void pack_phase_weights(const ConvolutionBwdDataProblem& problem, const DataPhase& phase, const void* plain,
                        void* out);

using ForwardRow = Algorithm<ConvolutionProblem>;
std::string reject_bwd_data(const ForwardRow& row, const ConvolutionBwdDataProblem& problem,
                            const Context& context);
bool bwd_data_preferred(const ForwardRow& row, const ConvolutionBwdDataProblem& problem,
                        const Context& context);
std::unique_ptr<Plan> make_bwd_data(const ForwardRow& row, const ConvolutionBwdDataProblem& problem,
                                    const Context& context, PlanInfo info);

// The row of the data gradient that a forward row makes, under the same name.
template <ForwardRow (*forward)()>
Algorithm<ConvolutionBwdDataProblem> bwd_data_by() {
    const ForwardRow row = forward();
    return {row.name,
            row.error_class,
            row.deterministic,
            [](const ConvolutionBwdDataProblem& problem, const Context& context) {
                return reject_bwd_data(forward(), problem, context);
            },
            [](const ConvolutionBwdDataProblem& problem, const Context& context) {
                return bwd_data_preferred(forward(), problem, context);
            },
            [](const ConvolutionBwdDataProblem& problem, const Context& context, PlanInfo info) {
                return make_bwd_data(forward(), problem, context, std::move(info));
            }};
}

}  // namespace convlens
