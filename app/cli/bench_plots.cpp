#include "app/cli/bench_plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "app/cli/text.h"

namespace convlens::cli {
namespace {

constexpr std::array<BenchKind, 8> kinds = {{{"implicit", "implicit GEMM"},
                                             {"im2col", "im2col and GEMM"},
                                             {"winograd", "Winograd"},
                                             {"fft", "FFT"},
                                             {"special", "depthwise, pointwise, few channels"},
                                             {"tensor", "tensor cores"},
                                             {"direct", "direct (reference)"},
                                             {"peer", "another library"}}};

constexpr double row_height = 27, head_height = 10, axis_height = 34, label_width = 178, mark_size = 4.6;

std::string number(double value) { return fixed(value, 1); }

// Shapes differ as colours do.
std::string mark(const BenchKind& kind, double x, double y, double size, const std::string& more,
                 const std::string& title) {
    const std::string key = kind.key;
    std::string shape;
    const auto points = [&](std::initializer_list<std::pair<double, double>> list) {
        std::string text = "<polygon points=\"";
        for (const auto& [dx, dy] : list) text += number(x + dx * size) + "," + number(y + dy * size) + " ";
        return text + "\"";
    };
    if (key == "winograd")
        shape = points({{0, -1.2}, {1.15, 0.9}, {-1.15, 0.9}});
    else if (key == "fft")
        shape = points({{0, 1.2}, {1.15, -0.9}, {-1.15, -0.9}});
    else if (key == "im2col")
        shape = points({{-0.95, -0.95}, {0.95, -0.95}, {0.95, 0.95}, {-0.95, 0.95}});
    else if (key == "peer")
        shape = points({{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}});
    else if (key == "special")
        shape = points({{-1.15, -0.6}, {1.15, -0.6}, {1.15, 0.6}, {-1.15, 0.6}});
    else if (key == "tensor")
        shape = points({{0, -1.25}, {1.2, -0.4}, {0.75, 1.05}, {-0.75, 1.05}, {-1.2, -0.4}});
    else
        shape = "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" + number(size) + "\"";
    return shape + " class=\"m " + key + (more.empty() ? "" : " " + more) + "\"><title>" + html_text(title) +
           "</title>" + (key == "direct" || key == "implicit" ? "</circle>" : "</polygon>") + "\n";
}

std::string text_at(double x, double y, const char* css, const std::string& text,
                    const char* anchor = "start") {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + css + "\" text-anchor=\"" +
           anchor + "\">" + html_text(text) + "</text>\n";
}

std::string line(double x0, double y0, double x1, double y1, const char* css) {
    return "<line x1=\"" + number(x0) + "\" y1=\"" + number(y0) + "\" x2=\"" + number(x1) + "\" y2=\"" +
           number(y1) + "\" class=\"" + css + "\"/>\n";
}

std::string svg(double width, double height, const std::string& label, const std::string& body) {
    return "<svg viewBox=\"0 0 " + number(width) + " " + number(height) + "\" width=\"" + number(width) +
           "\" height=\"" + number(height) + "\" role=\"img\" aria-label=\"" + html_text(label) + "\">\n" +
           body + "</svg>\n";
}

// A logarithmic axis over whole decades or, where they are few, parts of them.
class Axis {
  public:
    Axis(double low, double high, double from, double to) : from_(from), to_(to) {
        low_ = std::log10(low);
        high_ = std::log10(high);
        const double margin = std::max(0.06 * (high_ - low_), 0.08);
        low_ -= margin;
        high_ += margin;
    }
    double at(double value) const {
        return from_ + (std::log10(value) - low_) / (high_ - low_) * (to_ - from_);
    }
    std::vector<double> ticks() const {
        std::vector<double> list;
        const double decades = high_ - low_;
        const int step = decades > 8 ? 3 : decades > 5 ? 2 : 1;
        for (int e = static_cast<int>(std::floor(low_)); e <= static_cast<int>(std::ceil(high_)); ++e)
            for (const double m : {1.0, 2.0, 5.0}) {
                if (m != 1 && decades > 2.2) continue;
                if (m == 1 && (e % step + step) % step != 0) continue;
                const double value = m * std::pow(10.0, e);
                if (std::log10(value) > low_ && std::log10(value) < high_) list.push_back(value);
            }
        return list;
    }

