#include "primitives/convolution/in_f32_cpu.h"

#include <algorithm>

#include "kernels/cpu/transform/scale.h"
#include "kernels/cpu/transform/strided_copy.h"
#include "primitives/aligned_buffer.h"
#include "primitives/layout_of.h"

namespace convlens {
namespace {

bool is_16_bit(const ConvolutionProblem& problem) {
    return problem.dst.type == DataType::f16 || problem.dst.type == DataType::bf16;
}

// Converted floats of src and dst that stay in the cache between the steps.
constexpr std::int64_t most_floats = 1 << 20;

// As many images at a time as fit, so that each time is alike: a divisor of the batch.
std::int64_t images_at_a_time(const ConvolutionProblem& p) {
    const std::int64_t batch = p.src.dims[0];
    if (batch == 0) return 0;
    const std::int64_t floats = p.src.elements() / batch + p.dst.elements() / batch;
    for (std::int64_t parts = 1; parts < batch; ++parts)
        if (batch % parts == 0 && batch / parts * floats <= most_floats) return batch / parts;
    return 1;
}

// The problem that the row sees: what is added to the result lies in its dst before.
ConvolutionProblem problem_in_f32(const ConvolutionProblem& p) {
    ConvolutionProblem f = p;
    Dims src = p.src.dims, dst = p.dst.dims;
    src[0] = dst[0] = images_at_a_time(p);
    f.src = TensorDesc::channels_last(src);
    f.dst = TensorDesc::channels_last(dst);
    f.has_residual = false;
    f.beta = p.has_residual || p.beta != 0 ? 1.0f : 0.0f;
    return f;
}

std::size_t round_up_64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Images [0, count) of a tensor; others follow by the stride of axis 0.
TensorDesc images(TensorDesc desc, std::int64_t count) {
    desc.dims[0] = count;
    return desc;
}

class InF32Plan final : public Plan {
  public:
    InF32Plan(const ConvolutionProblem& problem, PlanInfo info, std::unique_ptr<Plan> inner)
        : Plan(problem, std::move(info)), inner_(std::move(inner)) {
        apply_scales();  // alpha is the inner plan's, beta is applied in f32
        const auto& f = std::get<ConvolutionProblem>(inner_->problem());
        images_ = f.src.dims[0];
        dst_layout_ = layout_of(f.dst);
        const kernels::Layout outer_dst = layout_of(images(problem.dst, images_));
        read_src_ = cpu::make_strided_copy(layout_of(images(problem.src, images_)), layout_of(f.src));
        read_dst_ = cpu::make_strided_copy(outer_dst, dst_layout_);
        write_dst_ = cpu::make_strided_copy(dst_layout_, outer_dst);
        const TensorDesc bias = TensorDesc::packed({problem.dst.dims[1]});
        read_bias_ = cpu::make_strided_copy(
            layout_of(TensorDesc::packed({problem.dst.dims[1]}, problem.dst.type)), layout_of(bias));
    }
    // Where the converted tensors and the inner workspace begin, and where all ends.
    struct Places {
        std::size_t dst, bias, inner, end;
        explicit Places(const Plan& plan) {
            const auto& f = std::get<ConvolutionProblem>(plan.problem());
            dst = round_up_64(f.src.bytes());
            bias = dst + round_up_64(f.dst.bytes());
            inner = bias + (f.has_bias ? round_up_64(static_cast<std::size_t>(f.dst.dims[1]) * 4) : 0);
            end = inner + plan.info().workspace_bytes;
        }
    };

  private:
    void pack_impl(const void* weights, void* packed) const override {
        const auto& p = std::get<ConvolutionProblem>(problem());
        const AlignedBuffer plain(inner_->info().weights_bytes);
        const TensorDesc narrow = TensorDesc::packed({p.weights.product()}, p.dst.type);
        cpu::ThreadPool alone(1);
        cpu::strided_copy(
            cpu::make_strided_copy(layout_of(narrow), layout_of(TensorDesc::packed(narrow.dims))), weights,
            plain.data(), alone);
        inner_->pack_weights(plain.data(), packed);
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const auto& p = std::get<ConvolutionProblem>(problem());
        const Places at(*inner_);
        auto* memory = static_cast<std::byte*>(args.workspace);
        std::byte *src = memory, *dst = memory + at.dst, *bias = memory + at.bias;
        cpu::ThreadPool& pool = context.pool();
        if (p.has_bias) cpu::strided_copy(read_bias_, args.sources[1], bias, pool);
        const std::size_t size = size_of(p.dst.type);
        for (std::int64_t n = 0; n < p.src.dims[0]; n += images_) {
            const auto offset = [&](const TensorDesc& desc) {
                return n * desc.strides[0] * static_cast<std::int64_t>(size);
            };
            auto* to = static_cast<std::byte*>(args.dst) + offset(p.dst);
            cpu::strided_copy(read_src_, static_cast<const std::byte*>(args.sources[0]) + offset(p.src), src,
                              pool);
            if (p.has_residual)
                cpu::strided_copy(read_dst_, static_cast<const std::byte*>(args.sources[2]) + offset(p.dst),
                                  dst, pool);
            else if (p.beta != 0)
                cpu::strided_copy(read_dst_, to, dst, pool);
            if (p.beta != 0 && p.beta != 1) cpu::scale(dst_layout_, p.beta, dst, pool);
            const void* sources[] = {src, p.has_bias ? bias : nullptr, nullptr};
            ExecuteArgs own = args;
            own.sources = sources;
            own.dst = dst;
            own.workspace = memory + at.inner;
            own.workspace_bytes = inner_->info().workspace_bytes;
            inner_->execute(context, own);
            cpu::strided_copy(write_dst_, dst, to, pool);
        }
    }

    std::unique_ptr<Plan> inner_;
    std::int64_t images_ = 0;
    kernels::Layout dst_layout_;
    cpu::StridedCopy read_src_, read_dst_, write_dst_, read_bias_;
};

}  // namespace

std::string reject_in_f32(const ForwardRow& row, const ConvolutionProblem& problem, const Context& context) {
    return row.reject(is_16_bit(problem) ? problem_in_f32(problem) : problem, context);
}

bool preferred_in_f32(const ForwardRow& row, const ConvolutionProblem& problem, const Context& context) {
    return row.preferred(is_16_bit(problem) ? problem_in_f32(problem) : problem, context);
}

std::unique_ptr<Plan> make_in_f32(const ForwardRow& row, const ConvolutionProblem& problem,
                                  const Context& context, PlanInfo info) {
    if (!is_16_bit(problem)) return row.make(problem, context, std::move(info));
    const ConvolutionProblem f = problem_in_f32(problem);
    auto inner = row.make(f, context, base_info(f, context, row.name, row.error_class, row.deterministic));
    info.packed_bytes = inner->info().packed_bytes;
    info.workspace_bytes = InF32Plan::Places(*inner).end;
    const auto times = f.src.dims[0] > 0 ? static_cast<double>(problem.src.dims[0] / f.src.dims[0]) : 0.0;
    info.work.executed_flops = times * inner->info().work.executed_flops;
    return std::make_unique<InF32Plan>(problem, std::move(info), std::move(inner));
}

}  // namespace convlens
