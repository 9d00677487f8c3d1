#include "kernels/cpu/convolution/fft_transform.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/fft_transform.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

struct Complex {
    V re, im;
};
HWY_INLINE Complex add(Complex a, Complex b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex sub(Complex a, Complex b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
// Times -i.
HWY_INLINE Complex turn(Complex a) { return {a.im, hn::Neg(a.re)}; }
HWY_INLINE Complex scaled(V factor, Complex a) { return {hn::Mul(factor, a.re), hn::Mul(factor, a.im)}; }
HWY_INLINE Complex multiply_add(V factor, Complex a, Complex b) {
    return {hn::MulAdd(factor, a.re, b.re), hn::MulAdd(factor, a.im, b.im)};
}
HWY_INLINE Complex load(const float* at) {
    const D d;
    return {hn::Load(d, at), hn::Load(d, at + lanes())};
}
HWY_INLINE void store(Complex z, float* at) {
    const D d;
    hn::Store(z.re, d, at);
    hn::Store(z.im, d, at + lanes());
}

// z[k] = sum over j of z[j] exp(-2 pi i j k / radix)
template <int radix>
HWY_INLINE void butterfly(Complex (&z)[radix]) {
    const D d;
    if constexpr (radix == 2) {
        const Complex a = z[0];
        z[0] = add(a, z[1]);
        z[1] = sub(a, z[1]);
    } else if constexpr (radix == 4) {
        const Complex a = add(z[0], z[2]), b = sub(z[0], z[2]), c = add(z[1], z[3]),
                      e = turn(sub(z[1], z[3]));
        z[0] = add(a, c);
        z[2] = sub(a, c);
        z[1] = add(b, e);
        z[3] = sub(b, e);
    } else if constexpr (radix == 3) {
        const Complex sum = add(z[1], z[2]);
        const Complex side = scaled(hn::Set(d, 0.86602540378443864676f), turn(sub(z[1], z[2])));
        const Complex mid = multiply_add(hn::Set(d, -0.5f), sum, z[0]);
        z[0] = add(z[0], sum);
        z[1] = add(mid, side);
        z[2] = sub(mid, side);
    } else {
        const V c1 = hn::Set(d, 0.30901699437494742410f), c2 = hn::Set(d, -0.80901699437494742410f);
        const V s1 = hn::Set(d, 0.95105651629515357212f), s2 = hn::Set(d, 0.58778525229247312917f);
        const Complex a = add(z[1], z[4]), b = add(z[2], z[3]);
        const Complex e = turn(sub(z[1], z[4])), f = turn(sub(z[2], z[3]));
        const Complex m1 = multiply_add(c2, b, multiply_add(c1, a, z[0]));
        const Complex m2 = multiply_add(c1, b, multiply_add(c2, a, z[0]));
        const Complex t1 = multiply_add(s2, f, scaled(s1, e));
        const Complex t2 = sub(scaled(s2, e), scaled(s1, f));
        z[0] = add(z[0], add(a, b));
        z[1] = add(m1, t1);
        z[4] = sub(m1, t1);
        z[2] = add(m2, t2);
        z[3] = sub(m2, t2);
    }
}

// One pass of Stockham's sort: m butterflies of values that lie m * step apart, `step` of each.
template <int radix>
HWY_NOINLINE void pass(std::int64_t m, std::int64_t step, const float* HWY_RESTRICT twiddle,
                       const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
    const D d;
    const std::int64_t one = 2 * lanes();
    for (std::int64_t p = 0; p < m; ++p, twiddle += 2 * (radix - 1)) {
        V re[radix], im[radix];
#pragma GCC unroll 5
        for (int j = 1; j < radix; ++j) {
            re[j] = hn::Set(d, twiddle[2 * j - 2]);
            im[j] = hn::Set(d, twiddle[2 * j - 1]);
        }
        for (std::int64_t q = 0; q < step; ++q) {
            Complex z[radix];
#pragma GCC unroll 5
            for (int i = 0; i < radix; ++i) z[i] = load(from + (q + step * (p + m * i)) * one);
            butterfly<radix>(z);
            float* out = to + (q + step * radix * p) * one;
            store(z[0], out);
#pragma GCC unroll 5
            for (int j = 1; j < radix; ++j) {
                if (p > 0)
                    z[j] = {hn::NegMulAdd(z[j].im, im[j], hn::Mul(z[j].re, re[j])),
                            hn::MulAdd(z[j].im, re[j], hn::Mul(z[j].re, im[j]))};
                store(z[j], out + j * step * one);
            }
        }
    }
}

// Transforms `length` complex vectors; returns where the result is, one of the two.
HWY_INLINE float* transform(const FftLength& length, float* data, float* other) {
    std::int64_t rest = length.length, step = 1;
    const float* twiddle = length.twiddles.data();
    for (const int radix : length.radices) {
        const std::int64_t m = rest / radix;
        switch (radix) {
            case 2:
                pass<2>(m, step, twiddle, data, other);
                break;
            case 3:
                pass<3>(m, step, twiddle, data, other);
                break;
            case 4:
                pass<4>(m, step, twiddle, data, other);
                break;
            default:
                pass<5>(m, step, twiddle, data, other);
                break;
        }
        twiddle += m * 2 * (radix - 1);
        rest = m;
        step *= radix;
        std::swap(data, other);
    }
    return data;
}

// Scratch: the tile's half spectrum, then two lines.
struct Scratch {
    float *tile, *line, *other;
    Scratch(const FftShape& shape, float* memory) {
        const std::int64_t longest = std::max(shape.rows(), shape.columns());
        tile = memory;
        line = tile + shape.rows() * shape.columns() * lanes();
        other = line + longest * 2 * lanes();
    }
};

struct TilePlace {
    std::int64_t n, y, x;
};
TilePlace place_of(const FftTiles& t, std::int64_t tile) {
    const std::int64_t n = tile / (t.tiles_y * t.tiles_x);
    return {n, tile / t.tiles_x % t.tiles_y * t.step_y - t.pad_top, tile % t.tiles_x * t.step_x - t.pad_left};
}

// Reads a row of cells into the real or the imaginary half of a line.
struct RowReader {
    const float* first;  // cell 0 of row 0, perhaps a pad cell
    std::int64_t row_step, column_step, channel_step, count;
    std::int64_t row_begin, row_end, column_begin, column_end;
    std::int64_t columns;
    bool whole;  // a vector lies side by side

    bool has(std::int64_t row) const {
        return row >= row_begin && row < row_end && column_begin < column_end;
    }

    HWY_INLINE void read(std::int64_t row, float* line) const {
        const D d;
        const std::int64_t one = 2 * lanes();
        const std::int64_t begin = has(row) ? column_begin : columns, end = has(row) ? column_end : columns;
        for (std::int64_t x = 0; x < begin; ++x) hn::Store(hn::Zero(d), d, line + x * one);
        const float* from = first + row * row_step;
        if (whole) {
            for (std::int64_t x = begin; x < end; ++x)
                hn::Store(hn::LoadU(d, from + x * column_step), d, line + x * one);
        } else {
            for (std::int64_t x = begin; x < end; ++x) {
                float* to = line + x * one;
                for (std::int64_t i = 0; i < count; ++i) to[i] = from[x * column_step + i * channel_step];
                for (std::int64_t i = count; i < lanes(); ++i) to[i] = 0;
            }
        }
        for (std::int64_t x = end; x < columns; ++x) hn::Store(hn::Zero(d), d, line + x * one);
    }
};

RowReader reader_of(const FftForward& job, std::int64_t tile, std::int64_t channel) {
    const FftTiles& t = job.tiles;
    const TilePlace place = place_of(t, tile);
    RowReader r{};
    r.row_step = t.strides[3], r.column_step = t.strides[4], r.channel_step = t.strides[1];
    r.first = job.src + place.n * t.strides[0] + channel * t.strides[1] + place.y * t.strides[3] +
              place.x * t.strides[4];
    r.count = std::min(lanes(), t.channels - channel);
    r.whole = r.channel_step == 1 && r.count == lanes();
    r.columns = job.shape.columns();
    const auto clip = [](std::int64_t v, std::int64_t most) { return std::clamp<std::int64_t>(v, 0, most); };
    r.row_begin = clip(-place.y, job.shape.rows());
    r.row_end = clip(std::min(t.height - place.y, t.extent_y), job.shape.rows());
    r.column_begin = clip(-place.x, r.columns);
    r.column_end = clip(std::min(t.width - place.x, t.extent_x), r.columns);
    return r;
}

// Two rows to their half spectra, each doubled; slot 0 of a row holds the real columns 0 and columns / 2.
HWY_INLINE void forward_rows(const FftShape& shape, const float* z, float* first, float* second) {
    const D d;
    const std::int64_t one = 2 * lanes(), n = shape.columns(), half = n / 2;
    const V two = hn::Set(d, 2.0f);
    const Complex zero = scaled(two, load(z)), middle = scaled(two, load(z + half * one));
    store({zero.re, middle.re}, first);
    store({zero.im, middle.im}, second);
    for (std::int64_t j = 1; j < half; ++j) {
        const Complex a = load(z + j * one), b = load(z + (n - j) * one);
        store({hn::Add(a.re, b.re), hn::Sub(a.im, b.im)}, first + j * one);
        store({hn::Add(a.im, b.im), hn::Sub(b.re, a.re)}, second + j * one);
    }
}

template <FftParts parts>
HWY_INLINE void store_parts(V re, V im, float* at, std::int64_t row) {
    const D d;
    if constexpr (parts == FftParts::x) {
        hn::StoreU(hn::Add(re, im), d, at);
        hn::StoreU(im, d, at + row);
        hn::StoreU(re, d, at + 2 * row);
    } else {
        hn::StoreU(re, d, at);
        hn::StoreU(hn::Sub(im, re), d, at + row);
        hn::StoreU(hn::Neg(hn::Add(re, im)), d, at + 2 * row);
    }
}

template <FftParts parts>
HWY_INLINE void forward_columns(const FftForward& job, const Scratch& scratch, float* spectrum) {
    const D d;
    const std::int64_t one = 2 * lanes(), rows = job.shape.rows(), half = job.shape.columns() / 2;
    const std::int64_t step = 3 * job.row;
    const V scale = hn::Set(d, job.scale), halved = hn::Set(d, 0.5f * job.scale);
    for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t column = i == half - 1 ? 0 : i + 1;
        for (std::int64_t y = 0; y < rows; ++y)
            store(load(scratch.tile + (y * half + column) * one), scratch.line + y * one);
        const float* z = transform(job.shape.down, scratch.line, scratch.other);
        if (column > 0) {
            for (std::int64_t a = 0; a < rows; ++a, spectrum += step) {
                const Complex x = scaled(scale, load(z + a * one));
                store_parts<parts>(x.re, x.im, spectrum, job.row);
            }
            continue;
        }
        float* last = spectrum + (rows / 2 + 1) * step;
        for (std::int64_t a = 0; a <= rows / 2; ++a, spectrum += step, last += step) {
            const Complex x = load(z + a * one), y = load(z + (rows - a) % rows * one);
            store_parts<parts>(hn::Mul(halved, hn::Add(x.re, y.re)), hn::Mul(halved, hn::Sub(x.im, y.im)),
                               spectrum, job.row);
            store_parts<parts>(hn::Mul(halved, hn::Add(x.im, y.im)), hn::Mul(halved, hn::Sub(y.re, x.re)),
                               last, job.row);
        }
    }
}

void forward_tile(const FftForward& job, std::int64_t tile, std::int64_t channel, float* spectrum,
                  float* memory) {
    const D d;
    const Scratch scratch(job.shape, memory);
    const RowReader reader = reader_of(job, tile, channel);
    const std::int64_t one = 2 * lanes(), half = job.shape.columns() / 2;
    for (std::int64_t y = 0; y < job.shape.rows(); y += 2) {
        float* first = scratch.tile + y * half * one;
        if (!reader.has(y) && !reader.has(y + 1)) {
            for (std::int64_t i = 0; i < 4 * half; ++i) hn::Store(hn::Zero(d), d, first + i * lanes());
            continue;
        }
        reader.read(y, scratch.line);
        reader.read(y + 1, scratch.line + lanes());
        forward_rows(job.shape, transform(job.shape.across, scratch.line, scratch.other), first,
                     first + half * one);
    }
    if (job.parts == FftParts::x)
        forward_columns<FftParts::x>(job, scratch, spectrum);
    else
        forward_columns<FftParts::w>(job, scratch, spectrum);
}

// The inverse is the transform of (im, re), which gives (im, re).
HWY_INLINE Complex swapped(Complex z) { return {z.im, z.re}; }

HWY_INLINE void inverse_columns(const FftInverse& job, const Scratch& scratch, const float* spectrum) {
    const D d;
    const std::int64_t one = 2 * lanes(), rows = job.shape.rows(), half = job.shape.columns() / 2;
    const std::int64_t step = job.step;
    const auto value = [&](const float* at) HWY_ATTR {
        return Complex{hn::LoadU(d, at), hn::LoadU(d, at + job.row)};
    };
    for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t column = i == half - 1 ? 0 : i + 1;
        if (column > 0) {
            for (std::int64_t a = 0; a < rows; ++a, spectrum += step)
                store(swapped(value(spectrum)), scratch.line + a * one);
        } else {
            const float* other = spectrum + (rows / 2 + 1) * step;
            for (std::int64_t a = 0; a <= rows / 2; ++a, spectrum += step, other += step) {
                const Complex first = value(spectrum), last = value(other);
                if (a == 0 || a == rows / 2) {  // real values
                    store({last.re, first.re}, scratch.line + a * one);
                    continue;
                }
                store({hn::Add(first.im, last.re), hn::Sub(first.re, last.im)}, scratch.line + a * one);
                store({hn::Sub(last.re, first.im), hn::Add(first.re, last.im)},
                      scratch.line + (rows - a) * one);
            }
        }
        const float* z = transform(job.shape.down, scratch.line, scratch.other);
        const std::int64_t needed = std::min(rows, (job.tiles.extent_y + 1) / 2 * 2);
        for (std::int64_t y = 0; y < needed; ++y)
            store(swapped(load(z + y * one)), scratch.tile + (y * half + column) * one);
    }
}

