// A shared library that is opened at run time and stays open.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

namespace convlens {

// Never closed: such libraries keep threads and tables of their own, which must outlive static objects.
class SharedLibrary {
  public:
    // The first of `names` that opens; `why_not` is the loader's word on the last one that failed.
    static SharedLibrary open(const std::vector<std::string>& names) {
        SharedLibrary library;
        for (const std::string& name : names) {
            library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (library.handle_ != nullptr) break;
            const char* error = dlerror();
            library.why_not_ = error != nullptr ? error : name + " does not open";
        }
        return library;
    }
    bool is_open() const { return handle_ != nullptr; }
    const std::string& why_not() const { return why_not_; }
    // Whether the function is there.
    template <class Function>
    bool find(Function& function, const char* name) const {
        function = handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
        return function != nullptr;
    }
    // The file that holds a function.
    template <class Function>
    static std::string file_of(Function* function) {
        Dl_info info{};
        if (dladdr(reinterpret_cast<const void*>(function), &info) == 0 || info.dli_fname == nullptr)
            return {};
        return info.dli_fname;
    }

  private:
    void* handle_ = nullptr;
    std::string why_not_;
};

}  // namespace convlens
