#include <algorithm>

#include "kernels/cuda/transform/convert.cuh"
#include "kernels/cuda/transform/tile_copy.h"
#include "kernels/cuda/transform/transform.h"
#include "kernels/cuda/transform/words.cuh"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 256;
constexpr int max_segments = 12;  // of one launch: parameters of a kernel are 4 KiB at most

struct Segment {
    Walk<2> walk;
    const void* src;
    void* dst;
};

struct Segments {
    Segment all[max_segments];
};
static_assert(sizeof(Segments) <= 4096);

template <class Word>
__global__ void __launch_bounds__(block) copy_words(const __grid_constant__ Segments segments) {
    const Segment& segment = segments.all[blockIdx.y];
    const std::int64_t i = thread_number();
    if (i >= segment.walk.count) return;
    std::int64_t at[2] = {};
    locate(segment.walk, i, at);
    static_cast<Word*>(segment.dst)[at[1]] = static_cast<const Word*>(segment.src)[at[0]];
}

constexpr int converted = 4;  // elements of one thread, a block apart

__global__ void __launch_bounds__(block)
    convert_types(const __grid_constant__ Segment segment, ElementType from, ElementType to) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * block * converted + threadIdx.x;
    std::int64_t from_at[converted], to_at[converted];
    int count = 0;
#pragma unroll
    for (int k = 0; k < converted; ++k) {
        const std::int64_t i = first + k * block;
        std::int64_t at[2] = {};
        if (i < segment.walk.count) {
            locate(segment.walk, i, at);
            ++count;
        }
        from_at[k] = at[0];
        to_at[k] = at[1];
    }
    convert_elements<converted>(from, segment.src, from_at, to, segment.dst, to_at, count);
}

// The joint walk in words of `bytes`.
Segment segment_of(const StridedCopy& copy, const void* src, void* dst, int bytes) {
    const int width = bytes / static_cast<int>(size_of(copy.to));
    Segment segment{make_walk(copy.shape, {0, 1}, width), first(src, copy), first(dst, copy)};
    if (width == 1) return segment;
    for (auto& strides : segment.walk.strides)
        for (int axis = 0; axis < segment.walk.rank; ++axis) strides[axis] /= width;
    return segment;
}

void launch_words(const Segments& segments, int count, int bytes, Stream stream) {
    std::int64_t most = 0;
    for (int i = 0; i < count; ++i) most = std::max(most, segments.all[i].walk.count);
    const dim3 grid(blocks_for(most, block), static_cast<unsigned>(count));
    with_word(bytes, [&]<class Word>(Word) { copy_words<Word><<<grid, block, 0, stream>>>(segments); });
}

}  // namespace

StridedCopy make_strided_copy(const Layout& src, const Layout& dst) {
    return {kernels::join({src, dst}), src.type, dst.type};
}

void strided_copy(const StridedCopy& copy, const void* src, void* dst, Stream stream) {
    if (copy.shape.elements == 0) return;
    if (copy.from != copy.to) {
        const Segment segment = segment_of(copy, src, dst, static_cast<int>(size_of(copy.to)));
        const unsigned blocks = blocks_for(segment.walk.count, block * converted);
        convert_types<<<blocks, block, 0, stream>>>(segment, copy.from, copy.to);
        return;
    }
    if (tile_copy(copy, src, dst, stream)) return;
    const int bytes = word_bytes(copy.shape, copy.to, src, dst);
    Segments segments;
    segments.all[0] = segment_of(copy, src, dst, bytes);
    launch_words(segments, 1, bytes, stream);
}

void concat_copies(const std::vector<StridedCopy>& copies, const void* const* srcs, void* dst,
                   Stream stream) {
    for (std::size_t begin = 0; begin < copies.size();) {
        // As many as one launch takes, of which some may be empty.
        std::size_t end = begin;
        int count = 0, bytes = 16;
        for (; end < copies.size() && count < max_segments; ++end) {
            if (copies[end].shape.elements == 0) continue;
            bytes = std::min(bytes, word_bytes(copies[end].shape, copies[end].to, srcs[end], dst));
            ++count;
        }
        Segments segments;
        count = 0;
        for (std::size_t i = begin; i < end; ++i)
            if (copies[i].shape.elements > 0)
                segments.all[count++] = segment_of(copies[i], srcs[i], dst, bytes);
        if (count > 0) launch_words(segments, count, bytes, stream);
        begin = end;
    }
}

}  // namespace convlens::cuda
