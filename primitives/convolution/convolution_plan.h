// What the plans of the convolution rows share: geometry, pointers with offsets, activation.
#pragma once

#include <string>
#include <utility>

#include "primitives/algorithm.h"
#include "primitives/convolution_geometry.h"
#include "primitives/kernel_activation.h"

namespace convlens::convolution_rows {

inline std::string reject_unless_f32(const ConvolutionProblem& problem) {
    if (problem.dst.type == DataType::f32) return {};
    return std::string("only f32 is supported, not ") + to_string(problem.dst.type);
}

class ConvolutionPlan : public Plan {
  protected:
    ConvolutionPlan(const ConvolutionProblem& problem, PlanInfo info)
        : Plan(problem, std::move(info)),
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

    struct Tensors {
        const float* src;
        const float* weights;
        const float* bias;      // null: none
        const float* residual;  // null: none; laid out as dst, and dst itself where the result is added to it
        float* dst;
    };
    Tensors tensors(const ExecuteArgs& args) const {
        const auto floats = [](const void* p) { return static_cast<const float*>(p); };
        return {floats(args.sources[0]) + src_offset_, floats(args.weights),
                has_bias_ ? floats(args.sources[1]) : nullptr,
                has_residual_  ? floats(args.sources[2]) + dst_offset_
                : accumulates_ ? static_cast<const float*>(args.dst) + dst_offset_
                               : nullptr,
                static_cast<float*>(args.dst) + dst_offset_};
    }

    cpu::ConvolutionGeometry geometry_;
    cpu::Activation activation_;
    std::int64_t src_offset_, dst_offset_;
    bool has_bias_, has_residual_, accumulates_;
    Scales scales_;

  private:
    Scales of_problem_;
};

}  // namespace convlens::convolution_rows
