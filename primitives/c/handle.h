// What stands behind the handles of the C interface, and how errors leave it (inside the library only).
//
// A handle points to a header with a magic word. Headers are never given back to the allocator: a destroyed
// one waits behind many others before it is used again, so that a handle that is used too long meets a header
// that says so.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "convlens/convlens.h"
#include "convlens/plan.h"

namespace convlens::c {

enum class Kind : std::uint64_t {
    destroyed = 0x436f6e76'00000000u,  // "Conv"
    context,
    problem,
    plan,
    candidates,
};

struct Handle;
Handle* open_handle(Kind kind, void* object);
// The object of a live handle of this kind; throws Error(bad_parameter) naming `name` for any other.
void* object_of(const Handle* handle, Kind kind, const char* name);
// The same, and the handle is destroyed; of several callers one gets the object. Null for a null handle.
void* close_handle(Handle* handle, Kind kind, const char* name);

struct ContextObject {
    Context context;
    std::string device_text;
    explicit ContextObject(const ContextOptions& options)
        : context(options), device_text(context.device_text()) {}
};
using PlanObject = std::unique_ptr<Plan>;
using CandidatesObject = std::vector<Finding>;

template <class T>
struct Type;
template <>
struct Type<convlens_context> {
    using Object = ContextObject;
    static constexpr Kind kind = Kind::context;
    static constexpr const char* name = "context";
};
template <>
struct Type<convlens_problem> {
    using Object = Problem;
    static constexpr Kind kind = Kind::problem;
    static constexpr const char* name = "problem";
};
template <>
struct Type<convlens_plan> {
    using Object = PlanObject;
    static constexpr Kind kind = Kind::plan;
    static constexpr const char* name = "plan";
};
template <>
struct Type<convlens_candidates> {
    using Object = CandidatesObject;
    static constexpr Kind kind = Kind::candidates;
    static constexpr const char* name = "candidates";
};

template <class T>
typename Type<T>::Object& object(T* handle) {
    return *static_cast<typename Type<T>::Object*>(
        object_of(reinterpret_cast<const Handle*>(handle), Type<T>::kind, Type<T>::name));
}
template <class T>
const typename Type<T>::Object& object(const T* handle) {
    return object(const_cast<T*>(handle));
}

// Where a function puts the handle that it makes: null until then.
template <class T>
class Result {
  public:
    explicit Result(T** place) : place_(place) {
        if (place == nullptr)
            throw Error(Status::bad_parameter,
                        std::string(Type<T>::name) + ": nowhere to put it, it is null");
        *place = nullptr;
    }
    void set(std::unique_ptr<typename Type<T>::Object> made) const {
        *place_ = reinterpret_cast<T*>(open_handle(Type<T>::kind, made.get()));
        (void)made.release();
    }

  private:
    T** place_;
};

void keep_error(const char* text) noexcept;

// Runs what a function of the interface does; what it throws becomes a status and the thread's last error.
template <class Work>
convlens_status guarded(const Work& work) noexcept {
    try {
        work();
        return CONVLENS_SUCCESS;
    } catch (const Error& error) {
        keep_error(error.what());
        return static_cast<convlens_status>(error.status());
    } catch (const std::bad_alloc&) {
        keep_error("there is no memory left");
    } catch (const std::exception& error) {
        keep_error(error.what());
    } catch (...) {
        keep_error("an unknown failure");
    }
    return CONVLENS_RUNTIME_FAILURE;
}

template <class T>
convlens_status destroy(T* handle) noexcept {
    return guarded([&] {
        delete static_cast<typename Type<T>::Object*>(
            close_handle(reinterpret_cast<Handle*>(handle), Type<T>::kind, Type<T>::name));
    });
}

inline void need(const void* pointer, const char* name) {
    if (pointer == nullptr) throw Error(Status::bad_parameter, std::string(name) + ": null");
}

}  // namespace convlens::c
