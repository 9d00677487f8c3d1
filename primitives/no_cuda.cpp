// In place of the CUDA backend where the build has none.
#include "primitives/device.h"

namespace convlens {
namespace {
constexpr const char* reason =
    "the CUDA backend is not part of this build; configure with -DCONVLENS_CUDA=ON where nvcc is installed";
}

std::unique_ptr<Device> open_cuda_device(int) { throw Error(Status::not_supported, reason); }

std::vector<DeviceInfo> list_cuda_devices(std::string& why_none) {
    why_none = reason;
    return {};
}

#define CONVLENS_NO_ALGORITHMS(P)                     \
    template <>                                       \
    std::span<const Algorithm<P>> cuda_algorithms() { \
        return {};                                    \
    }
CONVLENS_NO_ALGORITHMS(ConvolutionProblem)
CONVLENS_NO_ALGORITHMS(TransposedConvolutionProblem)
CONVLENS_NO_ALGORITHMS(FullyConnectedProblem)
CONVLENS_NO_ALGORITHMS(PoolingProblem)
CONVLENS_NO_ALGORITHMS(ActivationProblem)
CONVLENS_NO_ALGORITHMS(BatchNormalizationProblem)
CONVLENS_NO_ALGORITHMS(ElementwiseProblem)
CONVLENS_NO_ALGORITHMS(SoftmaxProblem)
CONVLENS_NO_ALGORITHMS(LrnProblem)
CONVLENS_NO_ALGORITHMS(ConcatProblem)
CONVLENS_NO_ALGORITHMS(TransformProblem)
CONVLENS_NO_ALGORITHMS(ConvolutionBwdDataProblem)
CONVLENS_NO_ALGORITHMS(ConvolutionBwdFilterProblem)
CONVLENS_NO_ALGORITHMS(ConvolutionBwdBiasProblem)

}  // namespace convlens
