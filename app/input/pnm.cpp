// PPM and PGM, text and binary, any maximum value up to 65535.

#include "app/input/decode.h"

namespace convlens::input {
namespace {

class Reader {
  public:
    Reader(std::span<const std::uint8_t> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

    // A decimal number after blanks and comments.
    std::int64_t number() {
        skip_blanks();
        if (at_ >= bytes_.size()) fail("it ends too early");
        if (!is_digit(bytes_[at_])) fail("a number was expected");
        std::int64_t value = 0;
        while (at_ < bytes_.size() && is_digit(bytes_[at_])) {
            value = value * 10 + (bytes_[at_++] - '0');
            if (value > 1'000'000'000) fail("a number is too large");
        }
        return value;
    }
    void skip_one_blank() {
        if (at_ >= bytes_.size() || !is_blank(bytes_[at_])) fail("a blank was expected before the pixels");
        ++at_;
    }
    void skip(std::size_t bytes) { at_ += bytes; }
    std::span<const std::uint8_t> rest() const { return bytes_.subspan(at_); }
    [[noreturn]] void fail(const std::string& reason) const { refuse_broken(path_, "PPM/PGM", reason); }

  private:
    static bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }
    static bool is_blank(std::uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }
    void skip_blanks() {
        while (at_ < bytes_.size()) {
            if (is_blank(bytes_[at_])) {
                ++at_;
            } else if (bytes_[at_] == '#') {
                while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
            } else {
                return;
            }
        }
    }
    std::span<const std::uint8_t> bytes_;
    const std::string& path_;
    std::size_t at_ = 0;
};

std::uint8_t to_byte(std::int64_t value, std::int64_t most) {
    const std::int64_t clamped = value > most ? most : value;
    return static_cast<std::uint8_t>((clamped * 255 + most / 2) / most);
}

}  // namespace

Pixels decode_pnm(std::span<const std::uint8_t> bytes, const std::string& path) {
    Reader reader(bytes, path);
    const int kind = bytes[1] - '0';
    reader.skip(2);
    const std::int64_t width = reader.number(), height = reader.number(), most = reader.number();
    check_size(path, width, height);
    if (most < 1 || most > 65535) reader.fail("its maximum value is not within 1 to 65535");
    const bool color = kind == 3 || kind == 6, binary = kind >= 5;
    const auto samples = static_cast<std::size_t>(width * height) * (color ? 3 : 1);
    const std::size_t sample_bytes = most > 255 ? 2 : 1;
    if (binary) reader.skip_one_blank();
    const auto data = reader.rest();
    // Also bounds the memory asked for by what the file really holds: a text sample has at least two bytes.
    if (binary ? data.size() < samples * sample_bytes : data.size() + 1 < samples * 2)
        reader.fail("it ends too early");
    Pixels pixels{static_cast<int>(width), static_cast<int>(height), {}};
    pixels.rgb.resize(static_cast<std::size_t>(width * height) * 3);
    for (std::size_t i = 0; i < samples; ++i) {
        std::int64_t value = 0;
        if (!binary)
            value = reader.number();
        else
            value = sample_bytes == 1 ? data[i] : data[2 * i] << 8 | data[2 * i + 1];
        const std::uint8_t byte = to_byte(value, most);
        if (color)
            pixels.rgb[i] = byte;
        else
            pixels.rgb[3 * i] = pixels.rgb[3 * i + 1] = pixels.rgb[3 * i + 2] = byte;
    }
    return pixels;
}

}  // namespace convlens::input
