#include "app/ui/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "app/commands/registry.h"
#include "app/ui/color_range.h"

namespace convlens::ui {
namespace {

#define THIN "\u2009"
#define NARROW "\u202f"
#define MINUS "\u2212"

// Back to a number, and how many significant digits were written.
double parsed(std::string text, int* digits = nullptr) {
    const auto replace = [&](const std::string& what, const std::string& by) {
        for (auto at = text.find(what); at != std::string::npos; at = text.find(what))
            text.replace(at, what.size(), by);
    };
    replace(MINUS, "-");
    replace(NARROW, "");
    if (digits) {
        *digits = 0;
        bool leading = true;
        for (const char c : text.substr(0, text.find('e'))) {
            if (c >= '1' && c <= '9') leading = false;
            if (c >= '0' && c <= '9' && !leading) ++*digits;
        }
    }
    return std::strtod(text.c_str(), nullptr);
}

TEST(Format, FiguresKeepThreeDigitsOverAllMagnitudes) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> exponent(-12, 12), mantissa(1, 10);
    for (int i = 0; i < 20000; ++i) {
        const double value = (i % 2 ? -1 : 1) * mantissa(random) * std::pow(10, exponent(random));
        int digits = 0;
        const std::string text = format_figure(value);
        const double back = parsed(text, &digits);
        ASSERT_NEAR(back / value, 1, 0.0051) << text;
        if (std::abs(value) < 999.5 || std::abs(value) >= 1e7) {
            ASSERT_EQ(digits, 3) << text << " of " << value;
        }
    }
}

TEST(Format, FiguresReadAsTheWindowWritesThem) {
    EXPECT_EQ(format_figure(1.4249), "1.42");
    EXPECT_EQ(format_figure(9.999), "10.0");
    EXPECT_EQ(format_figure(0.0213), "0.0213");
    EXPECT_EQ(format_figure(1234), "1" NARROW "234");
    EXPECT_EQ(format_figure(-5.94, 2), MINUS "5.9");
    EXPECT_EQ(format_figure(0), "0");
    EXPECT_EQ(format_figure(-0.0), "0");
    EXPECT_EQ(format_figure(NAN), "NaN");
    EXPECT_EQ(format_figure(-INFINITY), MINUS "Inf");
    EXPECT_EQ(format_value(1.8342), "1.8342");
    EXPECT_EQ(format_value(2.5), "2.5");
    EXPECT_EQ(format_value(100), "100");
    EXPECT_EQ(format_error(2.13e-7), "2.1e" MINUS "7");
    EXPECT_EQ(format_error(0), "0");
}

TEST(Format, UnitsChangeWithoutAJump) {
    EXPECT_EQ(format_bytes(0), "0" THIN "B");
    EXPECT_EQ(format_bytes(1024), "1.00" THIN "KiB");
    EXPECT_EQ(format_bytes(1023), "1" NARROW "023" THIN "B");
    EXPECT_EQ(format_bytes(10.3 * 1024 * 1024), "10.3" THIN "MiB");
    EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1.00" THIN "MiB");
    EXPECT_EQ(format_ms(1.42), "1.42" THIN "ms");
    EXPECT_EQ(format_ms(0.0213), "21.3" THIN "\u00b5s");
    EXPECT_EQ(format_ms(-1), not_measured);
    EXPECT_EQ(format_ms(0), "0" THIN "ms");
    EXPECT_EQ(format_percent(0.385), "38.5" THIN "%");
    EXPECT_EQ(format_percent(1), "100" THIN "%");
    EXPECT_EQ(format_percent(0.0001), "<0.1" THIN "%");
    EXPECT_EQ(format_count(75264), "75" NARROW "264");
    EXPECT_EQ(format_count(-1280), MINUS "1" NARROW "280");
    EXPECT_EQ(format_operations(123.4e6), "123" THIN "M");
}

TEST(Format, QuotedArgumentsComeBackWhole) {
    for (const std::string text :
         {"plain", "", "two words", "a\"quote", "back\\slash", "# no comment", "tab\there"}) {
        const auto words = commands::split_line("model " + quoted(text));
        ASSERT_EQ(words.size(), 2u) << text;
        EXPECT_EQ(words[1], text);
    }
}

TEST(ColorRange, SignedRangesAreSymmetricAndOthersStartAtZero) {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> exponent(-8, 8);
    for (int i = 0; i < 2000; ++i) {
        const double max = std::pow(10, exponent(random)), min = -std::pow(10, exponent(random));
        const ColorRange s = range_of(min, max);
        EXPECT_EQ(s.map, render::ColorMap::diverging);
        EXPECT_EQ(s.lo, -s.hi);
        EXPECT_GE(s.hi * 1.000001, std::max(-min, max));
        EXPECT_LE(s.hi, std::max(-min, max) * 1.1001);
        EXPECT_NEAR(s.place(0), 0.5, 1e-6);
        const ColorRange p = range_of(max * 0.3, max);
        EXPECT_EQ(p.map, render::ColorMap::viridis);
        EXPECT_EQ(p.lo, 0);
        EXPECT_GE(p.hi * 1.000001, max);
    }
    EXPECT_EQ(range_of(0, 0).lo, range_of(0, 0).hi);
    EXPECT_EQ(range_of(0, 0).place(3), 0);
}

TEST(ColorRange, EndsAreRoundedUpToTwoDigits) {
    EXPECT_DOUBLE_EQ(rounded_up(5.87), 5.9);
    EXPECT_DOUBLE_EQ(rounded_up(6.0), 6.0);
    EXPECT_DOUBLE_EQ(rounded_up(0.0101), 0.011);
    EXPECT_DOUBLE_EQ(rounded_up(991), 1000);
    EXPECT_EQ(rounded_up(0), 0);
    EXPECT_EQ(rounded_up(INFINITY), 0);
}

}  // namespace
}  // namespace convlens::ui
