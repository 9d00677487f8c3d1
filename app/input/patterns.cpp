// Test patterns: pictures whose answer by a filter is known without looking.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "app/input/source.h"
#include "convlens/error.h"
#include "primitives/split_mix.h"

namespace convlens::input {
namespace {

constexpr int max_pattern_side = 4096;

struct Options {
    std::string text;
    int width = 224, height = 224;
    std::uint64_t seed = 1;  // where the text states none
    std::map<std::string, double> values;
    double get(const std::string& name, double otherwise) const {
        const auto found = values.find(name);
        return found == values.end() ? otherwise : found->second;
    }
};

struct Pattern {
    const char* name;
    std::vector<const char*> options;
    void (*draw)(const Options& options, Frame& frame);
};

std::uint8_t to_byte(double value) {
    return static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(value, 0.0, 1.0)));
}

// value(x, y) in 0 to 1, at pixel centres relative to the picture's middle.
template <class Value>
void fill_grey(Frame& frame, const Value& value) {
    std::uint8_t* to = frame.rgb.data();
    for (int y = 0; y < frame.height; ++y)
        for (int x = 0; x < frame.width; ++x, to += 3)
            to[0] = to[1] = to[2] = to_byte(value(x + 0.5 - 0.5 * frame.width, y + 0.5 - 0.5 * frame.height));
}

std::pair<double, double> direction(const Options& options) {
    const double angle = options.get("angle", 0) * std::numbers::pi / 180;
    return {std::cos(angle), std::sin(angle)};
}

void draw_impulse(const Options& options, Frame& frame) {
    const double px = options.get("x", frame.width / 2), py = options.get("y", frame.height / 2);
    if (!(px >= 0 && px < frame.width && py >= 0 && py < frame.height))
        throw Error(Status::bad_parameter, "pattern:" + options.text +
                                               ": the impulse lies outside of the picture: x from 0 to " +
                                               std::to_string(frame.width - 1) + ", y from 0 to " +
                                               std::to_string(frame.height - 1));
    const auto at = (static_cast<std::size_t>(py) * static_cast<std::size_t>(frame.width) +
                     static_cast<std::size_t>(px)) *
                    3;
    std::fill_n(frame.rgb.begin() + static_cast<std::ptrdiff_t>(at), 3, std::uint8_t{255});
}

void draw_edge(const Options& options, Frame& frame) {
    const auto [dx, dy] = direction(options);
    fill_grey(frame, [&, dx = dx, dy = dy](double x, double y) { return 0.5 + x * dx + y * dy; });
}

void draw_checker(const Options& options, Frame& frame) {
    const double cell = options.get("cell", 16);
    if (!(cell >= 1 && cell <= max_pattern_side))
        throw Error(Status::bad_parameter, "pattern:" + options.text + ": cell must be from 1 to " +
                                               std::to_string(max_pattern_side) + " pixels");
    for (int y = 0; y < frame.height; ++y)
        for (int x = 0; x < frame.width; ++x) {
            const bool white = (static_cast<int>(x / cell) + static_cast<int>(y / cell)) % 2 == 1;
            std::fill_n(frame.rgb.begin() + (static_cast<std::ptrdiff_t>(y) * frame.width + x) * 3, 3,
                        std::uint8_t{static_cast<std::uint8_t>(white ? 255 : 0)});
        }
}

void draw_gradient(const Options& options, Frame& frame) {
    const auto [dx, dy] = direction(options);
    // From the corner pixel's centre that lies farthest back to the one farthest ahead.
    const double reach = 0.5 * (std::abs(dx) * (frame.width - 1) + std::abs(dy) * (frame.height - 1));
    fill_grey(frame, [&, dx = dx, dy = dy](double x, double y) {
        return reach > 0 ? 0.5 + 0.5 * (x * dx + y * dy) / reach : 0.5;
    });
}

