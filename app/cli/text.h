// Figures and columns for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace convlens::cli {

// Columns that a UTF-8 text takes: code points, combining marks aside.
std::size_t columns(const std::string& text);
// Cut to at most `most` columns, the last one an ellipsis; control characters become '?'.
std::string shortened(const std::string& text, std::size_t most);

std::string fixed(double value, int decimals);
// Three significant digits: "0.0123", "1.23", "123", "12 300".
std::string three_digits(double value);
// "512 B", "1.23 MB" (powers of 1000).
std::string byte_text(double bytes);
// "1x32x112x112" with real multiplication signs.
std::string with_times_signs(std::string dims);

// Aligned columns: header, rows, and rows of totals below a line.
class TextTable {
  public:
    struct Column {
        std::string title;
        bool right = false;
        std::size_t most = 40;  // longer cells are cut
    };
    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    void add_line() { rows_.emplace_back(); }
    std::string text() const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;  // an empty row is a line
};

}  // namespace convlens::cli
