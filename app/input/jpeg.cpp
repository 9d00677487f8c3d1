// JPEG by libjpeg-turbo: any sampling, progressive, grey, CMYK and YCCK, EXIF orientation.
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
// jpeglib.h uses size_t and FILE without including their headers.
#include <jerror.h>
#include <jpeglib.h>

#include <utility>

#include "app/input/decode.h"

namespace convlens::input {
namespace {

// A progressive file of a few kilobytes can ask for thousands of passes over a huge picture.
constexpr int max_scans = 200;

struct ErrorManager {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    char text[JMSG_LENGTH_MAX] = {};
    bool data_lost = false;  // a warning that means missing or wrong picture data
};

[[noreturn]] void on_error(j_common_ptr info) {
    auto* manager = reinterpret_cast<ErrorManager*>(info->err);
    manager->base.format_message(info, manager->text);
    std::longjmp(manager->jump, 1);
}

void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;  // trace
    auto* manager = reinterpret_cast<ErrorManager*>(info->err);
    ++manager->base.num_warnings;
    switch (manager->base.msg_code) {
        case JWRN_JPEG_EOF:
        case JWRN_HIT_MARKER:
        case JWRN_HUFF_BAD_CODE:
        case JWRN_MUST_RESYNC:
            if (!manager->data_lost) manager->base.format_message(info, manager->text);
            manager->data_lost = true;
            break;
        default:
            break;  // oddities that leave the picture whole
    }
}

void on_progress(j_common_ptr info) {
    if (!info->is_decompressor) return;
    auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
    if (decompress->input_scan_number > max_scans) {
        auto* manager = reinterpret_cast<ErrorManager*>(info->err);
        std::snprintf(manager->text, sizeof manager->text, "more than %d scans", max_scans);
        std::longjmp(manager->jump, 1);
    }
}

// setjmp and objects with destructors don't go together: everything here is plain, memory belongs to the
// caller.
struct Decoder {
    jpeg_decompress_struct info{};
    ErrorManager errors{};
    jpeg_progress_mgr progress{};

    Decoder() {
        info.err = jpeg_std_error(&errors.base);
        errors.base.error_exit = on_error;
        errors.base.emit_message = on_message;
        progress.progress_monitor = on_progress;
    }
    ~Decoder() { jpeg_destroy_decompress(&info); }
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    bool read_header(const unsigned char* data, unsigned long size) {
        if (setjmp(errors.jump) != 0) return false;
        jpeg_create_decompress(&info);
        info.progress = &progress;
        jpeg_mem_src(&info, data, size);
        jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
        jpeg_read_header(&info, TRUE);
        const bool four = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
        info.out_color_space = four ? JCS_CMYK : JCS_RGB;
        return true;
    }

    // rows: width * (3 or 4) * height bytes.
    bool read_pixels(unsigned char* rows, std::size_t stride) {
        if (setjmp(errors.jump) != 0) return false;
        jpeg_start_decompress(&info);
        while (info.output_scanline < info.output_height) {
            JSAMPROW row = rows + stride * info.output_scanline;
            jpeg_read_scanlines(&info, &row, 1);
        }
        jpeg_finish_decompress(&info);
        return true;
    }
};

// Adobe's files hold 255 - ink, others ink.
void rgb_from_cmyk(const std::vector<std::uint8_t>& cmyk, bool inverted, std::vector<std::uint8_t>& rgb) {
    const std::size_t pixels = cmyk.size() / 4;
    rgb.resize(pixels * 3);
    for (std::size_t i = 0; i < pixels; ++i) {
        const int k = inverted ? cmyk[4 * i + 3] : 255 - cmyk[4 * i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const int light = inverted ? cmyk[4 * i + c] : 255 - cmyk[4 * i + c];
            rgb[3 * i + c] = static_cast<std::uint8_t>((light * k + 127) / 255);
        }
    }
}

int orientation_of(const jpeg_decompress_struct& info) {
    for (auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
        if (marker->marker != JPEG_APP0 + 1 || marker->data_length < 6) continue;
        if (std::memcmp(marker->data, "Exif\0\0", 6) != 0) continue;
        return exif_orientation({marker->data + 6, marker->data_length - 6u});
    }
    return 1;
}

}  // namespace

int exif_orientation(std::span<const std::uint8_t> tiff) {
    if (tiff.size() < 8) return 1;
    const bool little = tiff[0] == 'I' && tiff[1] == 'I';
    if (!little && !(tiff[0] == 'M' && tiff[1] == 'M')) return 1;
    const auto u16 = [&](std::size_t at) -> std::uint32_t {
        return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1];
    };
    const auto u32 = [&](std::size_t at) -> std::uint32_t {
        return little ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2);
    };
    if (u16(2) != 42) return 1;
    const std::size_t directory = u32(4);
    if (directory > tiff.size() - 2) return 1;
    const std::size_t entries = u16(directory);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t at = directory + 2 + 12 * i;
        if (at + 12 > tiff.size()) return 1;
        if (u16(at) != 0x0112) continue;
        const std::uint32_t value = u16(at + 8);
        return u16(at + 2) == 3 && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

Pixels oriented(Pixels pixels, int orientation) {
    if (orientation <= 1 || orientation > 8) return pixels;
    const int w = pixels.width, h = pixels.height;
    const bool turned = orientation >= 5;
    Pixels out{turned ? h : w, turned ? w : h, std::vector<std::uint8_t>(pixels.rgb.size())};
    for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) {
            int sx = turned ? y : x, sy = turned ? x : y;
            // What stands at the stored picture's right or bottom edge comes first.
            if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) sx = w - 1 - sx;
            if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) sy = h - 1 - sy;
            std::memcpy(&out.rgb[(static_cast<std::size_t>(y) * out.width + x) * 3],
                        &pixels.rgb[(static_cast<std::size_t>(sy) * w + sx) * 3], 3);
        }
    }
    return out;
}

Pixels decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& path) {
    Decoder decoder;
    if (!decoder.read_header(bytes.data(), bytes.size())) refuse_broken(path, "JPEG", decoder.errors.text);
    const auto width = static_cast<std::int64_t>(decoder.info.image_width);
    const auto height = static_cast<std::int64_t>(decoder.info.image_height);
    check_size(path, width, height);
    const int orientation = orientation_of(decoder.info);  // the markers go when the pixels are read
    const bool cmyk = decoder.info.out_color_space == JCS_CMYK;
    const auto stride = static_cast<std::size_t>(width) * (cmyk ? 4 : 3);
    std::vector<std::uint8_t> rows(stride * static_cast<std::size_t>(height));
    if (!decoder.read_pixels(rows.data(), stride) || decoder.errors.data_lost)
        refuse_broken(path, "JPEG", decoder.errors.text);
    Pixels pixels{static_cast<int>(width), static_cast<int>(height), {}};
    if (cmyk)
        rgb_from_cmyk(rows, decoder.info.saw_Adobe_marker != 0, pixels.rgb);
    else
        pixels.rgb = std::move(rows);
    return oriented(std::move(pixels), orientation);
}

}  // namespace convlens::input
