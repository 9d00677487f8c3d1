// What the lists of both backends have in common (inside the library only).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "primitives/algorithm.h"

namespace convlens {

inline bool is_f32(const TensorDesc& desc) { return desc.type == DataType::f32; }

// The fast rows take f32 only; `direct` takes every floating-point type.
template <class P>
std::string reject_unless_f32(const P& problem, const Context&) {
    if (is_f32(problem.dst)) return {};
    return std::string("only f32 is supported, not ") + to_string(problem.dst.type);
}

inline bool is_floating_point(DataType type) {
    return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16;
}

template <class P>
std::string reject_unless_floating_point(const P& problem, const Context&) {
    if (is_floating_point(problem.dst.type)) return {};
    return std::string("only floating-point types are supported, not ") + to_string(problem.dst.type);
}

inline const float* floats(const void* pointer) { return static_cast<const float*>(pointer); }

template <class P>
using MakePlan = std::unique_ptr<Plan> (*)(const P& problem, const Context& context, PlanInfo info);
template <class P>
using Reject = std::string (*)(const P& problem, const Context& context);

// The list of an operation with one f32 row beside the reference.
template <class P>
constexpr std::array<Algorithm<P>, 2> blocks_and_direct(MakePlan<P> make_blocks, MakePlan<P> make_direct,
                                                        Reject<P> reject_blocks = reject_unless_f32<P>) {
    return {
        {{"blocks", ErrorClass::fp32, true, reject_blocks, always<P>, make_blocks},
         {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<P>, always<P>, make_direct}}};
}

// The list of an operation that only moves values.
template <class P>
constexpr std::array<Algorithm<P>, 2> copy_and_direct(MakePlan<P> make_copy, MakePlan<P> make_direct) {
    return {{{"strided_copy", ErrorClass::exact_order, true, never_rejects<P>, always<P>, make_copy},
             {"direct", ErrorClass::exact_order, true, never_rejects<P>, always<P>, make_direct}}};
}

// Memory whose type the kernel's parameter says.
struct SourceMemory {
    const void* at;
    template <class T>
    operator const T*() const {
        return static_cast<const T*>(at);
    }
};
struct DstMemory {
    void* at;
    template <class T>
    operator T*() const {
        return static_cast<T*>(at);
    }
};

// Calls kernel(params, source..., dst, place): place is the thread pool or the stream.
template <auto kernel, class Params, class Place, std::size_t... source>
void call_kernel(const Params& params, const ExecuteArgs& args, Place& place,
                 std::index_sequence<source...>) {
    kernel(params, SourceMemory{args.sources[source]}..., DstMemory{args.dst}, place);
}

}  // namespace convlens
