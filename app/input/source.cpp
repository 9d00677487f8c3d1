#include "app/input/source.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "convlens/error.h"

namespace convlens::input {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// img2 before img10, capitals beside small letters; the bytes decide what is then still equal.
bool natural_less(const std::string& left, const std::string& right) {
    const std::string a = lower(left), b = lower(right);
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            while (i < a.size() && a[i] == '0') ++i;
            while (j < b.size() && b[j] == '0') ++j;
            std::size_t ie = i, je = j;
            while (ie < a.size() && is_digit(a[ie])) ++ie;
            while (je < b.size() && is_digit(b[je])) ++je;
            if (ie - i != je - j) return ie - i < je - j;
            const int order = a.compare(i, ie - i, b, j, je - j);
            if (order != 0) return order < 0;
            i = ie;
            j = je;
        } else {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i;
            ++j;
        }
    }
    if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
    return left < right;
}

class StillSource : public Source {
  public:
    StillSource(std::string text, FramePtr frame) : text_(std::move(text)), frame_(std::move(frame)) {}
    FramePtr current() override { return frame_; }
    std::string text() const override { return text_; }

  private:
    std::string text_;
    FramePtr frame_;
};

class FolderSource : public Source {
  public:
    explicit FolderSource(const std::string& text) : text_(text) {
        std::error_code error;
        for (fs::directory_iterator entry(text, error), end; !error && entry != end; entry.increment(error)) {
            const std::string name = entry->path().filename().string();
            std::error_code ignored;
            if (name[0] != '.' && has_picture_name(name) && !entry->is_directory(ignored))
                names_.push_back(name);
        }
        if (error)
            throw Error(Status::bad_parameter, "the folder '" + text + "' can't be read: " + error.message() +
                                                   "; check its permissions");
        if (names_.empty())
            throw Error(Status::bad_parameter,
                        "the folder '" + text +
                            "' holds no pictures: give one with JPEG, PNG, BMP, TGA, PPM, PGM or GIF files");
        std::sort(names_.begin(), names_.end(), natural_less);
        position_ = static_cast<int>(names_.size()) - 1;
        if (!step(1)) {
            const std::string first = messages_.empty() ? std::string() : ": " + messages_.front();
            throw Error(Status::bad_parameter,
                        "the folder '" + text + "' holds no picture that can be read" + first);
        }
    }
    FramePtr current() override { return frame_; }
    // Pictures that can't be read are skipped with a message; false when all others are such.
    bool step(int direction) override {
        const int total = count(), step = direction < 0 ? total - 1 : 1;
        for (int tried = 0, at = position_; tried < total; ++tried) {
            at = (at + step) % total;
            try {
                FramePtr read =
                    read_picture((fs::path(text_) / names_[static_cast<std::size_t>(at)]).string());
                auto frame = std::make_shared<Frame>(*read);
                frame->number = ++number_;
                frame_ = std::move(frame);
                position_ = at;
                return true;
            } catch (const Error& error) {
                messages_.push_back(std::string(error.what()) + " (skipped)");
            }
        }
        return false;
    }
    int count() const override { return static_cast<int>(names_.size()); }
    int position() const override { return position_; }
    std::vector<std::string> take_messages() override { return std::exchange(messages_, {}); }
    std::string text() const override { return text_; }

  private:
    std::string text_;
    std::vector<std::string> names_, messages_;
    int position_ = 0;
    std::uint64_t number_ = 0;
    FramePtr frame_;
};

bool ends_with_one_of(const std::string& path, std::initializer_list<const char*> extensions) {
    const std::string extension = lower(fs::path(path).extension().string());
    return std::any_of(extensions.begin(), extensions.end(), [&](const char* e) { return extension == e; });
}

}  // namespace

bool has_picture_name(const std::string& path) {
    return ends_with_one_of(path, {".jpg", ".jpeg", ".png", ".bmp", ".tga", ".ppm", ".pgm", ".pnm", ".gif"});
}

std::unique_ptr<Source> open_source(const std::string& text, std::uint64_t seed) {
    const std::string instead = "give a picture, a folder, or pattern:NAME";
    if (text.empty()) throw Error(Status::bad_parameter, "the input is empty: " + instead);
    if (text.rfind("pattern:", 0) == 0)
        return std::make_unique<StillSource>(text, make_pattern(text.substr(8), seed));
    std::error_code error;
    const fs::file_status status = fs::status(text, error);
    if (fs::is_directory(status)) return std::make_unique<FolderSource>(text);
    if (!fs::exists(status)) {
        if (text == "camera" || text.rfind("camera:", 0) == 0)
            throw Error(Status::bad_parameter, "'" + text + "': this build has no camera module: " + instead);
        if (text == "draw")
            throw Error(Status::bad_parameter, "'draw': this build has no drawing pad: " + instead);
    }
    if (ends_with_one_of(text, {".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".mpg", ".mpeg", ".ogv"}))
        throw Error(Status::bad_parameter, "'" + text + "': this build has no video module: " + instead);
    return std::make_unique<StillSource>(text, read_picture(text));
}

}  // namespace convlens::input
