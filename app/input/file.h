// Whole files in and out, with errors that name the file, the reason and the remedy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convlens::input {

// Reads a regular file of at most `limit` bytes. Throws Error(bad_parameter) when it is missing, a folder,
// unreadable, empty or larger; `what` is the word for it in messages ("picture").
std::vector<std::uint8_t> read_file(const std::string& path, std::size_t limit, const char* what);

// Writes a file as a whole: an existing regular file is replaced only when everything is on disk, so a full
// disk leaves the old one. Devices and pipes are written directly; "-" is standard output. Throws
// Error(runtime_failure) with the system's reason.
void write_file(const std::string& path, std::string_view bytes);
// The same in two parts (a header, then data that need not be copied).
void write_file(const std::string& path, std::string_view head, std::span<const std::byte> body);

}  // namespace convlens::input
