#include "kernels/cpu/transform/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/transform/convert_run.h"

namespace convlens::cpu {
namespace {

template <class T>
constexpr bool is_16_bit = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class From, class To>
constexpr bool has_vector_run = (std::is_same_v<To, float> && is_16_bit<From>) ||
                                (std::is_same_v<From, float> && is_16_bit<To>);

// Copies n elements, steps in elements.
using RunCopy = void (*)(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                         std::int64_t n);

template <class From, class To>
void convert_run(const std::byte* from_bytes, std::int64_t from_step, std::byte* to_bytes,
                 std::int64_t to_step, std::int64_t n) {
    const auto* from = reinterpret_cast<const From*>(from_bytes);
    auto* to = reinterpret_cast<To*>(to_bytes);
    if constexpr (has_vector_run<From, To>)
        if (from_step == 1 && to_step == 1) return cpu::convert_run(from, n, to);
    if (from_step == 1 && to_step == 1)
        for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
    else
        for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = convert<To>(from[i * from_step]);
}

template <class Word>
void copy_run(const std::byte* from_bytes, std::int64_t from_step, std::byte* to_bytes, std::int64_t to_step,
              std::int64_t n) {
    const auto* from = reinterpret_cast<const Word*>(from_bytes);
    auto* to = reinterpret_cast<Word*>(to_bytes);
    if (from_step == 1 && to_step == 1)
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(Word));
    else if (from_step == 0 && to_step == 1)
        std::fill(to, to + n, *from);
    else
        for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

RunCopy run_copy_of(ElementType from, ElementType to) {
    if (from == to) {
        switch (size_of(from)) {
            case 1:
                return copy_run<std::uint8_t>;
            case 2:
                return copy_run<std::uint16_t>;
            case 4:
                return copy_run<std::uint32_t>;
            default:
                return copy_run<std::uint64_t>;
        }
    }
    return with_type(from, [&]<class From>(From) {
        return with_type(to, []<class To>(To) -> RunCopy { return convert_run<From, To>; });
    });
}

class Copier {
  public:
    Copier(const StridedCopy& copy, const void* src, void* dst)
        : shape_(copy.shape),
          src_(static_cast<const std::byte*>(src)),
          dst_(static_cast<std::byte*>(dst)),
          src_size_(static_cast<std::int64_t>(size_of(copy.from))),
          dst_size_(static_cast<std::int64_t>(size_of(copy.to))),
          run_(run_copy_of(copy.from, copy.to)),
          inner_(static_cast<std::size_t>(copy.shape.rank - 1)),
          cross_(contiguous_axis_of_src()) {}

    void run(ThreadPool& pool) {
        if (cross_ != inner_)
            run_tiles(pool);
        else
            run_rows(pool);
    }

  private:
    // The axis along which src is contiguous if that is not dst's and both are long enough to tile; else the
    // inner one.
    std::size_t contiguous_axis_of_src() const {
        const AxisValues& strides = shape_.strides[0];
        if (strides[inner_] == 1 || strides[inner_] == 0) return inner_;
        for (std::size_t axis = 0; axis < inner_; ++axis)
            if (strides[axis] == 1 && shape_.dims[axis] >= 4) return axis;
        return inner_;
    }

    const std::byte* source(const AxisValues& index) const {
        return src_ + shape_.address(0, index) * src_size_;
    }
    std::byte* destination(const AxisValues& index) const {
        return dst_ + shape_.address(1, index) * dst_size_;
    }

    void run_rows(ThreadPool& pool) {
        const std::int64_t elements = shape_.elements;
        const std::int64_t tasks =
            task_count(pool, static_cast<double>(elements), (elements + 4095) / 4096, 1e5);
        pool.parallel_for(tasks, [&](std::int64_t task, int) {
            const auto border = [&](std::int64_t i) {
                return i == tasks ? elements : elements / tasks * i / 64 * 64;
            };
            for (std::int64_t at = border(task); at < border(task + 1);) {
                const AxisValues index = unravel(at, shape_.rank, shape_.dims);
                at += rows_from(index, border(task + 1) - at);
            }
        });
    }

    // As many runs as follow each other along the axis next to the inner one.
    std::int64_t rows_from(AxisValues index, std::int64_t most) const {
        const std::byte* from = source(index);
        std::byte* to = destination(index);
        const std::int64_t n = std::min(most, shape_.dims[inner_] - index[inner_]);
        run_(from, shape_.strides[0][inner_], to, shape_.strides[1][inner_], n);
        if (inner_ == 0 || index[inner_] != 0) return n;
        std::int64_t done = n;
        const std::size_t next = inner_ - 1;
        for (std::int64_t i = index[next] + 1; i < shape_.dims[next] && done + shape_.dims[inner_] <= most;
             ++i) {
            from += shape_.strides[0][next] * src_size_;
            to += shape_.strides[1][next] * dst_size_;
            run_(from, shape_.strides[0][inner_], to, shape_.strides[1][inner_], shape_.dims[inner_]);
            done += shape_.dims[inner_];
        }
        return done;
    }

