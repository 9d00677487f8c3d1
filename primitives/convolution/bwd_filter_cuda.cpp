// The filter gradient's rows of kernels/cuda/convolution/bwd_filter*.h.
#include "kernels/cuda/convolution/bwd_filter.h"

#include <algorithm>

#include "kernels/cuda/convolution/bwd_filter_bulk.h"
#include "kernels/cuda/convolution/bwd_filter_depthwise.h"
#include "kernels/cuda/convolution/bwd_filter_im2col.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/rows_cuda.h"
#include "primitives/convolution/tensor_core_cuda.h"
#include "primitives/cuda/kernel_plan.h"

namespace convlens::cuda_rows::convolution {
namespace {

using cuda::FilterEngine;
using cuda::FilterMath;
using Problem = ConvolutionBwdFilterProblem;

// src, diff and dst at their first elements.
struct Operands {
    const void* src;
    const void* diff;
    void* dst;
};
Operands operands_of(const kernels::BwdFilterParams& p, const ExecuteArgs& args) {
    const auto bytes = [](std::int64_t offset, kernels::ElementType type) {
        return offset * static_cast<std::int64_t>(size_of(type));
    };
    return {static_cast<const std::byte*>(args.sources[0]) + bytes(p.src_offset, p.type),
            static_cast<const std::byte*>(args.sources[1]) + bytes(p.diff_offset, p.type),
            static_cast<std::byte*>(args.dst) + bytes(p.dst_offset, p.dst_type)};
}

// What is summed for one value of the gradient.
std::int64_t products_a_value(const Problem& problem) {
    std::int64_t count = problem.diff.dims[0];
    for (int axis = 2; axis < problem.diff.rank(); ++axis) count *= problem.diff.dims[axis];
    return count;
}
std::int64_t rows_of(const Problem& problem) {
    std::int64_t count = problem.dst.dims[1];
    for (int axis = 2; axis < problem.dst.rank(); ++axis) count *= problem.dst.dims[axis];
    return count;
}

std::string reject_type(const Problem& problem, FilterMath math) {
    const DataType type = problem.src.type;
    const bool half = type == DataType::f16, bfloat = type == DataType::bf16;
    if (type == DataType::f32) return {};
    const char* known = "";
    switch (math) {
        case FilterMath::fp32:
            if (half || bfloat) return {};
            known = "only f32, f16 and bf16 are supported, not ";
            break;
        case FilterMath::fp16:
            if (half) return {};
            known = "only f32 and f16 are supported, not ";
            break;
        case FilterMath::bf16:
            if (bfloat) return {};
            known = "only f32 and bf16 are supported, not ";
            break;
        default:
            known = "only f32 is supported, not ";
    }
    return std::string(known) + to_string(type);
}

enum class Form { computed, tabulated, atomic, pointwise };

template <FilterEngine engine, FilterMath math, Form form>
std::string reject(const Problem& problem, const Context& context) {
    if (auto reason = reject_type(problem, math); !reason.empty()) return reason;
    if (form == Form::atomic && problem.dst.type != DataType::f32)
        return "atomics add to f32 only, not to " + std::string(to_string(problem.dst.type));
    if (math == FilterMath::split_tf32 && products_a_value(problem) < convolution::least_split_products)
        return "split TF32 needs at least 8 products a value to hold the bound of fp32";
    const kernels::BwdFilterParams p = bwd_filter_params(problem);
    const kernels::ConvolutionGeometry& g = p.geometry;
    if (form == Form::pointwise)
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (g.window[axis] != 1 || g.strides[axis] != 1 || g.pads[axis] != 0 ||
                g.src[axis] != g.dst[axis])
                return "pointwise needs a window of one cell, strides of 1 and no pads";
    if (engine == FilterEngine::warp)
        if (auto reason = reject_without_code(context, cuda::TensorCoreCode::mma); !reason.empty())
            return reason;
    if (engine == FilterEngine::warp_group)
        if (auto reason = reject_without_code(context, cuda::TensorCoreCode::wgmma); !reason.empty())
            return reason;
    return cuda::bwd_filter_reject(p);
}

class ProductPlan final : public CudaPlan {
  public:
    ProductPlan(const Problem& problem, PlanInfo info, const cuda::BwdFilter& params)
        : CudaPlan(problem, std::move(info)), params_(params) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const Operands o = operands_of(params_.problem, args);
        cuda::bwd_filter(params_, o.src, o.diff, o.dst, args.workspace, stream);
    }
    cuda::BwdFilter params_;
};

// Bulk copies where pointers are aligned, else the general kernel.
class BulkPlan final : public CudaPlan {
  public:
    BulkPlan(const Problem& problem, PlanInfo info, const cuda::BwdFilterBulk& bulk,
             const cuda::BwdFilter& general)
        : CudaPlan(problem, std::move(info)), bulk_(bulk), general_(general) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const Operands o = operands_of(bulk_.problem, args);
        if (!cuda::bwd_filter_bulk(bulk_, o.src, o.diff, o.dst, args.workspace, stream))
            cuda::bwd_filter(general_, o.src, o.diff, o.dst, args.workspace, stream);
    }
    cuda::BwdFilterBulk bulk_;
    cuda::BwdFilter general_;
};

