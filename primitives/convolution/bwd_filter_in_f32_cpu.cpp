#include "primitives/convolution/bwd_filter_in_f32_cpu.h"

#include <algorithm>

#include "kernels/cpu/transform/strided_copy.h"
#include "primitives/layout_of.h"

namespace convlens {
namespace {

using P = ConvolutionBwdFilterProblem;

bool is_16_bit(const P& problem) {
    return problem.src.type == DataType::f16 || problem.src.type == DataType::bf16;
}

// Converted floats of src and diff that stay in the cache between the steps.
constexpr std::int64_t most_floats = 1 << 20;

// As many images at a time as fit, so that each time is alike: a divisor of the batch.
std::int64_t images_at_a_time(const P& p) {
    const std::int64_t batch = p.src.dims[0];
    if (batch == 0) return 0;
    const std::int64_t floats = p.src.elements() / batch + p.diff.elements() / batch;
    for (std::int64_t parts = 1; parts < batch; ++parts)
        if (batch % parts == 0 && batch / parts * floats <= most_floats) return batch / parts;
    return 1;
}

// What the row sees: the first images are added to beta times the gradient, the others to what is there.
P problem_in_f32(const P& p, bool first) {
    P f = p;
    Dims src = p.src.dims, diff = p.diff.dims;
    src[0] = diff[0] = images_at_a_time(p);
    f.src = TensorDesc::channels_last(src);
    f.diff = TensorDesc::channels_last(diff);
    f.dst = TensorDesc::packed(p.dst.dims);
    if (!first) f.beta = 1;
    return f;
}

std::size_t round_up_64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

kernels::Layout images(TensorDesc desc, std::int64_t count) {
    desc.dims[0] = count;
    return layout_of(desc);
}

class FilterInF32Plan final : public Plan {
  public:
    FilterInF32Plan(const P& problem, PlanInfo info, std::unique_ptr<Plan> first, std::unique_ptr<Plan> other)
        : Plan(problem, std::move(info)), first_(std::move(first)), other_(std::move(other)) {
        apply_scales();  // the inner plans' are the problem's
        const P& f = std::get<P>(first_->problem());
        images_ = f.src.dims[0];
        read_src_ = cpu::make_strided_copy(images(problem.src, images_), layout_of(f.src));
        read_diff_ = cpu::make_strided_copy(images(problem.diff, images_), layout_of(f.diff));
        read_dst_ = cpu::make_strided_copy(layout_of(problem.dst), layout_of(f.dst));
        write_dst_ = cpu::make_strided_copy(layout_of(f.dst), layout_of(problem.dst));
    }
    // Where the converted tensors and the inner workspace begin, and where all ends.
    struct Places {
        std::size_t diff, dst, inner, end;
        Places(const Plan& first, const Plan& other) {
            const P& f = std::get<P>(first.problem());
            diff = round_up_64(f.src.bytes());
            dst = diff + round_up_64(f.diff.bytes());
            inner = dst + round_up_64(f.dst.bytes());
            end = inner + std::max(first.info().workspace_bytes, other.info().workspace_bytes);
        }
    };

  private:
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const P& p = std::get<P>(problem());
        const Places at(*first_, *other_);
        auto* memory = static_cast<std::byte*>(args.workspace);
        cpu::ThreadPool& pool = context.pool();
        ExecuteArgs own = args;
        const void* sources[] = {memory, memory + at.diff};
        own.sources = sources;
        own.dst = memory + at.dst;
        own.workspace = memory + at.inner;
        own.workspace_bytes = at.end - at.inner;
        if (p.beta != 0) cpu::strided_copy(read_dst_, args.dst, own.dst, pool);
        const auto size = static_cast<std::int64_t>(size_of(p.src.type));
        std::int64_t n = 0;
        do {
            const auto image = [&](std::size_t source, const TensorDesc& desc) {
                return static_cast<const std::byte*>(args.sources[source]) + n * desc.strides[0] * size;
            };
            if (images_ > 0) {
                cpu::strided_copy(read_src_, image(0, p.src), memory, pool);
                cpu::strided_copy(read_diff_, image(1, p.diff), memory + at.diff, pool);
            }
            (n == 0 ? first_ : other_)->execute(context, own);
            n += images_;
        } while (n < p.src.dims[0]);
        cpu::strided_copy(write_dst_, own.dst, args.dst, pool);
    }

    std::unique_ptr<Plan> first_, other_;
    std::int64_t images_ = 0;
    cpu::StridedCopy read_src_, read_diff_, read_dst_, write_dst_;
};

}  // namespace

std::string reject_in_f32(const FilterRow& row, const P& problem, const Context& context) {
    return row.reject(is_16_bit(problem) ? problem_in_f32(problem, true) : problem, context);
}

std::unique_ptr<Plan> make_in_f32(const FilterRow& row, const P& problem, const Context& context,
                                  PlanInfo info) {
    if (!is_16_bit(problem)) return row.make(problem, context, std::move(info));
    const auto inner = [&](bool first) {
        const P f = problem_in_f32(problem, first);
        return row.make(f, context, base_info(f, context, row.name, row.error_class, row.deterministic));
    };
    auto first = inner(true), other = inner(false);
    info.workspace_bytes = FilterInF32Plan::Places(*first, *other).end;
    return std::make_unique<FilterInF32Plan>(problem, std::move(info), std::move(first), std::move(other));
}

}  // namespace convlens
