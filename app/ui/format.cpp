#include "app/ui/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace convlens::ui {

namespace {

constexpr const char* minus = "\u2212";
constexpr const char* thin = "\u2009";
constexpr const char* narrow = "\u202f";

std::string printed(double value, int decimals) {
    char text[400];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

// Thin spaces into the whole part of an unsigned decimal text of five digits and more (four stay together
// nowhere: 1 234 too).
std::string grouped(const std::string& digits) {
    const auto point = std::min(digits.find('.'), digits.size());
    std::string out;
    for (std::size_t i = 0; i < point; ++i) {
        if (i > 0 && (point - i) % 3 == 0) out += narrow;
        out += digits[i];
    }
    return out + digits.substr(point);
}

std::string exponent_form(double magnitude, int decimals) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", decimals, magnitude);
    std::string mantissa = text;
    const auto e = mantissa.find('e');
    const int exponent = std::atoi(mantissa.c_str() + e + 1);
    mantissa.resize(e);
    return mantissa + "e" + (exponent < 0 ? minus : "") + std::to_string(std::abs(exponent));
}

std::string special(double value) {
    if (std::isnan(value)) return "NaN";
    return value < 0 ? std::string(minus) + "Inf" : "Inf";
}

std::string magnitude_text(double magnitude, int digits) {
    if (magnitude == 0) return "0";
    if (magnitude >= 1e7 || magnitude < 1e-4) return exponent_form(magnitude, std::max(0, digits - 1));
    // The exponent after rounding to `digits`: 9.996 is 10.0, not 10.00.
    char rounded[64];
    std::snprintf(rounded, sizeof rounded, "%.*e", digits - 1, magnitude);
    const int exponent = std::atoi(std::string(rounded).substr(std::string(rounded).find('e') + 1).c_str());
    return grouped(printed(magnitude, std::max(0, digits - 1 - exponent)));
}

std::string scaled(double value, double base, const std::array<const char*, 6>& units) {
    std::size_t unit = 0;
    while (unit + 1 < units.size() && value >= base * 0.9995) {
        value /= base;
        ++unit;
    }
    if (unit == 0) return format_count(std::llround(value)) + thin + units[0];
    return format_figure(value) + thin + units[unit];
}

}  // namespace

std::string format_figure(double value, int digits) {
    if (!std::isfinite(value)) return special(value);
    const std::string text = magnitude_text(std::abs(value), std::clamp(digits, 1, 15));
    return value < 0 && text != "0" ? minus + text : text;
}

std::string format_value(double value) {
    std::string text = format_figure(value, 6);
    const auto point = text.find('.');
    if (!std::isfinite(value) || point == std::string::npos) return text;
    const auto exponent = std::min(text.find('e'), text.size());
    std::string mantissa = text.substr(0, exponent);
    while (mantissa.back() == '0') mantissa.pop_back();
    if (mantissa.back() == '.') mantissa.pop_back();
    return mantissa + text.substr(exponent);
}

std::string format_ms(double ms) {
    if (!(ms >= 0)) return not_measured;
    if (ms > 0 && ms < 0.1) return format_figure(ms * 1000) + thin + "\u00b5s";
    return format_figure(ms) + thin + "ms";
}

std::string format_bytes(double bytes) {
    if (!(bytes >= 0)) return not_measured;
    return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string format_operations(double operations) {
    if (!(operations >= 0)) return not_measured;
    if (operations < 1000) return format_count(std::llround(operations));
    return scaled(operations, 1000, {"", "k", "M", "G", "T", "P"});
}

std::string format_percent(double share) {
    if (!std::isfinite(share)) return not_measured;
    const double percent = share * 100;
    std::string text;
    if (percent == 0 || percent == 100)
        text = printed(percent, 0);
    else if (std::abs(percent) < 0.05)
        text = "<0.1";
    else
        text = printed(std::abs(percent), std::abs(percent) < 99.95 ? 1 : 0);
    return (percent < 0 ? minus + text : text) + thin + "%";
}

std::string format_count(std::int64_t value) {
    const std::string text = std::to_string(value);
    return value < 0 ? minus + grouped(text.substr(1)) : grouped(text);
}

std::string format_error(double error) {
    if (!std::isfinite(error)) return special(error);
    if (error == 0) return "0";
    return (error < 0 ? minus : "") + exponent_form(std::abs(error), 1);
}

std::string quoted(const std::string& argument) {
    const bool plain = !argument.empty() && argument.find_first_of(" \t#\"\\") == std::string::npos;
    if (plain) return argument;
    std::string text = "\"";
    for (const char c : argument) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text + "\"";
}

}  // namespace convlens::ui
