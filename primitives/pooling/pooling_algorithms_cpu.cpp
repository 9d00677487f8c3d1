#include <array>

#include "kernels/cpu/pooling/pooling.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::PoolingParams params_of(const PoolingProblem& problem) {
    cpu::PoolingParams params;
    params.kind = static_cast<cpu::PoolKind>(problem.kind);
    params.type = static_cast<cpu::ElementType>(problem.src.type);
    params.batch = problem.src.dims[0];
    params.channels = problem.src.dims[1];
    params.src_batch_stride = problem.src.strides[0];
    params.src_channel_stride = problem.src.strides[1];
    params.dst_batch_stride = problem.dst.strides[0];
    params.dst_channel_stride = problem.dst.strides[1];
    params.src_offset = problem.src.offset;
    params.dst_offset = problem.dst.offset;
    const int spatial = problem.window.rank();
    for (int i = 0; i < spatial; ++i) {
        cpu::PoolAxis& axis = params.axes[static_cast<std::size_t>(i + 3 - spatial)];
        axis.src = problem.src.dims[i + 2];
        axis.dst = problem.dst.dims[i + 2];
        axis.window = problem.size[i];
        axis.stride = problem.window.strides[i];
        axis.dilation = problem.window.dilations[i];
        axis.pad_begin = problem.window.pads_begin[i];
        axis.pad_end = problem.window.pads_end[i];
        axis.src_stride = problem.src.strides[i + 2];
        axis.dst_stride = problem.dst.strides[i + 2];
    }
    return params;
}

void run_direct(const cpu::PoolingParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::pooling_direct(params, args.sources[0], args.dst, pool);
}

constexpr std::array<Algorithm<PoolingProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<PoolingProblem>,
     always<PoolingProblem>, make_kernel_plan<PoolingProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<PoolingProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens
