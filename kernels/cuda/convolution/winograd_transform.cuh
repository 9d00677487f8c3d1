// The one-dimensional transforms of Winograd's minimal filtering.
#pragma once

namespace convlens::cuda {

template <int tile>
struct WinogradTransform;

template <>
struct WinogradTransform<2> {
    __device__ static __forceinline__ void input(const float (&d)[4], float (&t)[4]) {
        t[0] = d[0] - d[2];
        t[1] = d[1] + d[2];
        t[2] = d[2] - d[1];
        t[3] = d[1] - d[3];
    }
    __device__ static __forceinline__ void output(const float (&m)[4], float (&y)[2]) {
        y[0] = m[0] + m[1] + m[2];
        y[1] = m[1] - m[2] - m[3];
    }
};

// Interpolation points of F(4x4) besides 0 and infinity are +-p and +-q.
inline constexpr float winograd_p = 0.625f, winograd_q = 1.5f;

// Interpolation at 0, +-5/8, +-3/2 and infinity: exact in binary, and a rounding error of about a third of
// that of the points 0, +-1, +-2.
template <>
struct WinogradTransform<4> {
    static constexpr float p = winograd_p, q = winograd_q, a = p * p, b = q * q;

    __device__ static __forceinline__ void input(const float (&d)[6], float (&t)[6]) {
        t[0] = fmaf(-(a + b), d[2], fmaf(a * b, d[0], d[4]));
        const float even_p = fmaf(-b, d[2], d[4]), odd_p = fmaf(-b, d[1], d[3]);
        t[1] = fmaf(p, odd_p, even_p);
        t[2] = fmaf(-p, odd_p, even_p);
        const float even_q = fmaf(-a, d[2], d[4]), odd_q = fmaf(-a, d[1], d[3]);
        t[3] = fmaf(q, odd_q, even_q);
        t[4] = fmaf(-q, odd_q, even_q);
        t[5] = fmaf(-(a + b), d[3], fmaf(a * b, d[1], d[5]));
    }
    __device__ static __forceinline__ void output(const float (&m)[6], float (&y)[4]) {
        const float s1 = m[1] + m[2], d1 = m[1] - m[2];
        const float s2 = m[3] + m[4], d2 = m[3] - m[4];
        y[0] = m[0] + s1 + s2;
        y[1] = fmaf(q, d2, p * d1);
        y[2] = fmaf(b, s2, a * s1);
        y[3] = fmaf(q * b, d2, fmaf(p * a, d1, m[5]));
    }
};

}  // namespace convlens::cuda