template <FilterEngine engine, FilterMath math, Form form>
std::unique_ptr<Plan> make(const Problem& problem, const Context& context, PlanInfo info) {
    const kernels::BwdFilterParams p = bwd_filter_params(problem);
    cuda::BwdFilter params = cuda::bwd_filter_params(p, engine, math, traits_of(context));
    if (form == Form::tabulated || form == Form::atomic)
        cuda::bwd_filter_set(params, params.outputs_tile, params.splits, form == Form::tabulated,
                             form == Form::atomic);
    info.workspace_bytes = params.workspace_bytes;
    info.work.executed_flops = params.executed_flops;
    const bool narrow = math == FilterMath::fp16 || math == FilterMath::bf16;
    if (engine == FilterEngine::warp_group && narrow && cuda::bwd_filter_bulk_reject(p).empty()) {
        const auto bulk = cuda::bwd_filter_bulk_params(
            p, math == FilterMath::fp16 ? cuda::BulkMath::fp16 : cuda::BulkMath::bf16, traits_of(context));
        if (bulk.ns < params.ns) {
            info.workspace_bytes = std::max(info.workspace_bytes, bulk.workspace_bytes);
            info.work.executed_flops = bulk.executed_flops;
            return std::make_unique<BulkPlan>(problem, std::move(info), bulk, params);
        }
    }
    return std::make_unique<ProductPlan>(problem, std::move(info), params);
}

// Small groups waste most of a tile. Three products pay where TF32 is several times as quick as f32: on the
// GPUs of data centres (8.0, 9.0), not on those where both are alike (8.6, 8.9).
template <FilterEngine engine, FilterMath math>
bool preferred(const Problem& problem, const Context& context) {
    const cuda::DeviceTraits& traits = traits_of(context);
    if (math == FilterMath::split_tf32 && traits.major == 8 && traits.minor != 0) return false;
    return problem.dst.dims[0] / problem.groups >= 8 && rows_of(problem) >= 8 &&
           products_a_value(problem) >= 16;
}

template <FilterEngine engine, FilterMath math>
BwdFilterRow row(const char* name, ErrorClass error_class) {
    return {name,
            error_class,
            true,
            reject<engine, math, Form::computed>,
            preferred<engine, math>,
            make<engine, math, Form::computed>};
}

