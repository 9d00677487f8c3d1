// Rows of the matrix instructions of a warp: implicit_gemm_tf32, _split_tf32, _fp16, _bf16.
#include "primitives/convolution/tensor_core_cuda.h"
#include "kernels/cuda/convolution/mma_convolution.h"
#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

using cuda::MmaMath;

template <MmaMath math>
std::string reject(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_tensor_core_type<math>(problem); !reason.empty()) return reason;
    if (math == MmaMath::split_tf32 && products_an_output(problem) < least_split_products)
        return few_products;
    if (auto reason = reject_without_code(context, cuda::TensorCoreCode::mma); !reason.empty()) return reason;
    return cuda::mma_convolution_reject(convolution_geometry(problem));
}

class MmaPlan final : public ConvolutionPlan {
  public:
    MmaPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::MmaConvolution& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {
        apply_scales();
    }

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::mma_convolution_pack(params_, weights, packed);
    }
    template <class T>
    void launch_typed(cuda::Stream stream, const ExecuteArgs& args) const {
        const auto t = tensors<T>(args);
        const cuda::TensorCoreOperands operands{t.src, t.weights,   t.bias,        t.residual,
                                                t.dst, activation_, scales_.alpha, scales_.residual};
        cuda::mma_convolution(params_, operands, args.workspace, stream);
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        if (params_.type == kernels::ElementType::f32)
            launch_typed<float>(stream, args);
        else
            launch_typed<std::uint16_t>(stream, args);
    }

    cuda::MmaConvolution params_;
};

template <MmaMath math>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const auto params = cuda::mma_convolution_params(convolution_geometry(problem),
                                                     static_cast<kernels::ElementType>(problem.dst.type),
                                                     math, traits_of(context));
    info.packed_bytes = params.packed_bytes;
    info.workspace_bytes = params.workspace_bytes;
    info.work.executed_flops = params.executed_flops;
    return std::make_unique<MmaPlan>(problem, std::move(info), params);
}

// Groups of few channels waste most of a tile. Three products pay where TF32 is several times as quick as
// f32: on the GPUs of data centres (8.0, 9.0), not on those where both are alike (8.6, 8.9).
template <MmaMath math>
bool preferred(const ConvolutionProblem& problem, const Context& context) {
    const cuda::DeviceTraits& traits = traits_of(context);
    if (math == MmaMath::split_tf32 && traits.major == 8 && traits.minor != 0) return false;
    return problem.dst.dims[1] / problem.groups >= 8 && products_an_output(problem) >= 16;
}

template <MmaMath math>
Row row(const char* name, ErrorClass error_class) {
    return {name, error_class, true, reject<math>, preferred<math>, make<math>};
}

}  // namespace

Row implicit_gemm_tf32() { return row<MmaMath::tf32>("implicit_gemm_tf32", ErrorClass::tf32); }
Row implicit_gemm_split_tf32() {
    return row<MmaMath::split_tf32>("implicit_gemm_split_tf32", ErrorClass::fp32);
}
Row implicit_gemm_fp16() { return row<MmaMath::fp16>("implicit_gemm_fp16", ErrorClass::fp16); }
Row implicit_gemm_bf16() { return row<MmaMath::bf16>("implicit_gemm_bf16", ErrorClass::bf16); }

}  // namespace convlens::cuda_rows::convolution
