#include <algorithm>
#include <array>

#include "kernels/cuda/transform/convert.cuh"
#include "kernels/cuda/transform/transform.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 256;

struct Padded {
    Walk<1> walk;  // of dst
    int rank;
    std::int64_t src_dims[kernels::max_axes], pads_begin[kernels::max_axes], src_strides[kernels::max_axes];
    bool is_short;  // every length and pad fits 30 bits
    Padding padding;
    ElementType from, to;
    double pad_value;
    const void* src;
    void* dst;
};

// padded_index() in the type that the walk counts in.
template <class Index>
__device__ __forceinline__ Index source_index(Index i, Index length, Padding padding) {
    if (i >= 0 && i < length) return i;
    if (padding == Padding::edge) return i < 0 ? 0 : length - 1;
    if (padding == Padding::reflect) return i < 0 ? -i : 2 * (length - 1) - i;
    return -1;
}

// The source of a position, or false for the pad value.
__device__ __forceinline__ bool find_source(const Padded& p, std::int64_t position, std::int64_t& from,
                                            std::int64_t& to) {
    bool inside = true;
    if (p.walk.count < divisor_limit && p.is_short) {
        auto rest = static_cast<std::uint32_t>(position);
        for (int axis = p.rank - 1; axis >= 0; --axis) {
            const std::uint32_t next = p.walk.dims[axis].quotient(rest);
            const auto index = static_cast<int>(rest - next * p.walk.dims[axis].divisor);
            rest = next;
            to += index * p.walk.strides[0][axis];
            const int at = source_index(index - static_cast<int>(p.pads_begin[axis]),
                                        static_cast<int>(p.src_dims[axis]), p.padding);
            inside = inside && at >= 0;
            from += at * p.src_strides[axis];
        }
        return inside;
    }
    for (int axis = p.rank - 1; axis >= 0; --axis) {
        const std::int64_t next = position / p.walk.lengths[axis];
        const std::int64_t index = position - next * p.walk.lengths[axis];
        position = next;
        to += index * p.walk.strides[0][axis];
        const std::int64_t at = source_index(index - p.pads_begin[axis], p.src_dims[axis], p.padding);
        inside = inside && at >= 0;
        from += at * p.src_strides[axis];
    }
    return inside;
}

template <class Word>
__global__ void __launch_bounds__(block) pad_words(const __grid_constant__ Padded p, Word pad) {
    const std::int64_t i = thread_number();
    if (i >= p.walk.count) return;
    std::int64_t from = 0, to = 0;
    const bool inside = find_source(p, i, from, to);
    static_cast<Word*>(p.dst)[to] = inside ? static_cast<const Word*>(p.src)[from] : pad;
}

__global__ void __launch_bounds__(block) pad_converted(const __grid_constant__ Padded p) {
    const std::int64_t i = thread_number();
    if (i >= p.walk.count) return;
    std::int64_t from = 0, to = 0;
    if (find_source(p, i, from, to))
        convert_element(p.from, p.src, from, p.to, p.dst, to);
    else
        kernels::store_element(p.to, p.dst, to, p.pad_value);
}

// Four neighbouring words of 4 bytes move together where the last axis has no border.
bool has_groups(const PaddedCopy& copy, const void* src, const void* dst) {
    const auto last = static_cast<std::size_t>(copy.rank - 1);
    if (copy.from != copy.to || size_of(copy.to) != 4) return false;
    if (copy.pads_begin[last] != 0 || copy.src_dims[last] != copy.dims[last] || copy.dims[last] % 4 != 0)
        return false;
    if (copy.src_strides[last] != 1 || copy.dst_strides[last] != 1) return false;
    for (std::size_t axis = 0; axis < last; ++axis)
        if (copy.src_strides[axis] % 4 != 0 || copy.dst_strides[axis] % 4 != 0) return false;
    return reinterpret_cast<std::uintptr_t>(src) % 16 == 0 && reinterpret_cast<std::uintptr_t>(dst) % 16 == 0;
}

