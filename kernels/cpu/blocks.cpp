#include "kernels/cpu/blocks.h"

#include <algorithm>
#include <bit>

namespace convlens::cpu {
namespace {

// Floats of a block: all operands' blocks together stay in the first cache level.
constexpr std::int64_t block_length = 1024;
// Rows below this are gathered several to a block, longer ones are used where they lie.
constexpr std::int64_t long_row = 128;

// Visits the elements [first, first + n) of the joint order as runs along the inner axis: run(address, count,
// position in block).
template <class Run>
void visit_runs(const JointShape& shape, int operand, AxisValues index, std::int64_t n, const Run& run) {
    const auto inner = static_cast<std::size_t>(shape.rank - 1);
    const AxisValues& strides = shape.strides[static_cast<std::size_t>(operand)];
    std::int64_t at = shape.address(operand, index);
    for (std::int64_t done = 0; done < n;) {
        const std::int64_t count = std::min(n - done, shape.dims[inner] - index[inner]);
        run(at, count, done);
        done += count;
        at -= index[inner] * strides[inner];
        index[inner] = 0;
        for (int axis = shape.rank - 2; axis >= 0; --axis) {
            const auto a = static_cast<std::size_t>(axis);
            at += strides[a];
            if (++index[a] < shape.dims[a]) break;
            at -= strides[a] * shape.dims[a];
            index[a] = 0;
        }
    }
}

void copy_run(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t n) {
    if (from_step == 1 && to_step == 1) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
    } else if (from_step == 0 && to_step == 1) {
        std::fill(to, to + n, *from);
    } else {
        for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
    }
}

class Walker {
  public:
    Walker(const JointShape& shape, const std::array<const float*, max_operands - 1>& sources, float* dst,
           const void* body, BlockCall call)
        : shape_(shape), sources_(sources), dst_(dst), body_(body), call_(call) {
        for (int k = 0; k < shape.operands; ++k) dense_[static_cast<std::size_t>(k)] = shape.is_dense(k);
    }

    void walk(std::int64_t begin, std::int64_t end) {
        const bool in_rows = shape_.inner() >= long_row || shape_.rank == 1;
        for (std::int64_t at = begin; at < end;)
            at += in_rows ? block_of_row(at, end) : block_of_rows(at, end);
    }

  private:
    int dst_operand() const { return shape_.operands - 1; }
    float* buffer(int operand) { return buffers_[static_cast<std::size_t>(operand)]; }

    // A piece of one row.
    std::int64_t block_of_row(std::int64_t position, std::int64_t end) {
        const AxisValues index = unravel(position, shape_.rank, shape_.dims);
        std::int64_t n =
            std::min(end - position, shape_.inner() - index[static_cast<std::size_t>(shape_.rank - 1)]);
        for (int k = 0; k < shape_.operands; ++k)
            if (shape_.inner_stride(k) != 1) n = std::min(n, block_length);
        std::array<const float*, max_operands> sources{};
        for (int k = 0; k < dst_operand(); ++k) {
            const float* from = sources_[static_cast<std::size_t>(k)] + shape_.address(k, index);
            sources[static_cast<std::size_t>(k)] = from;
            if (shape_.inner_stride(k) == 1) continue;
            sources[static_cast<std::size_t>(k)] = buffer(k);
            if (shape_.inner_stride(k) == 0)
                fill(k, *from, n);
            else
                copy_run(from, shape_.inner_stride(k), buffer(k), 1, n);
        }
        float* to = dst_ + shape_.address(dst_operand(), index);
        const std::int64_t step = shape_.inner_stride(dst_operand());
        if (step == 1) {
            call_(body_, sources.data(), to, n);
        } else {
            call_(body_, sources.data(), buffer(dst_operand()), n);
            copy_run(buffer(dst_operand()), 1, to, step, n);
        }
        return n;
    }

    // Several rows: operands that are not dense are gathered.
    std::int64_t block_of_rows(std::int64_t position, std::int64_t end) {
        const AxisValues index = unravel(position, shape_.rank, shape_.dims);
        const std::int64_t n = std::min(end - position, block_length);
        std::array<const float*, max_operands> sources{};
        for (int k = 0; k < dst_operand(); ++k) {
            const auto i = static_cast<std::size_t>(k);
            sources[i] = dense_[i] ? sources_[i] + shape_.offsets[i] + position : buffer(k);
            if (dense_[i]) continue;
            const std::int64_t step = shape_.inner_stride(k);
            visit_runs(shape_, k, index, n, [&](std::int64_t at, std::int64_t count, std::int64_t done) {
                copy_run(sources_[i] + at, step, buffer(k) + done, 1, count);
            });
        }
        const int last = dst_operand();
        if (dense_[static_cast<std::size_t>(last)]) {
            call_(body_, sources.data(), dst_ + shape_.offsets[static_cast<std::size_t>(last)] + position, n);
            return n;
        }
        call_(body_, sources.data(), buffer(last), n);
        const std::int64_t step = shape_.inner_stride(last);
        visit_runs(shape_, last, index, n, [&](std::int64_t at, std::int64_t count, std::int64_t done) {
            copy_run(buffer(last) + done, 1, dst_ + at, step, count);
        });
        return n;
    }

    // A whole buffer of one value; kept while the value stays (its bits, so that NaN is kept too).
    void fill(int operand, float value, std::int64_t n) {
        const auto i = static_cast<std::size_t>(operand);
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
        if (filled_[i] >= n && filled_bits_[i] == bits) return;
        std::fill(buffers_[i], buffers_[i] + n, value);
        filled_[i] = n;
        filled_bits_[i] = bits;
    }

    const JointShape& shape_;
    const std::array<const float*, max_operands - 1>& sources_;
    float* dst_;
    const void* body_;
    BlockCall call_;
    std::array<bool, max_operands> dense_{};
    std::array<std::int64_t, max_operands> filled_{};
    std::array<std::uint32_t, max_operands> filled_bits_{};
    alignas(64) float buffers_[max_operands][block_length];
};

}  // namespace

void run_blocks(const JointShape& shape, const std::array<const float*, max_operands - 1>& sources,
                float* dst, ThreadPool& pool, double cost, const void* body, BlockCall call) {
    const std::int64_t elements = shape.elements;
    const std::int64_t tasks = task_count(pool, static_cast<double>(elements) * cost,
                                          (elements + block_length - 1) / block_length, 1e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        // Borders between tasks fall on whole cache lines.
        const auto border = [&](std::int64_t i) {
            return i == tasks ? elements : elements / tasks * i / 16 * 16;
        };
        Walker(shape, sources, dst, body, call).walk(border(task), border(task + 1));
    });
}

}  // namespace convlens::cpu