// f32 by products of scaled fp16; all is copied, so no pointer needs to be aligned.
template <cuda::BulkMath math>
std::string reject_scaled(const Problem& problem, const Context& context) {
    if (auto reason = reject_type(problem, FilterMath::tf32); !reason.empty()) return reason;
    if (math == cuda::BulkMath::split && products_a_value(problem) < 4)
        return "split fp16 needs at least 4 products a value";
    if (auto reason = reject_without_code(context, cuda::TensorCoreCode::wgmma); !reason.empty())
        return reason;
    return cuda::bwd_filter_bulk_reject(bwd_filter_params(problem));
}
class ScaledPlan final : public CudaPlan {
  public:
    ScaledPlan(const Problem& problem, PlanInfo info, const cuda::BwdFilterBulk& params)
        : CudaPlan(problem, std::move(info)), params_(params) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const Operands o = operands_of(params_.problem, args);
        if (!cuda::bwd_filter_bulk(params_, o.src, o.diff, o.dst, args.workspace, stream))
            throw Error(Status::runtime_failure,
                        info().operation + " by " + info().algorithm +
                            ": the driver takes no tensor map; take another algorithm");
    }
    cuda::BwdFilterBulk params_;
};
template <cuda::BulkMath math>
std::unique_ptr<Plan> make_scaled(const Problem& problem, const Context& context, PlanInfo info) {
    const auto params = cuda::bwd_filter_bulk_params(bwd_filter_params(problem), math, traits_of(context));
    info.workspace_bytes = params.workspace_bytes;
    info.work.executed_flops = params.executed_flops;
    return std::make_unique<ScaledPlan>(problem, std::move(info), params);
}
// Where the copies and the padding cost less than what the products gain.
template <cuda::BulkMath math>
bool prefers_scaled(const Problem& problem, const Context& context) {
    const kernels::BwdFilterParams p = bwd_filter_params(problem);
    const auto params = cuda::bwd_filter_bulk_params(p, math, traits_of(context));
    const auto other = math == cuda::BulkMath::split ? FilterMath::split_tf32 : FilterMath::tf32;
    return params.ns < cuda::bwd_filter_params(p, FilterEngine::warp_group, other, traits_of(context)).ns;
}

template <Form form>
BwdFilterRow multiply_add_row(const char* name, bool deterministic,
                              bool (*is_preferred)(const Problem&, const Context&)) {
    constexpr FilterEngine engine = FilterEngine::multiply_add;
    return {name,          ErrorClass::fp32,
            deterministic, reject<engine, FilterMath::fp32, form>,
            is_preferred,  make<engine, FilterMath::fp32, form>};
}

// One entry a cell of an image is written and read again: the table is to stay in the cache.
bool table_is_small(const Problem& problem, const Context&) {
    return problem.diff.dims[0] >= 4 && products_a_value(problem) / problem.diff.dims[0] <= (1 << 16);
}

std::string reject_depthwise(const Problem& problem, const Context&) {
    if (auto reason = reject_type(problem, FilterMath::fp32); !reason.empty()) return reason;
    return cuda::bwd_filter_depthwise_reject(bwd_filter_params(problem));
}
class DepthwisePlan final : public CudaPlan {
  public:
    DepthwisePlan(const Problem& problem, PlanInfo info, const cuda::BwdFilterDepthwise& params)
        : CudaPlan(problem, std::move(info)), params_(params) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const Operands o = operands_of(params_.problem, args);
        cuda::bwd_filter_depthwise(params_, o.src, o.diff, o.dst, args.workspace, stream);
    }
    cuda::BwdFilterDepthwise params_;
};
std::unique_ptr<Plan> make_depthwise(const Problem& problem, const Context& context, PlanInfo info) {
    const auto params = cuda::bwd_filter_depthwise_params(bwd_filter_params(problem), traits_of(context));
    info.workspace_bytes = params.workspace_bytes;
    return std::make_unique<DepthwisePlan>(problem, std::move(info), params);
}
// With one channel it is a dense convolution.
bool prefers_depthwise(const Problem& problem, const Context&) { return problem.groups > 1; }

std::string reject_im2col(const Problem& problem, const Context&) {
    if (problem.src.type != DataType::f32)
        return std::string("only f32 is supported, not ") + to_string(problem.src.type);
    return cuda::bwd_filter_im2col_reject(bwd_filter_params(problem));
}
class Im2colPlan final : public CudaPlan {
  public:
    Im2colPlan(const Problem& problem, PlanInfo info, const cuda::BwdFilterIm2col& params)
        : CudaPlan(problem, std::move(info)), params_(params) {}

