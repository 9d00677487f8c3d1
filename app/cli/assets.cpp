#include "app/cli/assets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "convlens/error.h"

namespace convlens::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* default_model_name = "efficientnet-lite0";

bool holds_models(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "models", ignored);
}

std::string existing(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored) ? path.string() : std::string();
}

std::vector<std::string> files_in(const fs::path& folder, const char* extension) {
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (entry->path().extension() == extension) files.push_back(entry->path().string());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

std::string assets_folder() {
    if (const char* named = std::getenv("CONVLENS_ASSETS"); named != nullptr && holds_models(named))
        return named;
    if (holds_models(CONVLENS_ASSETS_DIR)) return CONVLENS_ASSETS_DIR;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error)
        for (const char* relative : {"../../assets", "../share/convlens", "../assets", "assets"}) {
            const fs::path folder = (program.parent_path() / relative).lexically_normal();
            if (holds_models(folder)) return folder.string();
        }
    return {};
}

std::string bundled_model(const std::string& name) {
    const std::string folder = assets_folder();
    return folder.empty() ? folder : existing(fs::path(folder) / "models" / (name + ".onnx"));
}

std::string bundled_photo(const std::string& name) {
    const std::string folder = assets_folder();
    return folder.empty() ? folder : existing(fs::path(folder) / "photos" / name);
}

std::vector<std::string> bundled_models() { return files_in(fs::path(assets_folder()) / "models", ".onnx"); }

std::vector<std::string> bundled_photos() { return files_in(fs::path(assets_folder()) / "photos", ".jpg"); }

std::string resolve_model(const std::string& text) {
    const std::string name = text.empty() ? default_model_name : text;
    const std::string bundled = name.find('/') == std::string::npos ? bundled_model(name) : std::string();
    if (!text.empty() && !existing(text).empty()) {
        std::error_code ignored;
        // A folder of the same name must not hide a bundled model.
        if (bundled.empty() || !fs::is_directory(text, ignored)) return text;
    }
    if (!bundled.empty()) return bundled;
    if (assets_folder().empty() && text.empty())
        throw Error(Status::bad_parameter,
                    "the bundled models were not found: name an ONNX file, or set CONVLENS_ASSETS to the "
                    "folder that holds models/");
    std::string names;
    for (const std::string& path : bundled_models())
        names += (names.empty() ? "" : ", ") + fs::path(path).stem().string();
    throw Error(Status::bad_parameter,
                "the model '" + name + "' does not exist: name an ONNX file" +
                    (names.empty() ? std::string() : " or a bundled model (" + names + ")"));
}

}  // namespace convlens::cli
