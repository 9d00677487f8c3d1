#include <algorithm>

#include "kernels/cuda/transform/convert.cuh"
#include "kernels/cuda/transform/transform.h"
#include "kernels/cuda/transform/words.h"
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

__global__ void __launch_bounds__(block)
    convert_elements(const __grid_constant__ Segment segment, ElementType from, ElementType to) {
    const std::int64_t i = thread_number();
    if (i >= segment.walk.count) return;
    std::int64_t at[2] = {};
    locate(segment.walk, i, at);
    convert_element(from, segment.src, at[0], to, segment.dst, at[1]);
}

// Calls body(Word{}) with an unsigned word of that many bytes.
template <class Body>
void with_word(int bytes, const Body& body) {
    switch (bytes) {
        case 1:
            return body(std::uint8_t{});
        case 2:
            return body(std::uint16_t{});
        case 4:
            return body(std::uint32_t{});
        case 8:
            return body(std::uint64_t{});
        default:
            return body(uint4{});
    }
}

const std::byte* first(const void* src, const StridedCopy& copy) {
    return static_cast<const std::byte*>(src) +
           copy.shape.offsets[0] * static_cast<std::int64_t>(size_of(copy.from));
}
std::byte* first(void* dst, const StridedCopy& copy) {
    return static_cast<std::byte*>(dst) + copy.shape.offsets[1] * static_cast<std::int64_t>(size_of(copy.to));
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

constexpr int side = 32;
constexpr int tile_rows = 8;  // threads of a block: side x tile_rows

// operands: src, dst. Positions of the walk are the other axes.
struct Tiles {
    Walk<2> outer;
    const void* src;
    void* dst;
    std::int64_t inner, cross;        // lengths
    std::int64_t src_step, dst_step;  // src along inner, dst along cross; the other two are 1
    Divisor inner_tiles;
    std::int64_t cross_tiles;
};

template <class Word>
__global__ void __launch_bounds__(side* tile_rows) copy_tiles(const __grid_constant__ Tiles t) {
    __shared__ Word tile[side][side + 1];
    // blockIdx.x: tiles of the plane, the inner ones fastest; blockIdx.y: planes.
    const std::int64_t across = static_cast<std::int64_t>(t.inner_tiles.quotient(blockIdx.x)) * side;
    const std::int64_t along =
        static_cast<std::int64_t>(blockIdx.x - t.inner_tiles.quotient(blockIdx.x) * t.inner_tiles.divisor) *
        side;
    for (std::int64_t plane = blockIdx.y; plane < t.outer.count; plane += gridDim.y) {
        std::int64_t at[2] = {};
        locate(t.outer, plane, at);
        const Word* src = static_cast<const Word*>(t.src) + at[0];
        Word* dst = static_cast<Word*>(t.dst) + at[1];
        if (across + threadIdx.x < t.cross)
            for (int row = threadIdx.y; row < side && along + row < t.inner; row += tile_rows)
                tile[row][threadIdx.x] = src[(along + row) * t.src_step + across + threadIdx.x];
        __syncthreads();
        if (along + threadIdx.x < t.inner)
            for (int row = threadIdx.y; row < side && across + row < t.cross; row += tile_rows)
                dst[(across + row) * t.dst_step + along + threadIdx.x] = tile[threadIdx.x][row];
        __syncthreads();
    }
}

// False where the plane has more tiles than a launch.
bool copy_by_tiles(const StridedCopy& copy, int cross, const void* src, void* dst, Stream stream) {
    const JointShape& shape = copy.shape;
    const int inner = shape.rank - 1;
    JointShape outer = shape;
    outer.rank = 0;
    outer.elements = 1;
    for (int axis = 0; axis < inner; ++axis) {
        if (axis == cross) continue;
        const auto a = static_cast<std::size_t>(axis), to = static_cast<std::size_t>(outer.rank++);
        outer.dims[to] = shape.dims[a];
        outer.elements *= shape.dims[a];
        for (std::size_t k = 0; k < 2; ++k) outer.strides[k][to] = shape.strides[k][a];
    }
    if (outer.rank == 0) {
        outer.rank = 1;
        outer.dims[0] = 1;
    }
    const auto c = static_cast<std::size_t>(cross), i = static_cast<std::size_t>(inner);
    Tiles tiles{make_walk(outer, {0, 1}),
                first(src, copy),
                first(dst, copy),
                shape.dims[i],
                shape.dims[c],
                shape.strides[0][i],
                shape.strides[1][c],
                {},
                divide_up(shape.dims[c], side)};
    const std::int64_t inner_tiles = divide_up(tiles.inner, side);
    if (inner_tiles >= divisor_limit || tiles.cross_tiles >= divisor_limit / inner_tiles) return false;
    tiles.inner_tiles = Divisor::of(inner_tiles);
    const dim3 grid(static_cast<unsigned>(inner_tiles * tiles.cross_tiles),
                    static_cast<unsigned>(std::min<std::int64_t>(tiles.outer.count, 65535)));
    with_word(static_cast<int>(size_of(copy.to)),
              [&]<class Word>(Word) { copy_tiles<Word><<<grid, dim3(side, tile_rows), 0, stream>>>(tiles); });
    return true;
}

}  // namespace

StridedCopy make_strided_copy(const Layout& src, const Layout& dst) {
    return {kernels::join({src, dst}), src.type, dst.type};
}

void strided_copy(const StridedCopy& copy, const void* src, void* dst, Stream stream) {
    if (copy.shape.elements == 0) return;
    if (copy.from != copy.to) {
        const Segment segment = segment_of(copy, src, dst, static_cast<int>(size_of(copy.to)));
        convert_elements<<<blocks_for(segment.walk.count, block), block, 0, stream>>>(segment, copy.from,
                                                                                      copy.to);
        return;
    }
    const int cross = cross_axis(copy.shape);
    if (cross >= 0 && copy_by_tiles(copy, cross, src, dst, stream)) return;
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