  private:
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        const Operands o = operands_of(params_.problem, args);
        cuda::bwd_filter_im2col(params_, static_cast<const float*>(o.src), static_cast<const float*>(o.diff),
                                static_cast<float*>(o.dst), args.workspace, stream);
    }
    cuda::BwdFilterIm2col params_;
};
std::unique_ptr<Plan> make_im2col(const Problem& problem, const Context& context, PlanInfo info) {
    const auto params = cuda::bwd_filter_im2col_params(bwd_filter_params(problem), traits_of(context));
    info.workspace_bytes = params.workspace_bytes;
    info.work.executed_flops = params.product.executed_flops;
    return std::make_unique<Im2colPlan>(problem, std::move(info), params);
}

bool never(const Problem&, const Context&) { return false; }

}  // namespace

BwdFilterRow bwd_filter_depthwise() {
    return {"depthwise", ErrorClass::fp32, true, reject_depthwise, prefers_depthwise, make_depthwise};
}
BwdFilterRow bwd_filter_wgmma_fp16() {
    return row<FilterEngine::warp_group, FilterMath::fp16>("wgmma_fp16", ErrorClass::fp16);
}
BwdFilterRow bwd_filter_wgmma_bf16() {
    return row<FilterEngine::warp_group, FilterMath::bf16>("wgmma_bf16", ErrorClass::bf16);
}
// 11 bits, as TF32.
BwdFilterRow bwd_filter_wgmma_scaled_fp16() {
    constexpr auto math = cuda::BulkMath::scaled;
    return {"wgmma_scaled_fp16", ErrorClass::tf32,     true,
            reject_scaled<math>, prefers_scaled<math>, make_scaled<math>};
}
// Its error scales with the largest values of a channel, as that of a transform.
BwdFilterRow bwd_filter_wgmma_split_fp16() {
    constexpr auto math = cuda::BulkMath::split;
    return {"wgmma_split_fp16",  ErrorClass::fft,      true,
            reject_scaled<math>, prefers_scaled<math>, make_scaled<math>};
}
BwdFilterRow bwd_filter_wgmma_tf32() {
    return row<FilterEngine::warp_group, FilterMath::tf32>("wgmma_tf32", ErrorClass::tf32);
}
BwdFilterRow bwd_filter_wgmma_split_tf32() {
    return row<FilterEngine::warp_group, FilterMath::split_tf32>("wgmma_split_tf32", ErrorClass::fp32);
}
BwdFilterRow bwd_filter_implicit_gemm_fp16() {
    return row<FilterEngine::warp, FilterMath::fp16>("implicit_gemm_fp16", ErrorClass::fp16);
}
BwdFilterRow bwd_filter_implicit_gemm_bf16() {
    return row<FilterEngine::warp, FilterMath::bf16>("implicit_gemm_bf16", ErrorClass::bf16);
}
BwdFilterRow bwd_filter_implicit_gemm_tf32() {
    return row<FilterEngine::warp, FilterMath::tf32>("implicit_gemm_tf32", ErrorClass::tf32);
}
BwdFilterRow bwd_filter_implicit_gemm_split_tf32() {
    return row<FilterEngine::warp, FilterMath::split_tf32>("implicit_gemm_split_tf32", ErrorClass::fp32);
}
BwdFilterRow bwd_filter_pointwise() {
    return multiply_add_row<Form::pointwise>("pointwise", true, always<Problem>);
}
BwdFilterRow bwd_filter_implicit_precomp_gemm() {
    return multiply_add_row<Form::tabulated>("implicit_precomp_gemm", true, table_is_small);
}
BwdFilterRow bwd_filter_implicit_gemm() {
    return multiply_add_row<Form::computed>("implicit_gemm", true, always<Problem>);
}
BwdFilterRow bwd_filter_implicit_gemm_atomic() {
    return multiply_add_row<Form::atomic>("implicit_gemm_atomic", false, never);
}
BwdFilterRow bwd_filter_im2col_gemm() {
    return {"im2col_gemm", ErrorClass::fp32, true, reject_im2col, always<Problem>, make_im2col};
}

}  // namespace convlens::cuda_rows::convolution
