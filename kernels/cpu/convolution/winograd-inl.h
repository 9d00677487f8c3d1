// Winograd's one-dimensional transforms on Highway vectors, and that of a tile's input. Included by files
// that Highway compiles once for each target (after foreach_target.h).
#ifndef CONVLENS_KERNELS_CPU_WINOGRAD_POINTS
#define CONVLENS_KERNELS_CPU_WINOGRAD_POINTS
namespace convlens::cpu {

// Interpolation points of six besides 0 and infinity are +-p and +-q.
inline constexpr float winograd_p = 0.625f, winograd_q = 1.5f;

}  // namespace convlens::cpu
#endif

#if defined(CONVLENS_KERNELS_CPU_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVLENS_KERNELS_CPU_WINOGRAD_INL_H_
#undef CONVLENS_KERNELS_CPU_WINOGRAD_INL_H_
#else
#define CONVLENS_KERNELS_CPU_WINOGRAD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace winograd {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// A tile of outputs and its window; tile + window - 1 cells are read on each axis.
template <int tile, int window>
struct Transform;

template <>
struct Transform<2, 3> {
    static HWY_INLINE void input(const V (&d)[4], V (&t)[4]) {
        t[0] = hn::Sub(d[0], d[2]);
        t[1] = hn::Add(d[1], d[2]);
        t[2] = hn::Sub(d[2], d[1]);
        t[3] = hn::Sub(d[1], d[3]);
    }
    static HWY_INLINE void output(const V (&m)[4], V (&y)[2]) {
        y[0] = hn::Add(hn::Add(m[0], m[1]), m[2]);
        y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
    }
};

// Interpolation at 0, +-5/8, +-3/2 and infinity: exact in binary, and a rounding error of about a third of
// that of the points 0, +-1, +-2.
template <>
struct Transform<4, 3> {
    static constexpr float p = winograd_p, q = winograd_q, a = p * p, b = q * q;

    static HWY_INLINE void input(const V (&d)[6], V (&t)[6]) {
        const D tag;
        const V pv = hn::Set(tag, p), qv = hn::Set(tag, q), av = hn::Set(tag, a), bv = hn::Set(tag, b);
        const V product = hn::Set(tag, a * b), sum = hn::Set(tag, a + b);
        t[0] = hn::NegMulAdd(sum, d[2], hn::MulAdd(product, d[0], d[4]));
        const V even_p = hn::NegMulAdd(bv, d[2], d[4]), odd_p = hn::NegMulAdd(bv, d[1], d[3]);
        t[1] = hn::MulAdd(pv, odd_p, even_p);
        t[2] = hn::NegMulAdd(pv, odd_p, even_p);
        const V even_q = hn::NegMulAdd(av, d[2], d[4]), odd_q = hn::NegMulAdd(av, d[1], d[3]);
        t[3] = hn::MulAdd(qv, odd_q, even_q);
        t[4] = hn::NegMulAdd(qv, odd_q, even_q);
        t[5] = hn::NegMulAdd(sum, d[3], hn::MulAdd(product, d[1], d[5]));
    }
    static HWY_INLINE void output(const V (&m)[6], V (&y)[4]) {
        const D tag;
        const V pv = hn::Set(tag, p), qv = hn::Set(tag, q), av = hn::Set(tag, a), bv = hn::Set(tag, b);
        const V s1 = hn::Add(m[1], m[2]), d1 = hn::Sub(m[1], m[2]);
        const V s2 = hn::Add(m[3], m[4]), d2 = hn::Sub(m[3], m[4]);
        y[0] = hn::Add(hn::Add(m[0], s1), s2);
        y[1] = hn::MulAdd(qv, d2, hn::Mul(pv, d1));
        y[2] = hn::MulAdd(bv, s2, hn::Mul(av, s1));
        y[3] = hn::MulAdd(hn::Set(tag, q * b), d2, hn::MulAdd(hn::Set(tag, p * a), d1, m[5]));
    }
};

// Two outputs of five taps: as many points as four outputs of three, so the same points.
template <>
struct Transform<2, 5> {
    static HWY_INLINE void input(const V (&d)[6], V (&t)[6]) { Transform<4, 3>::input(d, t); }
    static HWY_INLINE void output(const V (&m)[6], V (&y)[2]) {
        const D tag;
        const V pv = hn::Set(tag, winograd_p), qv = hn::Set(tag, winograd_q);
        y[0] = hn::Add(hn::Add(m[0], hn::Add(m[1], m[2])), hn::Add(m[3], m[4]));
        y[1] = hn::MulAdd(qv, hn::Sub(m[3], m[4]), hn::MulAdd(pv, hn::Sub(m[1], m[2]), m[5]));
    }
};

// Where one tile's input lies: `first` is its first cell (perhaps a pad cell), of which rows and columns
// [begin, end) are real.
struct TileInput {
    const float* first;
    std::int64_t row_step, column_step, channel_step;
    int row_begin, row_end, column_begin, column_end;
};

enum class Reading { inside, clipped, gathered };

// A vector of channels of one cell: read at once, or one by one where channels lie apart or end.
template <Reading reading>
HWY_INLINE V cell(const TileInput& in, int row, int column, std::int64_t count) {
    const D d;
    if constexpr (reading != Reading::inside) {
        if (row < in.row_begin || row >= in.row_end || column < in.column_begin || column >= in.column_end)
            return hn::Zero(d);
    }
    const float* from = in.first + row * in.row_step + column * in.column_step;
    if constexpr (reading != Reading::gathered) return hn::LoadU(d, from);
    alignas(64) float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i * in.channel_step];
    return hn::Load(d, lanes);
}

template <int tile, int window, Reading reading>
HWY_NOINLINE void transform_vector(const TileInput& in, std::int64_t count, float* out, std::int64_t plane) {
    constexpr int side = tile + window - 1;
    const D d;
    V columns[side][side];  // [column][position down]
#pragma GCC unroll 6
    for (int j = 0; j < side; ++j) {
        V cells[side];
#pragma GCC unroll 6
        for (int i = 0; i < side; ++i) cells[i] = cell<reading>(in, i, j, count);
        Transform<tile, window>::input(cells, columns[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < side; ++i) {
        V row[side], done[side];
#pragma GCC unroll 6
        for (int j = 0; j < side; ++j) row[j] = columns[j][i];
        Transform<tile, window>::input(row, done);
#pragma GCC unroll 6
        for (int j = 0; j < side; ++j) hn::Store(done[j], d, out + (i * side + j) * plane);
    }
}

}  // namespace winograd
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#endif
