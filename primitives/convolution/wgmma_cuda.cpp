// Rows of Hopper's matrix instructions with bulk copies: wgmma_tf32, _split_tf32, _fp16, _bf16.
#include "kernels/cuda/convolution/wgmma_convolution.h"

#include "primitives/convolution/convolution_plan_cuda.h"
#include "primitives/convolution/rows_cuda.h"
#include "primitives/convolution/tensor_core_cuda.h"

namespace convlens::cuda_rows::convolution {
namespace {

using cuda::MmaMath;

template <MmaMath math>
std::string reject(const ConvolutionProblem& problem, const Context& context) {
    if (auto reason = reject_tensor_core_type<math>(problem); !reason.empty()) return reason;
    if (math == MmaMath::split_tf32 && products_an_output(problem) < least_split_products)
        return few_products;
    if (auto reason = reject_without_code(context, cuda::TensorCoreCode::wgmma); !reason.empty())
        return reason;
    return cuda::wgmma_convolution_reject(convolution_geometry(problem),
                                          static_cast<kernels::ElementType>(problem.dst.type));
}

class WgmmaPlan final : public ConvolutionPlan {
  public:
    WgmmaPlan(const ConvolutionProblem& problem, PlanInfo info, const cuda::WgmmaConvolution& params)
        : ConvolutionPlan(problem, std::move(info)), params_(params) {
        apply_scales();
    }

  private:
    void pack_impl(const void* weights, void* packed) const override {
        cuda::wgmma_convolution_pack(params_, weights, packed);
    }
    template <class T>
    void launch_typed(cuda::Stream stream, const ExecuteArgs& args) const {
        const auto t = tensors<T>(args);
        const cuda::TensorCoreOperands operands{t.src, t.weights,   t.bias,        t.residual,
                                                t.dst, activation_, scales_.alpha, scales_.residual};
        if (const char* failure = cuda::wgmma_convolution(params_, operands, args.workspace, stream))
            throw Error(Status::runtime_failure, info().operation + " by " + info().algorithm + ": " +
                                                     failure + "; take another algorithm");
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        if (params_.type == kernels::ElementType::f32)
            launch_typed<float>(stream, args);
        else
            launch_typed<std::uint16_t>(stream, args);
    }

    cuda::WgmmaConvolution params_;
};

template <MmaMath math>
std::unique_ptr<Plan> make(const ConvolutionProblem& problem, const Context& context, PlanInfo info) {
    const auto params = cuda::wgmma_convolution_params(convolution_geometry(problem), problem.src.offset,
                                                       static_cast<kernels::ElementType>(problem.dst.type),
                                                       math, traits_of(context));
    info.packed_bytes = params.packed_bytes;
    info.workspace_bytes = params.workspace_bytes;
    info.work.executed_flops = params.executed_flops;
    return std::make_unique<WgmmaPlan>(problem, std::move(info), params);
}

// Not where zeros fill half of a step or more (more than half for split TF32, which has more to win).
template <MmaMath math>
bool preferred(const ConvolutionProblem& problem, const Context& context) {
    const auto params = cuda::wgmma_convolution_params(convolution_geometry(problem), problem.src.offset,
                                                       static_cast<kernels::ElementType>(problem.dst.type),
                                                       math, traits_of(context));
    const std::int64_t padded = params.steps * (128 / static_cast<std::int64_t>(size_of(problem.src.type)));
    const std::int64_t least = math == MmaMath::split_tf32 ? padded : padded + 1;
    return problem.dst.dims[1] >= 16 && 2 * products_an_output(problem) >= least;
}

template <MmaMath math>
Row row(const char* name, ErrorClass error_class) {
    return {name, error_class, true, reject<math>, preferred<math>, make<math>};
}

}  // namespace

Row wgmma_tf32() { return row<MmaMath::tf32>("wgmma_tf32", ErrorClass::tf32); }
Row wgmma_split_tf32() { return row<MmaMath::split_tf32>("wgmma_split_tf32", ErrorClass::fp32); }
Row wgmma_fp16() { return row<MmaMath::fp16>("wgmma_fp16", ErrorClass::fp16); }
Row wgmma_bf16() { return row<MmaMath::bf16>("wgmma_bf16", ErrorClass::bf16); }

}  // namespace convlens::cuda_rows::convolution
