#include "primitives/peers/cudnn_library.h"

#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "primitives/peers/shared_library.h"

namespace convlens::cudnn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> matches(const std::string& pattern) {
    std::vector<std::string> found;
    glob_t result{};
    if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
        for (std::size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
    globfree(&result);
    return found;
}

void add_all(std::vector<std::string>& list, const std::string& pattern) {
    for (std::string& path : matches(pattern)) list.push_back(std::move(path));
}

std::vector<std::string> places() {
    std::vector<std::string> list;
    if (const char* named = std::getenv("CONVLENS_CUDNN"); named != nullptr && named[0] != '\0') {
        std::error_code none;
        list.push_back(fs::is_directory(named, none) ? std::string(named) + "/libcudnn.so.9" : named);
        return list;
    }
    list.emplace_back("libcudnn.so.9");
    const std::string wheel = "/nvidia/cudnn/lib/libcudnn.so.9";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::error_code none;
        if (folder.empty() || !fs::exists(folder + "/python3", none)) continue;
        for (const char* packages : {"site-packages", "dist-packages"})
            for (const char* lib : {"/../lib/python3*/", "/../local/lib/python3*/", "/../lib/python3/"})
                add_all(list, folder + lib + packages + wheel);
    }
    if (const char* home = std::getenv("HOME"); home != nullptr)
        add_all(list, std::string(home) + "/.local/lib/python3*/site-packages" + wheel);
    return list;
}

// What some of cuDNN's engines open by name lies beside it in its wheel, where the loader does not look.
void open_companions(const std::string& file) {
    const std::string packages = fs::path(file).parent_path().parent_path().parent_path().string();
    for (const char* pattern :
         {"/cu1?/lib/libnvrtc.so.*", "/cuda_nvrtc/lib/libnvrtc.so.*", "/cu1?/lib/libcublasLt.so.*",
          "/cublas/lib/libcublasLt.so.*", "/cu1?/lib/libcublas.so.*", "/cublas/lib/libcublas.so.*"})
        for (const std::string& path : matches(packages + pattern))
            dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

Library open() {
    Library l;
    const SharedLibrary file = SharedLibrary::open(places());
    if (!file.is_open()) {
        l.why_not = "cuDNN was not found (" + file.why_not() +
                    "); install cuDNN 9, or say in CONVLENS_CUDNN where libcudnn.so.9 lies";
        return l;
    }
    const bool complete =
        file.find(l.version, "cudnnGetVersion") && file.find(l.error_text, "cudnnGetErrorString") &&
        file.find(l.create, "cudnnCreate") && file.find(l.set_stream, "cudnnSetStream") &&
        file.find(l.descriptor_create, "cudnnBackendCreateDescriptor") &&
        file.find(l.descriptor_destroy, "cudnnBackendDestroyDescriptor") &&
        file.find(l.set_attribute, "cudnnBackendSetAttribute") &&
        file.find(l.get_attribute, "cudnnBackendGetAttribute") &&
        file.find(l.finalize, "cudnnBackendFinalize") && file.find(l.execute, "cudnnBackendExecute");
    if (!complete) {
        l.why_not = "libcudnn.so.9 lacks functions of the graph interface; install cuDNN 9";
        return l;
    }
    const std::size_t version = l.version();
    const std::string path = SharedLibrary::file_of(l.version);
    l.text = "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
             std::to_string(version % 100) + ", " + path;
    if (version / 10000 != 9)
        l.why_not = l.text + " can't be used: version 9 is needed";
    else
        open_companions(path);
    return l;
}

}  // namespace

const Library& library() {
    static const Library* const opened = new Library(open());
    return *opened;
}

}  // namespace convlens::cudnn