// Two half spectra as one line, (im, re).
HWY_INLINE void join_rows(const FftShape& shape, const float* first, const float* second, float* line) {
    const std::int64_t one = 2 * lanes(), n = shape.columns(), half = n / 2;
    const Complex a0 = load(first), b0 = load(second);
    store({b0.re, a0.re}, line);
    store({b0.im, a0.im}, line + half * one);
    for (std::int64_t j = 1; j < half; ++j) {
        const Complex a = load(first + j * one), b = load(second + j * one);
        store({hn::Add(a.im, b.re), hn::Sub(a.re, b.im)}, line + j * one);
        store({hn::Sub(b.re, a.im), hn::Add(a.re, b.im)}, line + (n - j) * one);
    }
}

struct Finish {
    const FftInverse& job;
    V bias;
    std::int64_t count, channel_step;
    bool whole;

    HWY_INLINE V read(const float* from) const {
        const D d;
        if (whole) return hn::LoadU(d, from);
        alignas(64) float values[HWY_MAX_BYTES / sizeof(float)] = {};
        for (std::int64_t i = 0; i < count; ++i) values[i] = from[i * channel_step];
        return hn::Load(d, values);
    }
    // at: of the vector's first channel, from dst.
    HWY_INLINE void put(V x, std::int64_t at) const {
        const D d;
        x = hn::MulAdd(x, hn::Set(d, job.alpha), bias);
        if (job.residual) x = hn::Add(x, read(job.residual + at));
        if (job.beta != 0) x = hn::MulAdd(hn::Set(d, job.beta), read(job.dst + at), x);
        if (is_clamp(job.activation))
            x = clamp_vector(d, x, hn::Set(d, clamp_low(job.activation)),
                             hn::Set(d, clamp_high(job.activation)));
        else
            x = activate_vector(d, job.activation, x);
        if (whole) return hn::StoreU(x, d, job.dst + at);
        alignas(64) float values[HWY_MAX_BYTES / sizeof(float)];
        hn::Store(x, d, values);
        for (std::int64_t i = 0; i < count; ++i) job.dst[at + i * channel_step] = values[i];
    }
};

