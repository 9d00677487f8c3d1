#include "app/cli/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace convlens::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string repeated(const std::string& part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

std::string without_trailing_blanks(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

}  // namespace

std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shortened(const std::string& text, std::size_t most) {
    std::string clean;
    std::size_t taken = 0;
    const bool cut = columns(text) > most;
    for (const char c : text) {
        if (!continues(c) && taken++ == most - (cut ? 1 : 0)) break;
        clean += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
    }
    return cut ? clean + "…" : clean;
}

std::string fixed(double value, int decimals) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
    return buffer;
}

std::string three_digits(double value) {
    const double size = std::abs(value);
    if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "∞" : "−∞";
    if (size == 0) return "0";
    if (size >= 1000) {
        const std::string digits = fixed(size, 0);
        std::string text = value < 0 ? "-" : "";
        for (std::size_t i = 0; i < digits.size(); ++i) {
            if (i > 0 && (digits.size() - i) % 3 == 0) text += " ";
            text += digits[i];
        }
        return text;
    }
    const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
    return fixed(value, std::clamp(3 - before, 0, 6));
}

std::string byte_text(double bytes) {
    static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (bytes >= 999.5 && unit < 4) {
        bytes /= 1000;
        ++unit;
    }
    return (unit == 0 ? fixed(bytes, 0) : three_digits(bytes)) + " " + units[unit];
}

std::string with_times_signs(std::string dims) {
    for (std::size_t at = dims.find('x'); at != std::string::npos; at = dims.find('x', at + 1))
        dims.replace(at, 1, "×");
    return dims;
}

std::string TextTable::text() const {
    std::vector<std::size_t> widths;
    for (const Column& column : columns_) widths.push_back(cli::columns(column.title));
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], std::min(cli::columns(row[i]), columns_[i].most));
    std::size_t whole = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) whole += width;

    const auto line = [&](const std::vector<std::string>& cells) {
        std::string out;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string cell = shortened(cells[i], columns_[i].most);
            const std::string pad(widths[i] - std::min(widths[i], cli::columns(cell)), ' ');
            out += (i > 0 ? "  " : "") + (columns_[i].right ? pad + cell : cell + pad);
        }
        return without_trailing_blanks(out) + "\n";
    };
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    std::string out = line(titles) + repeated("─", whole) + "\n";
    for (const auto& row : rows_) out += row.empty() ? repeated("─", whole) + "\n" : line(row);
    return out;
}

}  // namespace convlens::cli
