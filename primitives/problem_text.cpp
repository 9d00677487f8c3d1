#include "primitives/problem_text.h"

#include <array>
#include <charconv>
#include <utility>

#include "convlens/error.h"

namespace convlens {
namespace {

std::string text_of(float value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), end.ptr};
}

std::string text_of(std::int64_t value) { return std::to_string(value); }

std::string list_of(const Dims& values) {
    std::string text;
    for (const std::int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
    return text.empty() ? "none" : text;
}

// What lies next to what can't be asked of a tensor that was not checked: its strides are printed then.
std::string text_of(const TensorDesc& desc) {
    bool regular = desc.dims.rank() == desc.strides.rank();
    try {
        (void)desc.dims.product();
    } catch (const Error&) {
        regular = false;
    }
    std::string text;
    if (regular && (desc.is_packed() || desc.is_channels_last()))
        text = desc.text();
    else
        text =
            std::string(to_string(desc.type)) + ' ' + desc.dims.text() + " strides " + list_of(desc.strides);
    return desc.offset == 0 ? text : text + " offset " + std::to_string(desc.offset);
}

class Line {
  public:
    explicit Line(const char* operation) : text_(operation) {}
    void add(const std::string& part) {
        text_ += (first_ ? " " : ", ") + part;
        first_ = false;
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
    bool first_ = true;
};

template <class P>
void add_tensors(Line& line, const P& p) {
    if constexpr (requires { p.src; }) line.add("src " + text_of(p.src));
    if constexpr (requires { p.diff; }) line.add("diff " + text_of(p.diff));
    if constexpr (requires { p.srcs; })
        for (const TensorDesc& src : p.srcs) line.add("src " + text_of(src));
    if constexpr (requires { p.a; }) {
        line.add("a " + text_of(p.a));
        if (!is_unary(p.kind)) line.add("b " + text_of(p.b));
    }
    if constexpr (requires { p.weights; }) line.add("weights " + p.weights.text());
    if constexpr (requires { p.outputs; }) line.add("outputs " + text_of(p.outputs));
    line.add("dst " + text_of(p.dst));
}

template <class P>
void add_geometry(Line& line, const P& p) {
    if constexpr (requires { p.kind; }) line.add(to_string(p.kind));
    if constexpr (requires { p.size; }) {
        if constexpr (requires { p.size.rank(); })
            line.add("size " + p.size.text());
        else
            line.add("size " + text_of(p.size));
    }
    if constexpr (requires { p.window; }) {
        line.add("pads " + list_of(p.window.pads_begin) + ' ' + list_of(p.window.pads_end));
        line.add("strides " + list_of(p.window.strides));
        line.add("dilations " + list_of(p.window.dilations));
    }
    if constexpr (requires { p.groups; }) line.add("groups " + text_of(p.groups));
    if constexpr (requires { p.mode; })
        line.add(p.mode == ConvolutionMode::convolution ? "convolution" : "cross_correlation");
    if constexpr (requires { p.axis; }) line.add("axis " + std::to_string(p.axis));
    if constexpr (requires { p.pad_mode; })
        if (!p.pads_begin.empty() || !p.pads_end.empty()) {
            line.add("pads " + list_of(p.pads_begin) + ' ' + list_of(p.pads_end));
            line.add(p.pad_mode == PadMode::edge      ? "edge"
                     : p.pad_mode == PadMode::reflect ? "reflect"
                                                      : "constant " + text_of(p.pad_value));
        }
}

template <class P>
void add_numbers(Line& line, const P& p) {
    if constexpr (requires { p.alpha; }) {
        line.add("alpha " + text_of(p.alpha));
        line.add("beta " + text_of(p.beta));
    }
    if constexpr (requires { p.k; }) line.add("k " + text_of(p.k));
    if constexpr (requires { p.epsilon; }) line.add("epsilon " + text_of(p.epsilon));
    if constexpr (requires { p.logarithm; })
        if (p.logarithm) line.add("logarithm");
    if constexpr (requires { p.has_bias; })
        if (p.has_bias) line.add("bias");
    if constexpr (requires { p.has_residual; })
        if (p.has_residual) line.add("residual");
    if constexpr (requires { p.activation; })
        if (p.activation.kind != ActivationKind::identity) {
            line.add(to_string(p.activation.kind));
            if (p.activation.alpha != 0 || p.activation.beta != 0)
                line.add("of " + text_of(p.activation.alpha) + " and " + text_of(p.activation.beta));
        }
}

}  // namespace

std::string to_text(const Problem& problem) {
    Line line(operation_name(problem));
    std::visit(
        [&](const auto& p) {
            add_tensors(line, p);
            add_geometry(line, p);
            add_numbers(line, p);
        },
        problem);
    return line.take();
}

}  // namespace convlens
