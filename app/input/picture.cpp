// read_picture(): the signature decides who decodes; stb for PNG, BMP, TGA and GIF.
#include <stb/stb_image.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "app/input/decode.h"
#include "app/input/file.h"
#include "app/input/source.h"
#include "convlens/error.h"

namespace convlens::input {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 30;
constexpr const char* readable_formats = "JPEG, PNG, BMP, TGA, PPM, PGM or GIF";

enum class Format { jpeg, png, bmp, gif, pnm, tga, unknown };

bool starts(std::span<const std::uint8_t> bytes, std::string_view signature, std::size_t at = 0) {
    return bytes.size() >= at + signature.size() &&
           std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0;
}

// TGA has no signature: its header must be consistent in every field.
bool looks_like_tga(std::span<const std::uint8_t> b) {
    if (b.size() < 18 || b[1] > 1) return false;
    const int type = b[2] & ~8, bits = b[16];
    if (type < 1 || type > 3 || (b[2] & ~11) != 0) return false;
    if ((type == 1) != (b[1] == 1)) return false;
    if (b[12] + 256 * b[13] == 0 || b[14] + 256 * b[15] == 0) return false;
    return bits == 8 || bits == 15 || bits == 16 || bits == 24 || bits == 32;
}

Format format_of(std::span<const std::uint8_t> b) {
    using namespace std::string_view_literals;
    if (starts(b, "\xFF\xD8\xFF")) return Format::jpeg;
    if (starts(b, "\x89PNG\r\n\x1A\n")) return Format::png;
    if (starts(b, "GIF87a") || starts(b, "GIF89a")) return Format::gif;
    if (starts(b, "BM") && b.size() >= 26 && starts(b, "\0\0\0\0"sv, 6)) return Format::bmp;
    if (b.size() >= 3 && b[0] == 'P' && (b[1] == '2' || b[1] == '3' || b[1] == '5' || b[1] == '6') &&
        (b[2] == ' ' || (b[2] >= 9 && b[2] <= 13) || b[2] == '#'))
        return Format::pnm;
    if (looks_like_tga(b)) return Format::tga;
    return Format::unknown;
}

// What the file is instead, for the message.
std::string known_as(std::span<const std::uint8_t> b) {
    using namespace std::string_view_literals;
    if (starts(b, "RIFF") && starts(b, "WEBP", 8)) return "a WebP picture";
    if (starts(b, "II*\0"sv) || starts(b, "MM\0*"sv)) return "a TIFF picture";
    if (starts(b, "ftypavif", 4)) return "an AVIF picture";
    if (starts(b, "ftyphei", 4) || starts(b, "ftypmif1", 4)) return "a HEIF picture";
    if (starts(b, "ftyp", 4) || starts(b, "\x1A\x45\xDF\xA3")) return "a video";
    if (starts(b, "8BPS")) return "a Photoshop document";
    if (starts(b, "%PDF")) return "a PDF document";
    if (starts(b, "<svg") || starts(b, "<?xml")) return "a vector drawing or other XML text";
    if (starts(b, "#?RADIANCE") || starts(b, "v/1\x01")) return "a high dynamic range picture";
    if (starts(b, "P1") || starts(b, "P4")) return "a PBM bitmap";
    return {};
}

// stb takes what lies behind the end of the data as zeros; this remembers that it asked for it.
struct Stream {
    std::span<const std::uint8_t> bytes;
    std::size_t at = 0;
    bool starved = false;

    static int read(void* user, char* data, int size) {
        auto& s = *static_cast<Stream*>(user);
        const auto wanted = static_cast<std::size_t>(std::max(size, 0));
        const std::size_t have = std::min(wanted, s.bytes.size() - s.at);
        if (have == 0 && wanted > 0) s.starved = true;
        if (have > 0) std::memcpy(data, s.bytes.data() + s.at, have);
        s.at += have;
        return static_cast<int>(have);
    }
    static void skip(void* user, int count) {
        auto& s = *static_cast<Stream*>(user);
        if (count < 0) {
            s.at -= std::min(s.at, static_cast<std::size_t>(-static_cast<std::int64_t>(count)));
            return;
        }
        const auto wanted = static_cast<std::size_t>(count);
        if (wanted > s.bytes.size() - s.at) s.starved = true;
        s.at += std::min(wanted, s.bytes.size() - s.at);
    }
    static int eof(void* user) {
        const auto& s = *static_cast<Stream*>(user);
        return s.at >= s.bytes.size() ? 1 : 0;
    }
};
constexpr stbi_io_callbacks callbacks{Stream::read, Stream::skip, Stream::eof};

struct StbFree {
    void operator()(void* memory) const { stbi_image_free(memory); }
};

// Grey, grey + alpha, RGB or RGBA of `most` -> 8-bit RGB over white.
template <class T>
void to_rgb(const T* from, int channels, std::int64_t most, Pixels& to) {
    const auto count = static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height);
    to.rgb.resize(count * 3);
    for (std::size_t i = 0; i < count; ++i, from += channels) {
        const std::int64_t alpha = channels == 2 ? from[1] : channels == 4 ? from[3] : most;
        for (int c = 0; c < 3; ++c) {
            const std::int64_t value = from[channels >= 3 ? c : 0];
            const std::int64_t over = value * alpha + most * (most - alpha);  // of most * most
            to.rgb[3 * i + static_cast<std::size_t>(c)] =
                static_cast<std::uint8_t>((over * 255 + most * most / 2) / (most * most));
        }
    }
}