    // Tiles over (cross, inner); a task is a band of tiles along cross.
    void run_tiles(ThreadPool& pool) {
        constexpr std::int64_t side = 64;
        AxisValues outer = shape_.dims;
        outer[cross_] = (shape_.dims[cross_] + side - 1) / side;
        outer[inner_] = 1;
        std::int64_t bands = 1;
        for (int axis = 0; axis < shape_.rank; ++axis) bands *= outer[static_cast<std::size_t>(axis)];
        const std::int64_t tasks = task_count(pool, static_cast<double>(shape_.elements) * 2, bands, 1e5);
        pool.parallel_for(tasks, [&](std::int64_t task, int) {
            for (std::int64_t band = bands * task / tasks; band < bands * (task + 1) / tasks; ++band) {
                AxisValues index = unravel(band, shape_.rank, outer);
                index[cross_] *= side;
                const std::int64_t across = std::min(side, shape_.dims[cross_] - index[cross_]);
                for (; index[inner_] < shape_.dims[inner_]; index[inner_] += tile_depth)
                    tile(index, across, std::min(tile_depth, shape_.dims[inner_] - index[inner_]));
            }
        });
    }

    // Deep enough for whole cache lines of dst, shallow enough that the lines of src stay.
    static constexpr std::int64_t tile_depth = 32;

    void tile(const AxisValues& index, std::int64_t across, std::int64_t depth) const {
        const std::byte* from = source(index);
        std::byte* to = destination(index);
        const std::int64_t from_across = shape_.strides[0][cross_] * src_size_;
        const std::int64_t to_across = shape_.strides[1][cross_] * dst_size_;
        for (std::int64_t i = 0; i < across; ++i)
            run_(from + i * from_across, shape_.strides[0][inner_], to + i * to_across,
                 shape_.strides[1][inner_], depth);
    }

    const JointShape& shape_;
    const std::byte* src_;
    std::byte* dst_;
    std::int64_t src_size_, dst_size_;
    RunCopy run_;
    std::size_t inner_, cross_;
};

}  // namespace

StridedCopy make_strided_copy(const Layout& src, const Layout& dst) {
    return {join({src, dst}), src.type, dst.type, false};
}

void strided_copy(const StridedCopy& copy, const void* src, void* dst, ThreadPool& pool) {
    if (copy.shape.elements > 0) Copier(copy, src, dst).run(pool);
}

namespace {

// Splits the axes one after the other into leading border, interior, trailing border.
class BoxMaker {
  public:
    explicit BoxMaker(const TransformParams& params) : params_(params) {}

    std::vector<StridedCopy> make() {
        Layout src = params_.src;
        split(0, src, params_.dst);
        return std::move(copies_);
    }

  private:
    void split(int axis, const Layout& src, const Layout& dst) {
        if (axis == dst.rank) {
            // src keeps its own dims of the axes where it is repeated; the walk goes by dst's.
            if (dst.elements() > 0) copies_.push_back(make_strided_copy(src, dst));
            return;
        }
        const auto a = static_cast<std::size_t>(axis);
        const std::int64_t begin = params_.pads_begin[a];
        const std::int64_t length = params_.src.dims[a];
        const std::int64_t total = params_.dst.dims[a];
        // In dst's index: the interior is [first, last).
        const std::int64_t first = std::clamp<std::int64_t>(begin, 0, total);
        const std::int64_t last = std::clamp<std::int64_t>(begin + length, first, total);
        border(axis, src, dst, 0, first);
        piece(axis, src, dst, first, last - first, first - begin, 1);
        border(axis, src, dst, last, total - last);
    }

    void border(int axis, const Layout& src, const Layout& dst, std::int64_t at, std::int64_t count) {
        if (count <= 0) return;
        const auto a = static_cast<std::size_t>(axis);
        const std::int64_t length = params_.src.dims[a];
        const std::int64_t outside = at - params_.pads_begin[a];
        switch (params_.padding) {
            case Padding::edge:
                piece(axis, src, dst, at, count, outside < 0 ? 0 : length - 1, 0);
                return;
            case Padding::reflect:
                piece(axis, src, dst, at, count, outside < 0 ? -outside : 2 * (length - 1) - outside, -1);
                return;
            case Padding::none:
            case Padding::constant:
                break;
        }
        // All later axes belong to this box, pads included.
        Layout box = dst;
        box.dims[a] = count;
        box.offset += at * dst.strides[a];
        Layout value = box;
        value.strides = {};
        value.offset = 0;
        if (box.elements() == 0) return;
        copies_.push_back(make_strided_copy(value, box));
        copies_.back().from_pad_value = true;
    }

    // dst [at, at + count) of an axis from src index `from`, which moves by `direction`.
    void piece(int axis, Layout src, Layout dst, std::int64_t at, std::int64_t count, std::int64_t from,
               std::int64_t direction) {
        if (count <= 0) return;
        const auto a = static_cast<std::size_t>(axis);
        dst.dims[a] = count;
        dst.offset += at * dst.strides[a];
        src.dims[a] = count;
        src.offset += from * src.strides[a];
        src.strides[a] *= direction;
        split(axis + 1, src, dst);
    }

    const TransformParams& params_;
    std::vector<StridedCopy> copies_;
};

}  // namespace

std::vector<StridedCopy> make_padded_copies(const TransformParams& params) { return BoxMaker(params).make(); }

}  // namespace convlens::cpu
