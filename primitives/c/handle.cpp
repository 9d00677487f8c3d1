#include "primitives/c/handle.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace convlens::c {

struct Handle {
    std::atomic<Kind> kind;
    void* object;
};

namespace {

// So many destroyed handles are told from live ones.
constexpr std::size_t remembered = 4096;

struct Pool {
    std::mutex mutex;
    std::deque<Handle*> destroyed;
};

// Never destroyed: handles may be closed while the program ends.
Pool& pool() {
    static Pool& instance = *new Pool;
    return instance;
}

thread_local std::string last_error;

}  // namespace

void keep_error(const char* text) noexcept {
    try {
        last_error = text;
    } catch (...) {
        last_error.clear();
    }
}

Handle* open_handle(Kind kind, void* object) {
    Handle* handle = nullptr;
    {
        const std::lock_guard lock(pool().mutex);
        if (pool().destroyed.size() > remembered) {
            handle = pool().destroyed.front();
            pool().destroyed.pop_front();
        }
    }
    if (handle == nullptr) handle = new Handle{Kind::destroyed, nullptr};
    handle->object = object;
    handle->kind.store(kind, std::memory_order_release);
    return handle;
}

namespace {

[[noreturn]] void refuse(Kind found, const char* name) {
    const auto text = [&]() -> std::string {
        if (found == Kind::destroyed) return ": it has been destroyed";
        if (found == Kind::context) return ": it is a context";
        if (found == Kind::problem) return ": it is a problem";
        if (found == Kind::plan) return ": it is a plan";
        if (found == Kind::candidates) return ": it is a list of candidates";
        return ": it is not a handle of this library";
    };
    throw Error(Status::bad_parameter, name + text());
}

void check_pointer(const Handle* handle, const char* name) {
    need(handle, name);
    if (reinterpret_cast<std::uintptr_t>(handle) % alignof(Handle) != 0)
        throw Error(Status::bad_parameter, std::string(name) + ": it is not a handle of this library");
}

}  // namespace

void* object_of(const Handle* handle, Kind kind, const char* name) {
    check_pointer(handle, name);
    const Kind found = handle->kind.load(std::memory_order_acquire);
    if (found != kind) refuse(found, name);
    return handle->object;
}

void* close_handle(Handle* handle, Kind kind, const char* name) {
    if (handle == nullptr) return nullptr;
    check_pointer(handle, name);
    Kind found = kind;
    if (!handle->kind.compare_exchange_strong(found, Kind::destroyed)) refuse(found, name);
    void* object = std::exchange(handle->object, nullptr);
    const std::lock_guard lock(pool().mutex);
    pool().destroyed.push_back(handle);
    return object;
}

}  // namespace convlens::c

const char* convlens_last_error(void) { return convlens::c::last_error.c_str(); }
