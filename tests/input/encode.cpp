#include "tests/input/encode.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
// jpeglib.h uses size_t and FILE without including their headers.
#include <jpeglib.h>
#include <stb/stb_image_write.h>

namespace convlens::test {
namespace {

void append(void* to, void* data, int size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), bytes, bytes + size);
}

void big32(Bytes& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

void little16(Bytes& to, int value) {
    to.push_back(static_cast<std::uint8_t>(value));
    to.push_back(static_cast<std::uint8_t>(value >> 8));
}

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    std::uint32_t crc = 0xFFFFFFFFu;
    for (std::size_t i = 0; i < size; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

void chunk(Bytes& to, const char* type, const Bytes& data) {
    big32(to, static_cast<std::uint32_t>(data.size()));
    const std::size_t start = to.size();
    to.insert(to.end(), type, type + 4);
    to.insert(to.end(), data.begin(), data.end());
    big32(to, crc32(to.data() + start, to.size() - start));
}

Bytes png_start(std::uint32_t width, std::uint32_t height, int color_type, int depth) {
    Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'}, header;
    big32(header, width);
    big32(header, height);
    for (const int value : {depth, color_type, 0, 0, 0}) header.push_back(static_cast<std::uint8_t>(value));
    chunk(png, "IHDR", header);
    return png;
}

}  // namespace

Bytes raster(int width, int height, int channels) {
    Bytes pixels;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) pixels.push_back(sample(x, y, c));
    return pixels;
}

Bytes exif_block(int orientation, bool little) {
    const auto pair = [&](int v) { return little ? Bytes{std::uint8_t(v), 0} : Bytes{0, std::uint8_t(v)}; };
    Bytes b = {'E', 'x', 'i', 'f', 0, 0};
    const auto add = [&](const Bytes& more) { b.insert(b.end(), more.begin(), more.end()); };
    add(little ? Bytes{'I', 'I', 42, 0, 8, 0, 0, 0} : Bytes{'M', 'M', 0, 42, 0, 0, 0, 8});
    add(pair(2));  // entries
    // An entry before it, as cameras write them: ImageWidth, LONG.
    add(little ? Bytes{0x00, 0x01, 4, 0, 1, 0, 0, 0, 9, 0, 0, 0}
               : Bytes{0x01, 0x00, 0, 4, 0, 0, 0, 1, 0, 0, 0, 9});
    add(little ? Bytes{0x12, 0x01, 3, 0, 1, 0, 0, 0} : Bytes{0x01, 0x12, 0, 3, 0, 0, 0, 1});
    add(pair(orientation));
    add({0, 0, 0, 0, 0, 0});
    return b;
}

Bytes encode_jpeg(int width, int height, const Bytes& pixels, const JpegOptions& options) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* memory = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &memory, &size);
    info.image_width = static_cast<JDIMENSION>(width);
    info.image_height = static_cast<JDIMENSION>(height);
    info.input_components = options.channels;
    info.in_color_space = options.channels == 1 ? JCS_GRAYSCALE : options.channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, options.quality, TRUE);
    if (options.progressive) jpeg_simple_progression(&info);
    info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&info, TRUE);
    if (!options.app1.empty())
        jpeg_write_marker(&info, JPEG_APP0 + 1, options.app1.data(),
                          static_cast<unsigned>(options.app1.size()));
    while (info.next_scanline < info.image_height) {
        auto* row = const_cast<JSAMPROW>(pixels.data() + static_cast<std::size_t>(info.next_scanline) *
                                                             width * options.channels);
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    Bytes bytes(memory, memory + size);
    jpeg_destroy_compress(&info);
    std::free(memory);
    return bytes;
}

