// The processor's fully connected algorithms, best first, the naive reference last.
#include "primitives/algorithm.h"

namespace convlens {

template <>
std::span<const Algorithm<FullyConnectedProblem>> algorithms(Backend) {
    return {};
}

}  // namespace convlens