  private:
    double low_ = 0, high_ = 1, from_, to_;
};

std::string trimmed(double value) {
    std::string text = fixed(value, value < 0.01 ? 4 : value < 1 ? 2 : 0);
    if (text.find('.') != std::string::npos) {
        while (text.back() == '0') text.pop_back();
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string time_tick(double ms) {
    if (ms < 0.9999) return trimmed(ms * 1000) + " µs";
    return ms < 999.9 ? trimmed(ms) + " ms" : trimmed(ms / 1000) + " s";
}

std::string byte_tick(double bytes) {
    static constexpr const char* units[] = {" B", " kB", " MB", " GB", " TB"};
    std::size_t unit = 0;
    for (; bytes > 999.5 && unit < 4; ++unit) bytes /= 1000;
    return trimmed(bytes) + units[unit];
}

std::string error_tick(double error) {
    char text[16];
    std::snprintf(text, sizeof text, "%.0e", error);
    return text;
}

std::string title_of(const BenchResult& result, const LayerRow& row) {
    std::string text = result.layers[row.layer].name + ": " + row.candidate.algorithm +
                       (row.channels_last ? "" : " (packed)") + ", " + three_digits(row.times.median_ms) +
                       " ms, " + three_digits(row.candidate.work.flops / (row.times.median_ms * 1e6)) +
                       " GFLOP/s, workspace " + byte_text(static_cast<double>(row.candidate.workspace_bytes));
    if (row.max_error) {
        char error[32];
        std::snprintf(error, sizeof error, ", error %.1e", *row.max_error);
        text += error;
    }
    return text;
}

std::vector<std::size_t> layers_of(const BenchResult& result, BenchDirection direction) {
    std::vector<std::size_t> list;
    for (const LayerRow& row : result.layer_rows)
        if (row.direction == direction && row.times.samples > 0 &&
            std::find(list.begin(), list.end(), row.layer) == list.end())
            list.push_back(row.layer);
    return list;
}

// What a strip plot asks of a row: a value above 0, 0 for the place apart, or nothing.
using ValueOf = std::function<std::optional<double>(const LayerRow&)>;

struct Strip {
    const char* label;
    const char* apart;  // the word for 0; null: there is none
    std::string (*tick)(double);
    ValueOf value;
    double left, width, right;  // of names, of the plot, of remarks
};

struct Placed {
    const LayerRow* row;
    double x;
};

// Marks that would cover one another are moved apart upwards and downwards.
std::vector<double> dodged(const std::vector<Placed>& marks) {
    static constexpr double lanes[] = {0, -7.5, 7.5, -3.5, 3.5};
    std::vector<double> offsets;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        double chosen = lanes[i % 5];
        for (const double lane : lanes) {
            bool free = true;
            for (std::size_t j = 0; j < i; ++j)
                free = free && std::hypot(marks[i].x - marks[j].x, lane - offsets[j]) > 7.2;
            if (!free) continue;
            chosen = lane;
            break;
        }
        offsets.push_back(chosen);
    }
    return offsets;
}

std::string strip_plot(const BenchResult& result, BenchDirection direction, const Strip& strip,
                       const std::function<std::string(std::size_t)>& remark = {}) {
    const std::vector<std::size_t> layers = layers_of(result, direction);
    double low = INFINITY, high = 0;
    for (const LayerRow& row : result.layer_rows)
        if (row.direction == direction && row.times.samples > 0)
            if (const auto value = strip.value(row); value && *value > 0) {
                low = std::min(low, *value);
                high = std::max(high, *value);
            }
    const bool any = high > 0;
    if (!any) low = high = 1;
    const double band = strip.apart != nullptr ? 74 : 0;
    const double left = strip.left + band, right = strip.left + strip.width;
    const Axis axis(low, high, left, right);
    const double bottom = head_height + row_height * static_cast<double>(layers.size());
    std::string body;
    for (std::size_t i = 1; i < layers.size(); i += 2)
        body += "<rect x=\"0\" y=\"" + number(head_height + row_height * static_cast<double>(i)) +
                "\" width=\"" + number(strip.left + strip.width + strip.right) + "\" height=\"" +
                number(row_height) + "\" class=\"band\"/>\n";
    if (any)
        for (const double tick : axis.ticks()) {
            body += line(axis.at(tick), head_height, axis.at(tick), bottom, "grid");
            body += text_at(axis.at(tick), bottom + 16, "tick", strip.tick(tick), "middle");
        }
    if (strip.apart != nullptr) {
        body += text_at(strip.left + 6, bottom + 16, "tick", strip.apart);
        body += line(left - 2, head_height, left - 2, bottom, "axis");
    }
    body += line(strip.left, bottom, right, bottom, "axis");
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const double y = head_height + row_height * (static_cast<double>(i) + 0.5);
        if (strip.left > 60)
            body +=
                text_at(strip.left - 12, y + 4, "name", shortened(result.layers[layers[i]].name, 24), "end");
        std::vector<Placed> marks;
        double apart = strip.left + 8;
        const LayerRow* own = best_own(result, layers[i], direction);
        for (const LayerRow& row : result.layer_rows) {
            if (row.layer != layers[i] || row.direction != direction || row.times.samples == 0) continue;
            const auto value = strip.value(row);
            if (!value) continue;
            if (*value > 0) {
                marks.push_back({&row, axis.at(*value)});
            } else {
                marks.push_back({&row, apart});
                apart += apart + 8.5 < left - 8 ? 8.5 : 0;
            }
        }
        const std::vector<double> offsets = dodged(marks);
        for (std::size_t k = 0; k < marks.size(); ++k)
            body += mark(kind_of(marks[k].row->candidate.algorithm), marks[k].x, y + offsets[k], mark_size,
                         marks[k].row == own ? "best" : "", title_of(result, *marks[k].row));
        if (remark) body += text_at(right + 16, y + 4, "remark", remark(layers[i]));
    }
    return svg(strip.left + strip.width + strip.right, bottom + axis_height - 8, strip.label, body);
}

// Labels beside points, where there is room for them.
class Labels {
  public:
    void keep_free(double x, double y) { boxes_.push_back({x - 5, y - 5, x + 5, y + 5}); }
    std::string place(double x, double y, const std::string& text, double right) {
        const double width = 6.1 * static_cast<double>(columns(text)), height = 11;
        const std::array<std::pair<double, double>, 6> spots = {{{x + 8, y + 4},
                                                                 {x - 8 - width, y + 4},
                                                                 {x - width / 2, y - 9},
                                                                 {x - width / 2, y + 17},
                                                                 {x + 6, y - 7},
                                                                 {x + 6, y + 14}}};
        for (const auto& [left, base] : spots) {
            const Box box{left, base - height + 2, left + width, base + 2};
            if (box.right > right || box.left < 40 ||
                std::any_of(boxes_.begin(), boxes_.end(), [&](const Box& b) {
                    return box.left < b.right && b.left < box.right && box.top < b.bottom &&
                           b.top < box.bottom;
                }))
                continue;
            boxes_.push_back(box);
            return text_at(left, base, "small", text);
        }
        return {};
    }

