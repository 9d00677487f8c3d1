#include "app/input/preprocess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "convlens/error.h"

namespace convlens::input {
namespace {

// Of one side of a network's input; above it the numbers can only be a mistake.
constexpr int max_network_side = 16384;

class Value {
  public:
    Value(const std::string& key, const std::string& text) : key_(key), text_(text) {}
    const std::string& text() const { return text_; }

    [[noreturn]] void refuse(const std::string& reason) const {
        throw Error(Status::bad_parameter,
                    "the model's metadata " + key_ + " = '" + text_.substr(0, 200) + "' is wrong: " + reason);
    }
    double number(std::string_view word) const {
        double value = 0;
        const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
        if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size() || !std::isfinite(value))
            refuse("'" + std::string(word) + "' is no number");
        return value;
    }
    int side(std::string_view word) const {
        const double value = number(word);
        if (value != std::floor(value) || value < 1 || value > max_network_side)
            refuse("'" + std::string(word) + "' is no size from 1 to " + std::to_string(max_network_side));
        return static_cast<int>(value);
    }
    void size(std::string_view word, int& width, int& height) const {
        const std::size_t x = word.find('x');
        if (x == std::string_view::npos) refuse("'" + std::string(word) + "' is no size such as 224x224");
        width = side(word.substr(0, x));
        height = side(word.substr(x + 1));
    }

