#include "app/input/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "convlens/error.h"

namespace convlens::input {
namespace {

class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return value_; }
    bool close() {
        const int value = value_;
        value_ = -1;
        return ::close(value) == 0;
    }

  private:
    int value_;
};

[[noreturn]] void refuse(const std::string& text) { throw Error(Status::bad_parameter, text); }

[[noreturn]] void cannot_write(const std::string& path, int error) {
    std::string remedy = "give a path that can be written";
    if (error == ENOSPC || error == EDQUOT) remedy = "free some space or write elsewhere";
    if (error == ENOENT || error == ENOTDIR) remedy = "create its folder first";
    throw Error(Status::runtime_failure,
                "'" + path + "' can't be written: " + std::strerror(error) + "; " + remedy);
}

// 0, or the error number.
int write_all(int descriptor, const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = ::write(descriptor, at, bytes);
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        at += written;
        bytes -= static_cast<std::size_t>(written);
    }
    return 0;
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::string& path, std::size_t limit, const char* what) {
    const std::string quoted = "'" + path + "'";
    // A pipe without a writer would block in open().
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
        const int error = errno;
        if (error == ENOENT || error == ENOTDIR)
            refuse(quoted + " does not exist: check the path of the " + what);
        refuse(quoted + " can't be opened: " + std::strerror(error) + "; check the permissions of the " +
               what);
    }
    struct stat state {};
    if (::fstat(file.get(), &state) != 0)
        refuse(quoted + " can't be read: " + std::strerror(errno) + "; check the " + what);
    if (S_ISDIR(state.st_mode)) refuse(quoted + " is a folder: name a " + what + " in it");
    if (!S_ISREG(state.st_mode)) refuse(quoted + " is not a regular file: name a " + what + " on disk");
    if (state.st_size == 0) refuse(quoted + " is empty: replace it by a whole " + what);
    if (static_cast<std::uint64_t>(state.st_size) > limit)
        refuse(quoted + " has " + std::to_string(state.st_size) + " bytes, more than the limit of " +
               std::to_string(limit) + ": give a smaller " + what);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(state.st_size));
    std::size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse(quoted + " can't be read: " + std::strerror(errno) + "; check the " + what);
        if (got == 0) break;  // it shrank meanwhile
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    if (bytes.empty()) refuse(quoted + " is empty: replace it by a whole " + what);
    return bytes;
}

void write_file(const std::string& path, std::string_view bytes) { write_file(path, bytes, {}); }

void write_file(const std::string& path, std::string_view head, std::span<const std::byte> body) {
    if (path == "-") {
        std::fflush(stdout);
        int error = write_all(STDOUT_FILENO, head.data(), head.size());
        if (error == 0) error = write_all(STDOUT_FILENO, body.data(), body.size());
        if (error != 0) cannot_write("standard output", error);
        return;
    }
    struct stat state {};
    const bool exists = ::stat(path.c_str(), &state) == 0;
    if (exists && S_ISDIR(state.st_mode)) cannot_write(path, EISDIR);
    const bool direct = exists && !S_ISREG(state.st_mode);
    const std::string target = direct ? path : path + ".part" + std::to_string(::getpid());
    Descriptor file(::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) cannot_write(path, errno);
    int error = write_all(file.get(), head.data(), head.size());
    if (error == 0) error = write_all(file.get(), body.data(), body.size());
    if (!file.close() && error == 0) error = errno;
    if (!direct && error == 0 && ::rename(target.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) {
        if (!direct) ::unlink(target.c_str());
        cannot_write(path, error);
    }
}

}  // namespace convlens::input