void inverse_tile(const FftInverse& job, std::int64_t tile, std::int64_t channel, const float* spectrum,
                  float* memory) {
    const D d;
    const Scratch scratch(job.shape, memory);
    inverse_columns(job, scratch, spectrum);
    const FftTiles& t = job.tiles;
    const TilePlace place = place_of(t, tile);
    const std::int64_t rows = std::min(t.height - place.y, t.extent_y),
                       columns = std::min(t.width - place.x, t.extent_x);
    const std::int64_t count = std::min(lanes(), t.channels - channel);
    alignas(64) float biases[HWY_MAX_BYTES / sizeof(float)] = {};
    if (job.bias) std::copy_n(job.bias + channel, count, biases);
    const Finish finish{job, hn::Load(d, biases), count, t.strides[1], t.strides[1] == 1 && count == lanes()};
    const std::int64_t at =
        place.n * t.strides[0] + channel * t.strides[1] + place.y * t.strides[3] + place.x * t.strides[4];
    const std::int64_t one = 2 * lanes(), half = job.shape.columns() / 2;
    for (std::int64_t y = 0; y < rows; y += 2) {
        const float* first = scratch.tile + y * half * one;
        join_rows(job.shape, first, first + half * one, scratch.line);
        const float* z = transform(job.shape.across, scratch.line, scratch.other);
        for (std::int64_t i = 0; i < 2 && y + i < rows; ++i) {
            const std::int64_t row = job.flipped ? rows - 1 - y - i : y + i;
            for (std::int64_t x = 0; x < columns; ++x) {
                const std::int64_t column = job.flipped ? columns - 1 - x : x;
                finish.put(hn::Load(d, z + x * one + (1 - i) * lanes()),
                           at + row * t.strides[3] + column * t.strides[4]);
            }
        }
    }
}