Bytes encode_png(int width, int height, int color_type, int depth, const Bytes& samples) {
    const int channels = color_type == 0 ? 1 : color_type == 2 ? 3 : color_type == 4 ? 2 : 4;
    const std::size_t row = static_cast<std::size_t>(width) * channels * depth / 8;
    Bytes raw;
    for (int y = 0; y < height; ++y) {
        raw.push_back(0);  // no filter
        raw.insert(raw.end(), samples.begin() + static_cast<std::ptrdiff_t>(y * row),
                   samples.begin() + static_cast<std::ptrdiff_t>((y + 1) * row));
    }
    Bytes zlib = {0x78, 0x01};
    for (std::size_t at = 0; at < raw.size(); at += 65535) {
        const std::size_t part = std::min<std::size_t>(65535, raw.size() - at);
        zlib.push_back(at + part == raw.size());
        little16(zlib, static_cast<int>(part));
        little16(zlib, ~static_cast<int>(part));
        zlib.insert(zlib.end(), raw.begin() + static_cast<std::ptrdiff_t>(at),
                    raw.begin() + static_cast<std::ptrdiff_t>(at + part));
    }
    std::uint32_t a = 1, b = 0;
    for (const std::uint8_t byte : raw) {
        a = (a + byte) % 65521;
        b = (b + a) % 65521;
    }
    big32(zlib, b << 16 | a);
    Bytes png =
        png_start(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), color_type, depth);
    chunk(png, "IDAT", zlib);
    chunk(png, "IEND", {});
    return png;
}

Bytes png_header_only(std::uint32_t width, std::uint32_t height) {
    Bytes png = png_start(width, height, 2, 8);
    chunk(png, "IDAT", {0x78, 0x01});
    return png;
}

Bytes encode_bmp(int width, int height, const Bytes& rgb) {
    Bytes bytes;
    stbi_write_bmp_to_func(append, &bytes, width, height, 3, rgb.data());
    return bytes;
}

Bytes encode_tga(int width, int height, const Bytes& rgb, bool run_lengths) {
    Bytes bytes;
    stbi_write_tga_with_rle = run_lengths ? 1 : 0;
    stbi_write_tga_to_func(append, &bytes, width, height, 3, rgb.data());
    return bytes;
}

Bytes encode_gif(int width, int height, const Bytes& palette8, int transparent) {
    Bytes gif = {'G', 'I', 'F', '8', '9', 'a'};
    little16(gif, width);
    little16(gif, height);
    gif.insert(gif.end(), {0xF2, 0, 0});  // a table of 8 colours for the whole file
    gif.insert(gif.end(), palette8.begin(), palette8.end());
    if (transparent >= 0)
        gif.insert(gif.end(), {0x21, 0xF9, 4, 1, 0, 0, static_cast<std::uint8_t>(transparent), 0});
    gif.insert(gif.end(), {0x2C, 0, 0, 0, 0});
    little16(gif, width);
    little16(gif, height);
    gif.insert(gif.end(), {0, 3});  // no table of its own; 3 bits a pixel, codes of 4 bits
    // A clear code before every fourth pixel keeps all codes at 4 bits: no compression.
    Bytes packed;
    int bits = 0, filled = 0;
    const auto code = [&](int value) {
        bits |= value << filled;
        filled += 4;
        if (filled == 8) {
            packed.push_back(static_cast<std::uint8_t>(bits));
            bits = filled = 0;
        }
    };
    for (int i = 0; i < width * height; ++i) {
        if (i % 4 == 0) code(8);
        code((i % width + i / width) % 8);
    }
    code(9);
    if (filled != 0) code(0);
    for (std::size_t at = 0; at < packed.size(); at += 255) {
        const std::size_t part = std::min<std::size_t>(255, packed.size() - at);
        gif.push_back(static_cast<std::uint8_t>(part));
        gif.insert(gif.end(), packed.begin() + static_cast<std::ptrdiff_t>(at),
                   packed.begin() + static_cast<std::ptrdiff_t>(at + part));
    }
    gif.insert(gif.end(), {0, 0x3B});
    return gif;
}

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace convlens::test