void draw_grating(const Options& options, Frame& frame) {
    const auto [dx, dy] = direction(options);
    const double turn = 2 * std::numbers::pi * options.get("frequency", 5) / 100;
    const double phase = options.get("phase", 0) * std::numbers::pi / 180;
    fill_grey(frame, [&, dx = dx, dy = dy](double x, double y) {
        return 0.5 + 0.5 * std::sin(turn * (x * dx + y * dy) + phase);
    });
}

void draw_noise(const Options& options, Frame& frame) {
    const auto stated = options.values.find("seed");
    SplitMix64 bits(stated == options.values.end() ? options.seed
                                                   : static_cast<std::uint64_t>(stated->second));
    for (std::uint8_t& value : frame.rgb) value = static_cast<std::uint8_t>(bits.next() >> 56);
}

const std::vector<Pattern>& patterns() {
    static const std::vector<Pattern> list = {
        {"impulse", {"x", "y"}, draw_impulse},
        {"edge", {"angle"}, draw_edge},
        {"checker", {"cell"}, draw_checker},
        {"gradient", {"angle"}, draw_gradient},
        {"grating", {"frequency", "angle", "phase"}, draw_grating},
        {"noise", {"seed"}, draw_noise},
    };
    return list;
}

template <class Names>
std::string joined(const Names& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

bool parse_size(const std::string& word, int& width, int& height) {
    const char* end = word.data() + word.size();
    const auto first = std::from_chars(word.data(), end, width);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != 'x') return false;
    const auto second = std::from_chars(first.ptr + 1, end, height);
    return second.ec == std::errc{} && second.ptr == end;
}

void parse_option(const std::string& word, const Pattern& pattern, Options& options) {
    const std::string where = "pattern:" + options.text + ": ";
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
        if (!parse_size(word, options.width, options.height))
            throw Error(Status::bad_parameter,
                        where + "'" + word + "' is neither a size such as 320x240 nor NAME=VALUE");
        if (options.width < 1 || options.height < 1 || options.width > max_pattern_side ||
            options.height > max_pattern_side)
            throw Error(Status::bad_parameter, where + "the size must be from 1 to " +
                                                   std::to_string(max_pattern_side) + " pixels a side");
        return;
    }
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (std::none_of(pattern.options.begin(), pattern.options.end(),
                     [&](const char* o) { return name == o; }))
        throw Error(Status::bad_parameter, where + pattern.name + " has no option '" + name + "', only " +
                                               joined(pattern.options) + " and a size such as 320x240");
    double number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size() || !(std::abs(number) < 1e9))
        throw Error(Status::bad_parameter, where + "'" + value + "' is no number for " + name);
    if (name == "seed" && (number < 0 || number != std::floor(number)))
        throw Error(Status::bad_parameter, where + "the seed must be a whole number from 0 on");
    options.values[name] = number;
}

}  // namespace

std::vector<std::string> pattern_names() {
    std::vector<std::string> names;
    for (const Pattern& pattern : patterns()) names.emplace_back(pattern.name);
    return names;
}

FramePtr make_pattern(const std::string& text, std::uint64_t seed) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t colon = std::min(text.find(':', at), text.size());
        words.push_back(text.substr(at, colon - at));
        at = colon + 1;
    }
    const auto found = std::find_if(patterns().begin(), patterns().end(),
                                    [&](const Pattern& pattern) { return words[0] == pattern.name; });
    if (found == patterns().end())
        throw Error(Status::bad_parameter,
                    "pattern:" + text + ": there is no such pattern: take one of " + joined(pattern_names()));
    Options options;
    options.text = text;
    options.seed = seed;
    for (std::size_t i = 1; i < words.size(); ++i) parse_option(words[i], *found, options);
    auto frame = std::make_shared<Frame>();
    frame->width = options.width;
    frame->height = options.height;
    frame->rgb.resize(static_cast<std::size_t>(options.width) * static_cast<std::size_t>(options.height) * 3);
    frame->name = "pattern:" + text;
    found->draw(options, *frame);
    frame->arrived_ms = now_ms();
    return frame;
}

}  // namespace convlens::input