// Whole, uncompressed BMP and TGA files have a size that their header tells; stb would fill up with zeros.
void check_complete(std::span<const std::uint8_t> b, Format format, const std::string& path) {
    const auto u16 = [&](std::size_t at) { return static_cast<std::uint64_t>(b[at] | b[at + 1] << 8); };
    const auto u32 = [&](std::size_t at) { return u16(at) | u16(at + 2) << 16; };
    std::uint64_t needed = 0;
    if (format == Format::bmp && b.size() >= 34 && u32(14) >= 40 && (u32(30) == 0 || u32(30) == 3)) {
        const auto width = static_cast<std::uint64_t>(static_cast<std::int32_t>(u32(18)));
        const auto rows = static_cast<std::int64_t>(static_cast<std::int32_t>(u32(22)));
        const std::uint64_t row = (width * u16(28) + 31) / 32 * 4;
        needed = u32(10) + row * static_cast<std::uint64_t>(rows < 0 ? -rows : rows);
    } else if (format == Format::tga && b[2] < 8) {
        const std::uint64_t entry = (b[7] + 7u) / 8;
        needed = 18u + b[0] + (b[1] != 0 ? u16(5) * entry : 0) + u16(12) * u16(14) * ((b[16] + 7u) / 8);
    }
    if (needed > b.size()) refuse_broken(path, format == Format::bmp ? "BMP" : "TGA", "it ends too early");
}

Pixels decode_stb(std::span<const std::uint8_t> bytes, Format format, const std::string& path) {
    const char* name = format == Format::png   ? "PNG"
                       : format == Format::bmp ? "BMP"
                       : format == Format::gif ? "GIF"
                                               : "TGA";
    const auto reason = [] {
        const char* text = stbi_failure_reason();
        return std::string(text != nullptr ? text : "unknown reason");
    };
    const int size = static_cast<int>(bytes.size());
    if (format == Format::png && bytes.size() >= 24) {
        // stb says only "too large".
        const auto u32 = [&](std::size_t at) {
            return static_cast<std::int64_t>(bytes[at]) << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 |
                   bytes[at + 3];
        };
        check_size(path, u32(16), u32(20));
    }
    Pixels pixels;
    int channels = 0;
    if (stbi_info_from_memory(bytes.data(), size, &pixels.width, &pixels.height, &channels) == 0) {
        // Its own limit of 2^24 a side comes before ours.
        if (reason() == "too large") check_size(path, std::int64_t{1} << 24, std::int64_t{1} << 24);
        refuse_broken(path, name, reason());
    }
    check_size(path, pixels.width, pixels.height);
    check_complete(bytes, format, path);
    const bool deep = format == Format::png && stbi_is_16_bit_from_memory(bytes.data(), size) != 0;
    Stream stream{bytes};
    int width = 0, height = 0;
    void* raw = deep ? static_cast<void*>(
                           stbi_load_16_from_callbacks(&callbacks, &stream, &width, &height, &channels, 0))
                     : static_cast<void*>(
                           stbi_load_from_callbacks(&callbacks, &stream, &width, &height, &channels, 0));
    const std::unique_ptr<void, StbFree> memory(raw);
    if (memory == nullptr) refuse_broken(path, name, reason());
    if (stream.starved) refuse_broken(path, name, "it ends too early");
    check_size(path, width, height);
    pixels.width = width;
    pixels.height = height;
    if (format == Format::gif) channels = 4;  // stb reports 3 or 4 but always delivers 4
    if (deep)
        to_rgb(static_cast<const std::uint16_t*>(raw), channels, 65535, pixels);
    else
        to_rgb(static_cast<const std::uint8_t*>(raw), channels, 255, pixels);
    return pixels;
}

}  // namespace

void check_size(const std::string& path, std::int64_t width, std::int64_t height) {
    if (width < 1 || height < 1) refuse_broken(path, "picture", "it has no pixels");
    if (width > max_side || height > max_side || width * height > max_pixels)
        throw Error(Status::bad_parameter,
                    "'" + path + "' claims " + std::to_string(width) + "x" + std::to_string(height) +
                        " pixels, more than the limit of " + std::to_string(max_side) + " a side and " +
                        std::to_string(max_pixels / 1'000'000) + " megapixels: scale it down first");
}

void refuse_broken(const std::string& path, const std::string& format, const std::string& reason) {
    throw Error(Status::bad_parameter,
                "'" + path + "' is a broken " + format + " file (" + reason + "): fetch or export it again");
}

FramePtr read_picture(const std::string& path) {
    const std::vector<std::uint8_t> bytes = read_file(path, max_file_bytes, "picture");
    const Format format = format_of(bytes);
    if (format == Format::unknown) {
        const std::string kind = known_as(bytes);
        throw Error(Status::bad_parameter,
                    "'" + path + "' is " +
                        (kind.empty() ? "not a picture" : kind + ", which can't be read here") + ": give a " +
                        readable_formats + " file");
    }
    Pixels pixels = format == Format::jpeg  ? decode_jpeg(bytes, path)
                    : format == Format::pnm ? decode_pnm(bytes, path)
                                            : decode_stb(bytes, format, path);
    auto frame = std::make_shared<Frame>();
    frame->width = pixels.width;
    frame->height = pixels.height;
    frame->rgb = std::move(pixels.rgb);
    frame->name = std::filesystem::path(path).filename().string();
    frame->arrived_ms = now_ms();
    return frame;
}

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace convlens::input