  private:
    struct Box {
        double left, top, right, bottom;
    };
    std::vector<Box> boxes_;
};

struct Point {
    const LayerRow* row;
    double intensity, rate;
};

std::vector<Point> points_of(const BenchResult& result, BenchDirection direction) {
    std::vector<Point> points;
    for (const LayerRow& row : result.layer_rows) {
        const Work& work = row.candidate.work;
        const double flops = work.executed_flops > 0 ? work.executed_flops : work.flops;
        if (row.direction != direction || row.times.samples == 0 || work.bytes <= 0 || flops <= 0) continue;
        points.push_back({&row, flops / work.bytes, flops / (row.times.median_ms * 1e6)});
    }
    return points;
}

}  // namespace

std::string html_text(const std::string& text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    return out;
}

const BenchKind& kind_of(const std::string& algorithm) {
    const auto named = [](const char* key) -> const BenchKind& {
        return *std::find_if(kinds.begin(), kinds.end(),
                             [&](const BenchKind& k) { return std::string(k.key) == key; });
    };
    const auto has = [&](const char* part) { return algorithm.find(part) != std::string::npos; };
    if (algorithm.starts_with("peer:")) return named("peer");
    if (has("winograd")) return named("winograd");
    if (has("fft")) return named("fft");
    if (has("wgmma") || has("tf32") || has("fp16") || has("bf16")) return named("tensor");
    if (has("im2col") || has("col2im")) return named("im2col");
    if (has("implicit")) return named("implicit");
    if (has("direct")) return named("direct");
    return named("special");
}

std::vector<const BenchKind*> kinds_in(const BenchResult& result, BenchDirection direction) {
    std::vector<const BenchKind*> list;
    for (const BenchKind& kind : kinds)
        if (std::any_of(result.layer_rows.begin(), result.layer_rows.end(), [&](const LayerRow& row) {
                return row.direction == direction && row.times.samples > 0 &&
                       &kind_of(row.candidate.algorithm) == &kind;
            }))
            list.push_back(&kind);
    return list;
}

std::string legend_mark(const BenchKind& kind) {
    return "<svg width=\"14\" height=\"14\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">" +
           mark(kind, 7, 7, mark_size, "", kind.label) + "</svg>";
}

std::string time_plot(const BenchResult& result, BenchDirection direction) {
    const auto remark = [&](std::size_t layer) {
        const LayerRow* own = best_own(result, layer, direction);
        if (own == nullptr) return std::string("no own row at this precision");
        std::string text = own->candidate.algorithm + "  " + three_digits(own->times.median_ms) + " ms";
        if (const LayerRow* peer = best_peer(result, layer, direction))
            text += ", peer ×" + fixed(peer->times.median_ms / own->times.median_ms, 2);
        return text;
    };
    return strip_plot(
        result, direction,
        {"time of each algorithm on each layer", nullptr, time_tick,
         [](const LayerRow& row) { return std::optional(row.times.median_ms); }, label_width, 600, 330},
        remark);
}

std::string workspace_plot(const BenchResult& result, BenchDirection direction) {
    return strip_plot(result, direction,
                      {"workspace of each algorithm on each layer", "none", byte_tick,
                       [](const LayerRow& row) {
                           return std::optional(static_cast<double>(row.candidate.workspace_bytes));
                       },
                       label_width, 360, 24});
}

std::string error_plot(const BenchResult& result, BenchDirection direction) {
    return strip_plot(result, direction,
                      {"error of each algorithm on each layer", "exact", error_tick,
                       [](const LayerRow& row) {
                           return row.max_error && std::isfinite(*row.max_error) ? row.max_error
                                                                                 : std::nullopt;
                       },
                       label_width, 300, 24});
}

std::string roofline_plot(const BenchResult& result, BenchDirection direction) {
    const std::vector<Point> points = points_of(result, direction);
    if (!result.peaks || result.peaks->gflops <= 0 || result.peaks->gbytes_per_s <= 0 || points.empty())
        return {};
    const double peak = result.peaks->gflops, copy = result.peaks->gbytes_per_s;
    double left = peak / copy, right = left, low = peak, high = peak;
    for (const Point& point : points) {
        left = std::min(left, point.intensity);
        right = std::max(right, point.intensity);
        low = std::min(low, point.rate);
        high = std::max(high, point.rate);
    }
    constexpr double width = 1108, height = 430, plot_left = 74, plot_right = 1090, top = 16, bottom = 384;
    const Axis x(left, right * 1.4, plot_left, plot_right), y(low, high, bottom, top);
    std::string body;
    for (const double tick : x.ticks()) {
        body += line(x.at(tick), top, x.at(tick), bottom, "grid");
        body += text_at(x.at(tick), bottom + 16, "tick", trimmed(tick), "middle");
    }
    for (const double tick : y.ticks()) {
        body += line(plot_left, y.at(tick), plot_right, y.at(tick), "grid");
        body += text_at(plot_left - 8, y.at(tick) + 4, "tick",
                        tick >= 1000 ? three_digits(tick) : trimmed(tick), "end");
    }
    body += line(plot_left, bottom, plot_right, bottom, "axis");
    body += text_at((plot_left + plot_right) / 2, bottom + 36, "tick",
                    "operations for each byte moved at least", "middle");
    body += text_at(plot_left, top - 4, "tick", "GFLOP/s");
    // Where the sloping roof meets the plot's lower or left edge.
    const double start = std::max(low * 0.9 / copy, left * 0.95), ridge = peak / copy;
    if (start < ridge) body += line(x.at(start), y.at(start * copy), x.at(ridge), y.at(peak), "roof");
    body += line(x.at(ridge), y.at(peak), plot_right, y.at(peak), "roof");
    Labels labels;
    body += text_at(
        plot_right - 4, y.at(peak) - 7, "small strong",
        "large matrix product (" + result.peaks->gflops_row + "): " + three_digits(peak) + " GFLOP/s", "end");
    for (double along = plot_right - 330; along < plot_right; along += 8)
        labels.keep_free(along, y.at(peak) - 10);
    if (start < ridge)
        body += text_at(x.at(start) + 12, y.at(start * copy) + 20, "small strong",
                        "large copy: " + three_digits(copy) + " GB/s");
    std::string front;
    for (const Point& point : points) {
        const LayerRow* own = best_own(result, point.row->layer, direction);
        const LayerRow* peer = best_peer(result, point.row->layer, direction);
        const bool shown = point.row == own || point.row == peer;
        (shown ? front : body) += mark(kind_of(point.row->candidate.algorithm), x.at(point.intensity),
                                       y.at(point.rate), shown ? mark_size + 0.6 : 3,
                                       point.row == own ? "best"
                                       : shown          ? ""
                                                        : "faint",
                                       title_of(result, *point.row));
        if (shown) labels.keep_free(x.at(point.intensity), y.at(point.rate));
    }
    body += front;
    for (const Point& point : points)
        if (point.row == best_own(result, point.row->layer, direction))
            body += labels.place(x.at(point.intensity), y.at(point.rate),
                                 result.layers[point.row->layer].name, plot_right);
    return svg(width, height, "roofline", body);
}

}  // namespace convlens::cli
