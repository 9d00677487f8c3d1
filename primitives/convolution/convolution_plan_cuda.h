// What the plans of the CUDA convolution rows share: geometry, pointers with offsets, activation.
#pragma once

#include <string>
#include <utility>

#include "primitives/convolution_geometry.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/kernel_activation.h"

namespace convlens::cuda_rows {

template <class P>
std::string reject_unless_f32(const P& problem) {
    if (problem.dst.type == DataType::f32) return {};
    return std::string("only f32 is supported, not ") + to_string(problem.dst.type);
}

// Derive and implement `void launch(cuda::Stream, const ExecuteArgs&) const`, and `pack_impl` (host memory)
// where the packed form differs from the plain weights.
class ConvolutionPlan : public CudaPlan {
  protected:
    ConvolutionPlan(const ConvolutionProblem& problem, PlanInfo info)
        : CudaPlan(problem, std::move(info)),
          geometry_(convolution_geometry(problem)),
          activation_(kernel_activation(problem.activation)),
          src_offset_(problem.src.offset),
          dst_offset_(problem.dst.offset),
          has_bias_(problem.has_bias),
          has_residual_(problem.has_residual),
          accumulates_(problem.beta != 0),
          of_problem_{problem.alpha, problem.beta != 0 ? problem.beta : 1} {}

    // What a kernel multiplies its sums and its residual by: 1, unless the row applies the scales itself.
    struct Scales {
        float alpha = 1, residual = 1;
    };
    void apply_scales() {
        Plan::apply_scales();
        scales_ = of_problem_;
    }

    // T: the element type (16-bit types: std::uint16_t).
    template <class T>
    struct Tensors {
        const T* src;
        const void* weights;  // as packed
        const T* bias;        // null: none
        const T* residual;    // null: none; laid out as dst, and dst itself where the result is added to it
        T* dst;
    };
    template <class T = float>
    Tensors<T> tensors(const ExecuteArgs& args) const {
        const auto typed = [](const void* p) { return static_cast<const T*>(p); };
        return {typed(args.sources[0]) + src_offset_, args.weights,
                has_bias_ ? typed(args.sources[1]) : nullptr,
                has_residual_  ? typed(args.sources[2]) + dst_offset_
                : accumulates_ ? typed(args.dst) + dst_offset_
                               : nullptr,
                static_cast<T*>(args.dst) + dst_offset_};
    }

    kernels::ConvolutionGeometry geometry_;
    kernels::Activation activation_;
    std::int64_t src_offset_, dst_offset_;
    bool has_bias_, has_residual_, accumulates_;
    Scales scales_;

  private:
    Scales of_problem_;
};

}  // namespace convlens::cuda_rows
