// Numbers as the window writes them: three significant digits, minus sign U+2212, thin spaces before units
// and between thousands. A figure that was not measured is an en dash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace convlens::ui {

// "1.42", "0.0213", "12.3", "1 234", "−5.9", "2.1e−7"; NaN and infinities by name.
std::string format_figure(double value, int digits = 3);
// Six significant digits without trailing zeros: values under the cursor.
std::string format_value(double value);
// Milliseconds with their unit; below 0.1 ms in microseconds. Negative: not measured.
std::string format_ms(double ms);
// "0 B", "27 KiB", "10.3 MiB".
std::string format_bytes(double bytes);
// "123 M", "4.1 G": counts of operations.
std::string format_operations(double operations);
// Share 0 to 1 as "38.5 %".
std::string format_percent(double share);
// Whole numbers with thin spaces between thousands.
std::string format_count(std::int64_t value);
// "2.1e−7": two significant digits, for errors; 0 is "0".
std::string format_error(double error);
inline const char* const not_measured = "\u2013";

// A command's argument: in double quotes where it holds blanks, quotes or '#', or is empty.
std::string quoted(const std::string& argument);

}  // namespace convlens::ui