  private:
    const std::string& key_;
    const std::string& text_;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        if (end > at || separator != ' ') words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

void parse_three(const Value& value, float (&to)[3]) {
    const auto words = split(value.text(), ',');
    if (words.size() != 3) value.refuse("three numbers separated by commas are wanted");
    for (std::size_t i = 0; i < 3; ++i) to[i] = static_cast<float>(value.number(words[i]));
}

void parse_resize(const Value& value, Preprocessing& out) {
    bool has_method = false;
    const auto method = [&](Preprocessing::Resize resize) {
        if (has_method) value.refuse("it names two methods");
        has_method = true;
        out.resize = resize;
    };
    int crop_width = 0, crop_height = 0;
    for (const std::string_view word : split(value.text(), ' ')) {
        const std::size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        const std::string_view text =
            equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
        if (name == "shorter") {
            method(Preprocessing::Resize::shorter_crop);
            out.shorter = value.side(text);
        } else if (name == "crop") {
            value.size(text, crop_width, crop_height);
        } else if (name == "stretch") {
            method(Preprocessing::Resize::stretch);
            value.size(text, out.width, out.height);
        } else if (name == "pyramid") {
            method(Preprocessing::Resize::pyramid);
            out.pyramid_factor = value.number(text);
            // Closer to 1 there would be no end of scales.
            if (!(out.pyramid_factor > 0 && out.pyramid_factor <= 0.95))
                value.refuse("the factor must lie between 0 and 0.95");
        } else if (name == "smallest") {
            out.pyramid_smallest = value.side(text);
        } else if (name == "none") {
            method(Preprocessing::Resize::none);
        } else if (name == "filter") {
            if (text != "triangle") value.refuse("the only filter is triangle");
        } else {
            value.refuse("'" + std::string(name) +
                         "' is not known: shorter, crop, stretch, pyramid, smallest, none or filter");
        }
    }
    if (!has_method) value.refuse("it names no method: shorter, stretch, pyramid or none");
    if (out.resize == Preprocessing::Resize::shorter_crop) {
        if (crop_width > out.shorter || crop_height > out.shorter)
            value.refuse("the crop is larger than the shorter side");
        out.width = crop_width;
        out.height = crop_height;
    } else if (crop_width > 0) {
        value.refuse("crop belongs to shorter");
    }
}

int pad_of(const Value& value) {
    if (value.text().rfind("edge=", 0) != 0) value.refuse("edge=N is wanted");
    const double pad = value.number(std::string_view(value.text()).substr(5));
    if (pad != std::floor(pad) || pad < 0 || pad > 1024) value.refuse("the pad must be from 0 to 1024");
    return static_cast<int>(pad);
}

// The fixed length of an input axis without the pad; 0 where symbolic.
int fixed_side(const Dims& wanted, int axis, int pad) {
    if (wanted[axis] < 0) return 0;
    const std::int64_t inner = wanted[axis] - 2 * pad;
    if (inner < 1 || wanted[axis] > max_network_side)
        throw Error(Status::bad_parameter, "the model's input of " + wanted.text() + " can't hold a picture");
    return static_cast<int>(inner);
}

int rounded(double side) { return static_cast<int>(std::floor(side + 0.5)); }

struct Plan {
    int width = 0, height = 0;  // of the whole resized picture
    OutputWindow window;
};

Plan whole(int width, int height) { return {width, height, {0, 0, width, height}}; }

Plan plan_scaled(const Frame& frame, double scale) {
    return whole(std::max(1, rounded(frame.width * scale)), std::max(1, rounded(frame.height * scale)));
}

double limit_scale(const Frame& frame, int side_limit) {
    const int longer = std::max(frame.width, frame.height);
    return side_limit > 0 && longer > side_limit ? static_cast<double>(side_limit) / longer : 1.0;
}

// A narrow picture whose shorter side is brought to a network's window would have no end in the other
// direction.
void check_network_side(const Frame& frame, int width, int height) {
    if (width > max_network_side || height > max_network_side)
        throw Error(Status::bad_parameter, "'" + frame.name + "' of " + std::to_string(frame.width) + "x" +
                                               std::to_string(frame.height) +
                                               " is too narrow for this network: crop it");
}

Plan plan_shorter(const Frame& frame, const Preprocessing& p, int fixed_width, int fixed_height) {
    const int shorter = std::min(frame.width, frame.height);
    Plan plan;
    const auto side = [&](std::int64_t length) {
        // Rounded to nearest, in whole numbers so that no platform disagrees.
        return static_cast<int>((2 * length * p.shorter + shorter) / (2 * shorter));
    };
    plan.width = side(frame.width);
    plan.height = side(frame.height);
    const int width = p.width > 0 ? p.width : fixed_width > 0 ? fixed_width : plan.width;
    const int height = p.height > 0 ? p.height : fixed_height > 0 ? fixed_height : plan.height;
    if (width > plan.width || height > plan.height)
        throw Error(Status::bad_parameter,
                    "the model's input of " + std::to_string(width) + "x" + std::to_string(height) +
                        " is larger than the resized picture of " + std::to_string(plan.width) + "x" +
                        std::to_string(plan.height) + ": convlens.input.resize must say more");
    check_network_side(frame, width, height);
    plan.window = {(plan.width - width) / 2, (plan.height - height) / 2, width, height};
    return plan;
}

Plan plan_pyramid(const Frame& frame, const Preprocessing& p, int side_limit, double smallest_face) {
    const int shorter = std::min(frame.width, frame.height);
    const double face =
        smallest_face > 0 ? smallest_face : std::max<double>(p.pyramid_smallest, shorter / 5.0);
    double scale = p.pyramid_smallest / face;
    if (side_limit > 0)
        scale = std::min(scale, static_cast<double>(side_limit) / std::max(frame.width, frame.height));
    scale = std::max(scale, static_cast<double>(p.pyramid_smallest) / shorter);
    Plan plan = plan_scaled(frame, scale);
    check_network_side(frame, plan.width, plan.height);
    plan = whole(std::max(plan.width, p.pyramid_smallest), std::max(plan.height, p.pyramid_smallest));
    return plan;
}

Plan plan_resize(const Frame& frame, const Preprocessing& p, const Dims& wanted, int side_limit,
                 double smallest_face) {
    const int fixed_height = fixed_side(wanted, 2, p.edge_pad),
              fixed_width = fixed_side(wanted, 3, p.edge_pad);
    Plan plan;
    switch (p.resize) {
        case Preprocessing::Resize::shorter_crop:
            plan = plan_shorter(frame, p, fixed_width, fixed_height);
            break;
        case Preprocessing::Resize::stretch: {
            const Plan natural = plan_scaled(frame, limit_scale(frame, side_limit));
            plan = whole(p.width > 0       ? p.width
                         : fixed_width > 0 ? fixed_width
                                           : natural.width,
                         p.height > 0       ? p.height
                         : fixed_height > 0 ? fixed_height
                                            : natural.height);
            break;
        }
        case Preprocessing::Resize::pyramid:
            plan = plan_pyramid(frame, p, side_limit, smallest_face);
            break;
        case Preprocessing::Resize::none:
            plan = plan_scaled(frame, limit_scale(frame, side_limit));
            break;
    }
    if ((fixed_width > 0 && plan.window.width != fixed_width) ||
        (fixed_height > 0 && plan.window.height != fixed_height))
        throw Error(Status::bad_parameter,
                    "the model's input is " + wanted.text() +
                        ", but its metadata convlens.input.resize makes a picture of " +
                        std::to_string(plan.window.width) + "x" + std::to_string(plan.window.height) +
                        " of '" + frame.name + "': correct the metadata, or give a picture of that size");
    return plan;
}

}  // namespace

Preprocessing parse_preprocessing(const std::map<std::string, std::string>& metadata) {
    Preprocessing out;
    for (const auto& [key, text] : metadata) {
        if (key.rfind("convlens.input.", 0) != 0) continue;
        const Value value(key, text);
        const std::string name = key.substr(15);
        if (name == "color") {
            if (text != "rgb" && text != "bgr") value.refuse("rgb or bgr is wanted");
            out.bgr = text == "bgr";
        } else if (name == "mean") {
            parse_three(value, out.mean);
        } else if (name == "scale") {
            parse_three(value, out.scale);
        } else if (name == "resize") {
            parse_resize(value, out);
        } else if (name == "pad") {
            out.edge_pad = pad_of(value);
        } else {
            continue;  // keys of later versions
        }
        out.stated = true;
    }
    return out;
}

int default_side_limit(const std::map<std::string, std::string>& metadata) {
    const auto output = metadata.find("convlens.output");
    return output != metadata.end() && output->second.find("picture:") != std::string::npos ? 96 : 0;
}

NetworkInput normalise(const FloatPicture& picture, const Preprocessing& p, int channels) {
    const int pad = p.edge_pad, height = picture.height + 2 * pad, width = picture.width + 2 * pad;
    NetworkInput out;
    out.dims = {1, channels, height, width};
    out.nchw.resize(static_cast<std::size_t>(out.dims.product()));
    float* to = out.nchw.data();
    for (int c = 0; c < channels; ++c) {
        const int plane = p.bgr ? 2 - c : c;
        for (int y = 0; y < height; ++y) {
            const int sy = std::clamp(y - pad, 0, picture.height - 1);
            const float* row = picture.rgb.data() +
                               static_cast<std::size_t>(sy) * static_cast<std::size_t>(picture.width) * 3;
            for (int x = 0; x < width; ++x) {
                const float* pixel = row + 3 * std::clamp(x - pad, 0, picture.width - 1);
                const float value =
                    channels == 1 ? 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2] : pixel[plane];
                *to++ = (value - p.mean[c]) * p.scale[c];
            }
        }
    }
    return out;
}

