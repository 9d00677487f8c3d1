#include "primitives/plan_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "convlens/version.h"
#include "primitives/problem_text.h"

namespace convlens {
namespace {

namespace fs = std::filesystem;

constexpr const char* head =
    "# convlens plans, format 1: what was measured to be quickest. Any line may be deleted.\n"
    "# version | device | problem | row=milliseconds/workspace bytes, quickest first\n";
constexpr const char* system_file = "/etc/convlens/plans.txt";
constexpr std::size_t most_records = 20000;
constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

// Empty where there is no home.
std::string user_file() {
    if (const std::string named = variable("CONVLENS_CACHE"); !named.empty()) return named;
    if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
        return cache + "/convlens/plans.txt";
    const std::string home = variable("HOME");
    return home.empty() ? "" : home + "/.cache/convlens/plans.txt";
}

struct Rated {
    std::string row;
    double ms = 0;
    std::size_t workspace_bytes = 0;
};
// What a record is about ("version | device | problem"), and its rows.
using Records = std::map<std::string, std::vector<Rated>>;

std::string without_bars(std::string text) {
    std::replace(text.begin(), text.end(), '|', '/');
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string key_of(const Context& context, const Problem& problem) {
    return std::string(version()) + " | " + without_bars(context.device_text()) + " | " +
           without_bars(to_text(problem));
}

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value >= Number{0};
}

bool parse_rows(const std::string& text, std::vector<Rated>& rows) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('='), slash = word.find('/');
        if (equals == std::string::npos || slash == std::string::npos || slash < equals) return false;
        Rated rated{word.substr(0, equals), 0, 0};
        const std::string_view all(word);
        if (!is_name(rated.row) || !read_number(all.substr(equals + 1, slash - equals - 1), rated.ms) ||
            !read_number(all.substr(slash + 1), rated.workspace_bytes))
            return false;
        rows.push_back(std::move(rated));
    }
    return !rows.empty();
}

std::string line_of(const std::string& key, const std::vector<Rated>& rows) {
    std::string line = key + " |";
    for (const Rated& rated : rows) {
        std::array<char, 32> ms{};
        const auto end =
            std::to_chars(ms.data(), ms.data() + ms.size(), rated.ms, std::chars_format::fixed, 4);
        line += " " + rated.row + "=" + std::string(ms.data(), end.ptr) + "/" +
                std::to_string(rated.workspace_bytes);
    }
    return line + "\n";
}

// The records of a file; what is no record is counted.
Records parse(std::istream& stream, const std::string& path) {
    Records records;
    std::size_t broken = 0, first = 0, number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        if (line.empty() || line[0] == '#') continue;
        const std::size_t a = line.find(" | "), b = a == std::string::npos ? a : line.find(" | ", a + 3);
        const std::size_t last = line.rfind(" |");
        std::vector<Rated> rows;
        if (b == std::string::npos || last <= b || !parse_rows(line.substr(last + 2), rows)) {
            if (broken++ == 0) first = number;
            continue;
        }
        records[line.substr(0, last)] = std::move(rows);
    }
    if (broken > 0)
        std::fprintf(stderr,
                     "convlens: '%s': %zu line%s not understood and left out, the first is line %zu\n",
                     path.c_str(), broken, broken == 1 ? " is" : "s are", first);
    return records;
}

// What tells one state of a file from another.
struct Stamp {
    bool exists = false;
    std::uint64_t inode = 0, bytes = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const std::string& path) {
    struct stat info {};
    if (path.empty() || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
    return {true, info.st_ino, static_cast<std::uint64_t>(info.st_size), info.st_mtim.tv_sec,
            info.st_mtim.tv_nsec};
}

// A file as this process read it last.
class CacheFile {
  public:
    const Records& read(const std::string& path) {
        const Stamp now = stamp_of(path);
        if (path == path_ && now == stamp_) return records_;
        path_ = path;
        stamp_ = now;
        records_.clear();
        if (!now.exists) return records_;
        if (now.bytes > most_bytes) {
            std::fprintf(stderr, "convlens: '%s' is larger than 64 MiB and left out; delete it\n",
                         path.c_str());
            return records_;
        }
        std::ifstream stream(path, std::ios::binary);
        records_ = parse(stream, path);
        return records_;
    }

  private:
    std::string path_;
    Stamp stamp_;
    Records records_;
};

struct Cache {
    std::mutex mutex;
    CacheFile user, system;
};
Cache& cache() {
    static auto* const made = new Cache;  // plans may be made while static objects go
    return *made;
}

struct File {
    int descriptor = -1;
    explicit File(const std::string& path, int flags)
        : descriptor(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
    ~File() {
        if (descriptor >= 0) close(descriptor);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
};

std::string system_error(const std::string& path) { return "'" + path + "': " + std::strerror(errno); }

std::string write_whole(const std::string& path, const std::string& text) {
    const std::string temporary = path + "." + std::to_string(getpid()) + ".new";
    {
        const File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
        if (file.descriptor < 0) return system_error(temporary);
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t wrote = write(file.descriptor, text.data() + done, text.size() - done);
            if (wrote <= 0) {
                const std::string reason = system_error(temporary);
                unlink(temporary.c_str());
                return reason;
            }
            done += static_cast<std::size_t>(wrote);
        }
        fsync(file.descriptor);
    }
    if (rename(temporary.c_str(), path.c_str()) == 0) return {};
    const std::string reason = system_error(path);
    unlink(temporary.c_str());
    return reason;
}

std::string store(const std::string& path, const std::string& key, std::vector<Rated> rows) {
    std::error_code ignored;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    // Of a file beside it: the cache itself is replaced as a whole.
    const File lock(path + ".lock", O_RDWR | O_CREAT);
    if (lock.descriptor < 0) return system_error(path + ".lock");
    while (flock(lock.descriptor, LOCK_EX) != 0)
        if (errno != EINTR) return system_error(path + ".lock");
    Records records = cache().user.read(path);
    if (records.size() >= most_records && !records.contains(key)) records.clear();
    records[key] = std::move(rows);
    std::string text = head;
    for (const auto& [about, rated] : records) text += line_of(about, rated);
    return write_whole(path, text);
}

}  // namespace

std::vector<std::string> remembered_rows(const Context& context, const Problem& problem) noexcept {
    try {
        const std::string key = key_of(context, problem);
        const std::scoped_lock lock(cache().mutex);
        for (const Records* records : {&cache().user.read(user_file()), &cache().system.read(system_file)}) {
            const auto found = records->find(key);
            if (found == records->end()) continue;
            std::vector<std::string> names;
            for (const Rated& rated : found->second) names.push_back(rated.row);
            return names;
        }
    } catch (const std::exception&) {
        // A cache that can't be read is no reason to fail.
    }
    return {};
}

std::string remember_rows(const Context& context, const Problem& problem,
                          const std::vector<Finding>& findings) noexcept {
    try {
        std::vector<Rated> rows;
        for (const Finding& finding : findings)
            if (finding.measured && is_name(finding.candidate.algorithm))
                rows.push_back(
                    {finding.candidate.algorithm, finding.median_ms, finding.candidate.workspace_bytes});
        if (rows.empty()) return "nothing was measured";
        std::stable_sort(rows.begin(), rows.end(),
                         [](const Rated& a, const Rated& b) { return a.ms < b.ms; });
        const std::string path = user_file();
        if (path.empty()) return "there is no file for it: set CONVLENS_CACHE";
        const std::scoped_lock lock(cache().mutex);
        return store(path, key_of(context, problem), std::move(rows));
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace convlens
