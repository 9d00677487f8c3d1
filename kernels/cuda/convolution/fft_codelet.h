// Discrete Fourier transforms of a fixed length in registers, for the kernels of fft_transform.cuh.
//
// Mixed radix 2, 3, 4, 5, decimated in time, unrolled as a whole: every index and every twiddle factor is a
// constant of the program. Plain C++ besides, so that the processor can check it.
#pragma once

#include "kernels/common/host_device.h"

// Of the device alone where there is one: a host pass would know nothing of unrolling.
#ifdef __CUDACC__
#define CONVLENS_FFT __device__ __forceinline__
#else
#define CONVLENS_FFT inline
#endif

namespace convlens::cuda::fft {

namespace detail {

constexpr double pi = 3.14159265358979323846;

// Of |x| <= pi / 4, by the series.
CONVLENS_HD constexpr double sine_series(double x) {
    double term = x, sum = x;
    for (int i = 1; i < 12; ++i) sum += term *= -x * x / ((2 * i) * (2 * i + 1));
    return sum;
}
CONVLENS_HD constexpr double cosine_series(double x) {
    double term = 1, sum = 1;
    for (int i = 1; i < 12; ++i) sum += term *= -x * x / ((2 * i - 1) * (2 * i));
    return sum;
}

struct Root {
    double re, im;
};

// exp(2 pi i k / n), exact where it is 0, 1 or -1.
CONVLENS_HD constexpr Root root(int k, int n) {
    k %= n;
    // Quarter turns first, then the nearer end of the quarter.
    const int quarter = 4 * k / n, rest = 4 * k - quarter * n;  // rest / (4 n) of a turn
    const bool near = 2 * rest <= n;
    const double angle = 2 * pi * (near ? rest : n - rest) / (4.0 * n);
    const double c = near ? cosine_series(angle) : sine_series(angle);
    const double s = near ? sine_series(angle) : cosine_series(angle);
    switch (quarter) {
        case 0:
            return {c, s};
        case 1:
            return {-s, c};
        case 2:
            return {-c, -s};
        default:
            return {s, -c};
    }
}

template <int n>
struct Roots {
    float re[n], im[n];
};
template <int n>
CONVLENS_HD constexpr Roots<n> roots(int sign) {
    Roots<n> table{};
    for (int k = 0; k < n; ++k) {
        const Root r = root(k, n);
        table.re[k] = static_cast<float>(r.re);
        table.im[k] = static_cast<float>(sign * r.im);
    }
    return table;
}

CONVLENS_HD constexpr int radix_of(int n) {
    return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n % 5 == 0 ? 5 : n;
}

template <int radix, int sign>
CONVLENS_FFT void butterfly(float (&re)[radix], float (&im)[radix]) {
    if constexpr (radix == 2) {
        const float r = re[0] - re[1], i = im[0] - im[1];
        re[0] += re[1], im[0] += im[1];
        re[1] = r, im[1] = i;
    } else if constexpr (radix == 4) {
        const float r02 = re[0] + re[2], i02 = im[0] + im[2], r13 = re[1] + re[3], i13 = im[1] + im[3];
        const float s02 = re[0] - re[2], t02 = im[0] - im[2], s13 = re[1] - re[3], t13 = im[1] - im[3];
        re[0] = r02 + r13, im[0] = i02 + i13;
        re[2] = r02 - r13, im[2] = i02 - i13;
        // sign * i * (s13 + i t13)
        re[1] = sign > 0 ? s02 - t13 : s02 + t13;
        im[1] = sign > 0 ? t02 + s13 : t02 - s13;
        re[3] = sign > 0 ? s02 + t13 : s02 - t13;
        im[3] = sign > 0 ? t02 - s13 : t02 + s13;
    } else if constexpr (radix == 3) {
        constexpr float s = sign * 0.86602540378443864676f;
        const float sum_r = re[1] + re[2], sum_i = im[1] + im[2];
        const float turn_r = -s * (im[1] - im[2]), turn_i = s * (re[1] - re[2]);
        const float mid_r = re[0] - 0.5f * sum_r, mid_i = im[0] - 0.5f * sum_i;
        re[0] += sum_r, im[0] += sum_i;
        re[1] = mid_r + turn_r, im[1] = mid_i + turn_i;
        re[2] = mid_r - turn_r, im[2] = mid_i - turn_i;
    } else if constexpr (radix == 5) {
        constexpr float c1 = 0.30901699437494742410f, c2 = -0.80901699437494742410f;
        constexpr float s1 = sign * 0.95105651629515357212f, s2 = sign * 0.58778525229247312917f;
        const float a_r = re[1] + re[4], a_i = im[1] + im[4], b_r = re[2] + re[3], b_i = im[2] + im[3];
        const float d_r = re[1] - re[4], d_i = im[1] - im[4], e_r = re[2] - re[3], e_i = im[2] - im[3];
        const float m1_r = re[0] + c1 * a_r + c2 * b_r, m1_i = im[0] + c1 * a_i + c2 * b_i;
        const float m2_r = re[0] + c2 * a_r + c1 * b_r, m2_i = im[0] + c2 * a_i + c1 * b_i;
        const float t1_r = -(s1 * d_i + s2 * e_i), t1_i = s1 * d_r + s2 * e_r;
        const float t2_r = -(s2 * d_i - s1 * e_i), t2_i = s2 * d_r - s1 * e_r;
        re[0] += a_r + b_r, im[0] += a_i + b_i;
        re[1] = m1_r + t1_r, im[1] = m1_i + t1_i;
        re[4] = m1_r - t1_r, im[4] = m1_i - t1_i;
        re[2] = m2_r + t2_r, im[2] = m2_i + t2_i;
        re[3] = m2_r - t2_r, im[3] = m2_i - t2_i;
    } else {
        static_assert(radix == 1, "lengths have the factors 2, 3 and 5 only");
    }
}

}  // namespace detail

// In place, both sides in natural order: z[k] = sum over j of z[j] exp(sign 2 pi i j k / n).
template <int n, int sign>
CONVLENS_FFT void transform(float (&re)[n], float (&im)[n]) {
    constexpr int radix = detail::radix_of(n), m = n / radix;
    if constexpr (m == 1) {
        detail::butterfly<radix, sign>(re, im);
    } else {
        constexpr detail::Roots<n> w = detail::roots<n>(sign);
        float part_re[radix][m], part_im[radix][m];
#pragma unroll
        for (int r = 0; r < radix; ++r) {
#pragma unroll
            for (int j = 0; j < m; ++j) part_re[r][j] = re[r + radix * j], part_im[r][j] = im[r + radix * j];
            transform<m, sign>(part_re[r], part_im[r]);
        }
#pragma unroll
        for (int k = 0; k < m; ++k) {
            float x[radix], y[radix];
#pragma unroll
            for (int r = 0; r < radix; ++r) {
                const float a = part_re[r][k], b = part_im[r][k], c = w.re[r * k], s = w.im[r * k];
                // Constants: turns by quarters cost nothing.
                if (s == 0 && c == 1)
                    x[r] = a, y[r] = b;
                else if (c == 0)
                    x[r] = s > 0 ? -b : b, y[r] = s > 0 ? a : -a;
                else
                    x[r] = a * c - b * s, y[r] = a * s + b * c;
            }
            detail::butterfly<radix, sign>(x, y);
#pragma unroll
            for (int r = 0; r < radix; ++r) re[k + m * r] = x[r], im[k + m * r] = y[r];
        }
    }
}

}  // namespace convlens::cuda::fft