Padded padded_of(const PaddedCopy& copy, const void* src, void* dst, int width) {
    Padded p{};
    p.rank = p.walk.rank = copy.rank;
    p.walk.count = copy.elements / width;
    for (int axis = 0; axis < copy.rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const bool last = axis == copy.rank - 1;
        p.walk.lengths[axis] = copy.dims[a] / (last ? width : 1);
        p.walk.strides[0][axis] = copy.dst_strides[a] / (last ? 1 : width);
        p.src_strides[axis] = copy.src_strides[a] / (last ? 1 : width);
        p.src_dims[axis] = copy.src_dims[a] / (last ? width : 1);
        p.pads_begin[axis] = copy.pads_begin[a];
        if (p.walk.count < divisor_limit) p.walk.dims[axis] = Divisor::of(p.walk.lengths[axis]);
    }
    p.is_short = true;
    for (int axis = 0; axis < copy.rank; ++axis)
        for (const std::int64_t value : {p.src_dims[axis], p.pads_begin[axis], p.walk.lengths[axis]})
            p.is_short = p.is_short && value < divisor_limit / 2 && value > -divisor_limit / 2;
    p.padding = copy.padding;
    p.from = copy.from;
    p.to = copy.to;
    p.pad_value = copy.pad_value;
    p.src = src;
    p.dst = dst;
    return p;
}

template <class Word>
Word word_of(const PaddedCopy& copy) {
    Word word{};
    kernels::store_element(copy.to, &word, 0, copy.pad_value);
    return word;
}

}  // namespace

PaddedCopy make_padded_copy(const TransformParams& params) {
    const Layout& src = params.src;
    const Layout& dst = params.dst;
    PaddedCopy copy;
    copy.padding = params.padding;
    copy.from = src.type;
    copy.to = dst.type;
    copy.elements = dst.elements();
    copy.src_offset = src.offset;
    copy.dst_offset = dst.offset;
    copy.pad_value = params.pad_value;
    std::array<std::size_t, kernels::max_axes> order{};
    std::size_t count = 0;
    const auto has_border = [&](std::size_t axis) {
        return params.pads_begin[axis] != 0 || src.dims[axis] != dst.dims[axis];
    };
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dst.rank); ++axis)
        if (dst.dims[axis] != 1 || has_border(axis)) order[count++] = axis;
    std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](std::size_t a, std::size_t b) { return dst.strides[a] > dst.strides[b]; });
    copy.rank = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t axis = order[i];
        const auto to = static_cast<std::size_t>(copy.rank);
        const bool joins = i > 0 && !has_border(axis) && !has_border(order[i - 1]) &&
                           copy.src_strides[to - 1] == src.strides[axis] * dst.dims[axis] &&
                           copy.dst_strides[to - 1] == dst.strides[axis] * dst.dims[axis];
        const std::size_t at = joins ? to - 1 : to;
        copy.dims[at] = dst.dims[axis] * (joins ? copy.dims[at] : 1);
        copy.src_dims[at] = src.dims[axis] * (joins ? copy.src_dims[at] : 1);
        copy.pads_begin[at] = params.pads_begin[axis];
        copy.src_strides[at] = src.strides[axis];
        copy.dst_strides[at] = dst.strides[axis];
        if (!joins) ++copy.rank;
    }
    if (copy.rank == 0) {
        copy.rank = 1;
        copy.dims[0] = copy.src_dims[0] = 1;
    }
    return copy;
}

void padded_copy(const PaddedCopy& copy, const void* src, void* dst, Stream stream) {
    if (copy.elements == 0) return;
    const auto* from =
        static_cast<const std::byte*>(src) + copy.src_offset * static_cast<std::int64_t>(size_of(copy.from));
    auto* to = static_cast<std::byte*>(dst) + copy.dst_offset * static_cast<std::int64_t>(size_of(copy.to));
    const bool groups = has_groups(copy, from, to);
    const Padded p = padded_of(copy, from, to, groups ? 4 : 1);
    const unsigned blocks = blocks_for(p.walk.count, block);
    if (copy.from != copy.to) {
        pad_converted<<<blocks, block, 0, stream>>>(p);
    } else if (groups) {
        const auto word = word_of<std::uint32_t>(copy);
        pad_words<<<blocks, block, 0, stream>>>(p, uint4{word, word, word, word});
    } else if (size_of(copy.to) == 1) {
        pad_words<<<blocks, block, 0, stream>>>(p, word_of<std::uint8_t>(copy));
    } else if (size_of(copy.to) == 2) {
        pad_words<<<blocks, block, 0, stream>>>(p, word_of<std::uint16_t>(copy));
    } else if (size_of(copy.to) == 4) {
        pad_words<<<blocks, block, 0, stream>>>(p, word_of<std::uint32_t>(copy));
    } else {
        pad_words<<<blocks, block, 0, stream>>>(p, word_of<std::uint64_t>(copy));
    }
}

}  // namespace convlens::cuda
