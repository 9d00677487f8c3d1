// The spectrum of a small filter by the definition, in double precision, as the FFT rows pack it (host).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace convlens::kernels {

// Of tiles rows x columns (both even): rows * (columns / 2) + 2 values, the half spectrum without what is
// given by symmetry: columns 1 .. columns / 2 - 1, all rows of each; then rows 0 .. rows / 2 of column 0 and
// of column columns / 2.
class FilterSpectrum {
  public:
    FilterSpectrum(std::int64_t rows, std::int64_t columns, std::int64_t window_rows,
                   std::int64_t window_columns, bool flipped, double scale)
        : rows_(rows),
          half_(columns / 2),
          r_(window_rows),
          s_(window_columns),
          flipped_(flipped),
          across_(roots(half_ + 1, columns, s_, scale)),
          down_(roots(rows, rows, r_, 1)),
          lines_re_(index(r_ * (half_ + 1))),
          lines_im_(lines_re_) {}

    static std::int64_t values(std::int64_t rows, std::int64_t columns) { return rows * (columns / 2) + 2; }

    // filter: window_rows x window_columns.
    void transform(const float* filter, double* re, double* im) {
        std::fill(lines_re_.begin(), lines_re_.end(), 0.0);
        std::fill(lines_im_.begin(), lines_im_.end(), 0.0);
        const std::int64_t taps = r_ * s_, columns = half_ + 1;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            const double w = filter[flipped_ ? taps - 1 - tap : tap];
            const double* c = across_.re.data() + tap % s_ * columns;
            const double* s = across_.im.data() + tap % s_ * columns;
            double* line_re = lines_re_.data() + tap / s_ * columns;
            double* line_im = lines_im_.data() + tap / s_ * columns;
            for (std::int64_t i = 0; i < columns; ++i) {
                line_re[i] += w * c[i];
                line_im[i] += w * s[i];
            }
        }
        for (std::int64_t i = 0; i < columns; ++i) {
            const std::int64_t column = i < half_ - 1 ? i + 1 : i == half_ - 1 ? 0 : half_;
            const std::int64_t count = i < half_ - 1 ? rows_ : rows_ / 2 + 1;
            std::fill_n(re, count, 0.0);
            std::fill_n(im, count, 0.0);
            for (std::int64_t r = 0; r < r_; ++r) {
                const double a = lines_re_[index(r * columns + column)],
                             b = lines_im_[index(r * columns + column)];
                const double* c = down_.re.data() + r * rows_;
                const double* s = down_.im.data() + r * rows_;
                for (std::int64_t row = 0; row < count; ++row) {
                    re[row] += a * c[row] - b * s[row];
                    im[row] += a * s[row] + b * c[row];
                }
            }
            re += count, im += count;
        }
    }

  private:
    struct Roots {
        std::vector<double> re, im;
    };
    static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
    // scale * exp(-2 pi i f t / length) for t < taps, f < count.
    static Roots roots(std::int64_t count, std::int64_t length, std::int64_t taps, double scale) {
        Roots table;
        for (std::int64_t t = 0; t < taps; ++t)
            for (std::int64_t f = 0; f < count; ++f) {
                const double angle = 2 * 3.14159265358979323846 * static_cast<double>(f * t % length) /
                                     static_cast<double>(length);
                table.re.push_back(scale * std::cos(angle));
                table.im.push_back(-scale * std::sin(angle));
            }
        return table;
    }

    std::int64_t rows_, half_, r_, s_;
    bool flipped_;
    Roots across_, down_;
    std::vector<double> lines_re_, lines_im_;  // of one filter
};

}  // namespace convlens::kernels