NetworkInput preprocess(const Frame& frame, const Preprocessing& p, const Dims& wanted, int side_limit,
                        double smallest_face) {
    if (wanted.rank() != 4 || (wanted[1] != 3 && wanted[1] != 1 && wanted[1] != -1))
        throw Error(Status::bad_parameter, "the model's input of " + wanted.text() +
                                               " is no picture: N x 3 x H x W or N x 1 x H x W is wanted");
    if (frame.width < 1 || frame.height < 1)
        throw Error(Status::bad_parameter, "'" + frame.name + "' has no pixels");
    const Plan plan = plan_resize(frame, p, wanted, side_limit, smallest_face);
    const Box box{0, 0, static_cast<double>(frame.width), static_cast<double>(frame.height)};
    const FloatPicture picture = resize(frame, box, plan.width, plan.height, plan.window);
    NetworkInput out = normalise(picture, p, wanted[1] == 1 ? 1 : 3);
    const double sx = static_cast<double>(plan.width) / frame.width,
                 sy = static_cast<double>(plan.height) / frame.height;
    out.seen = {plan.window.x / sx, plan.window.y / sy, (plan.window.x + plan.window.width) / sx,
                (plan.window.y + plan.window.height) / sy};
    out.scale = sx;
    return out;
}

}  // namespace convlens::input