std::int64_t vector_lanes_here() { return lanes(); }

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {

HWY_EXPORT(forward_tile);
HWY_EXPORT(inverse_tile);
HWY_EXPORT(vector_lanes_here);

std::int64_t fft_good_length(std::int64_t least) {
    for (std::int64_t length = std::max<std::int64_t>(2, (least + 1) / 2 * 2);; length += 2) {
        std::int64_t rest = length;
        for (const int factor : {2, 3, 5})
            while (rest % factor == 0) rest /= factor;
        if (rest == 1) return length;
    }
}

FftLength fft_length(std::int64_t length) {
    FftLength result;
    result.length = length;
    std::int64_t rest = length;
    while (rest > 1) {
        int radix = 5;
        for (const int candidate : {4, 2, 3})
            if (rest % candidate == 0) {
                radix = candidate;
                break;
            }
        result.radices.push_back(radix);
        for (std::int64_t p = 0; p < rest / radix; ++p)
            for (int j = 1; j < radix; ++j) {
                const double angle =
                    -2 * 3.14159265358979323846 * static_cast<double>(p * j) / static_cast<double>(rest);
                result.twiddles.push_back(static_cast<float>(std::cos(angle)));
                result.twiddles.push_back(static_cast<float>(std::sin(angle)));
            }
        rest /= radix;
    }
    return result;
}

std::int64_t fft_lanes() { return HWY_DYNAMIC_DISPATCH(vector_lanes_here)(); }

std::int64_t fft_scratch_floats(const FftShape& shape) {
    const std::int64_t longest = std::max(shape.rows(), shape.columns());
    const std::int64_t floats = (shape.rows() * shape.columns() + 4 * longest) * fft_lanes();
    return (floats + 15) / 16 * 16;
}

void fft_forward(const FftForward& job, std::int64_t tile, std::int64_t channel, float* spectrum,
                 float* scratch) {
    HWY_DYNAMIC_DISPATCH(forward_tile)(job, tile, channel, spectrum, scratch);
}

void fft_inverse(const FftInverse& job, std::int64_t tile, std::int64_t channel, const float* spectrum,
                 float* scratch) {
    HWY_DYNAMIC_DISPATCH(inverse_tile)(job, tile, channel, spectrum, scratch);
}

}  // namespace convlens::cpu
#endif
