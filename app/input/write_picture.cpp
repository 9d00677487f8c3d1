#include "app/input/write_picture.h"

#include <stb/stb_image_write.h>

#include "app/input/file.h"
#include "convlens/error.h"

namespace convlens::input {

void write_png(const std::string& path, int width, int height, std::span<const std::uint8_t> rgb) {
    if (width < 1 || height < 1 ||
        rgb.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3)
        throw Error(Status::bad_parameter, "'" + path + "': " + std::to_string(rgb.size()) +
                                               " bytes are no RGB picture of " + std::to_string(width) + "x" +
                                               std::to_string(height));
    std::string bytes;
    const auto append = [](void* to, void* data, int size) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
    };
    if (stbi_write_png_to_func(append, &bytes, width, height, 3, rgb.data(), width * 3) == 0)
        throw Error(Status::runtime_failure, "'" + path + "': the picture can't be encoded: out of memory");
    write_file(path, bytes);
}

}  // namespace convlens::input
