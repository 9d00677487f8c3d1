// Plans of the matrix-product family of convolutions on the processor.
#pragma once

#include "primitives/algorithm.h"

namespace convlens {

std::string reject_im2col_gemm(const ConvolutionProblem& problem, const Context& context);
std::unique_ptr<Plan> make_im2col_gemm(const ConvolutionProblem& problem, const Context& context, PlanInfo info);

std::string reject_implicit_gemm(const ConvolutionProblem& problem, const Context& context);
std::unique_ptr<Plan> make_implicit_gemm(const ConvolutionProblem& problem, const Context& context, PlanInfo info);

std::string reject_implicit_precomp_gemm(const ConvolutionProblem& problem, const Context& context);
std::unique_ptr<Plan> make_implicit_precomp_gemm(const ConvolutionProblem& problem, const Context& context,
                                                 PlanInfo info);

std::string reject_pointwise(const ConvolutionProblem& problem, const Context& context);
std::unique_ptr<Plan> make_pointwise(const ConvolutionProblem& problem, const Context& context, PlanInfo info);

}  // namespace convlens
