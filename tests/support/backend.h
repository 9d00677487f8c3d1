// The backend that the tests of the library run on. The same sources are compiled twice: for the processor,
// and into gpu_tests with CONVLENS_TEST_CUDA for a GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "convlens/convlens.hpp"
#include "primitives/algorithm.h"
#include "tests/support/on_gpu.h"

namespace convlens::test {

inline ContextOptions test_options(int threads) {
    return {.backend = on_gpu ? Backend::cuda : Backend::cpu, .threads = threads};
}

// Host memory [begin, end) mirrored on the device: the same distance from a 256-byte boundary, guards on both
// sides.
class Mirror {
  public:
    static constexpr std::size_t guard = 512;
    static constexpr unsigned char pattern = 0x7F;  // as a float 3.4e38: a read of it shows

    Mirror(Context& context, std::uintptr_t begin, std::uintptr_t end)
        : context_(context),
          begin_(begin),
          end_(end),
          shift_(guard + begin % 256),
          memory_(context, shift_ + (end - begin) + guard) {
        context.fill(memory_.data(), pattern, memory_.bytes());
        context.upload(memory_.data() + shift_, reinterpret_cast<const void*>(begin), end - begin);
    }
    bool holds(std::uintptr_t address) const { return address >= begin_ && address < end_; }
    bool ends_at(std::uintptr_t address) const { return address == end_; }
    std::byte* device(const void* host) const {
        return memory_.data() + shift_ + (reinterpret_cast<std::uintptr_t>(host) - begin_);
    }
    void fetch(std::uintptr_t begin, std::uintptr_t end) const {
        context_.download(reinterpret_cast<void*>(begin), device(reinterpret_cast<const void*>(begin)),
                          end - begin);
    }
    void expect_guards(const std::string& what) const {
        std::vector<unsigned char> bytes(memory_.bytes());
        context_.download(bytes.data(), memory_.data(), bytes.size());
        const std::size_t behind = shift_ + (end_ - begin_);
        const auto intact = [](unsigned char byte) { return byte == pattern; };
        EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(shift_), intact) &&
                    std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(behind), bytes.end(), intact))
            << what << ": device memory beside a buffer was written";
    }

  private:
    Context& context_;
    std::uintptr_t begin_, end_;
    std::size_t shift_;
    Buffer memory_;
};

// Host ranges that execute() may touch; those that overlap become one mirror, so that memory shared on the
// host is shared on the device.
class Mirrors {
  public:
    void add(const void* pointer, const TensorDesc& desc) {
        if (pointer == nullptr || desc.is_empty()) return;
        std::int64_t lowest = desc.offset;
        for (int axis = 0; axis < desc.rank(); ++axis)
            if (desc.strides[axis] < 0) lowest += (desc.dims[axis] - 1) * desc.strides[axis];
        const auto base = reinterpret_cast<std::uintptr_t>(pointer);
        const auto size = static_cast<std::int64_t>(size_of(desc.type));
        add_range(base + static_cast<std::uintptr_t>(lowest * size), base + desc.bytes());
    }
    void add_range(std::uintptr_t begin, std::uintptr_t end) {
        for (std::size_t i = 0; i < ranges_.size();) {
            if (begin < ranges_[i].second && ranges_[i].first < end) {
                begin = std::min(begin, ranges_[i].first);
                end = std::max(end, ranges_[i].second);
                ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
                i = 0;
            } else {
                ++i;
            }
        }
        ranges_.emplace_back(begin, end);
    }
    void upload(Context& context) {
        for (const auto& [begin, end] : ranges_)
            mirrors_.push_back(std::make_unique<Mirror>(context, begin, end));
    }
    // The first element may lie beside the range that a descriptor reaches (an offset, backward strides).
    void* device(const void* pointer, const TensorDesc& desc) const {
        if (pointer == nullptr || desc.is_empty()) return const_cast<void*>(pointer);
        const auto size = static_cast<std::int64_t>(size_of(desc.type));
        const auto* first = static_cast<const std::byte*>(pointer) + desc.offset * size;
        return of(first) - desc.offset * size;
    }
    std::byte* of(const void* host) const {
        const auto address = reinterpret_cast<std::uintptr_t>(host);
        for (const auto& mirror : mirrors_)
            if (mirror->holds(address)) return mirror->device(host);
        // One range may begin where another ends.
        for (const auto& mirror : mirrors_)
            if (mirror->ends_at(address)) return mirror->device(host);
        return nullptr;
    }
    void fetch() const {
        for (std::size_t i = 0; i < ranges_.size(); ++i)
            mirrors_[i]->fetch(ranges_[i].first, ranges_[i].second);
    }
    void expect_guards(const std::string& what) const {
        for (const auto& mirror : mirrors_) mirror->expect_guards(what);
    }

  private:
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges_;
    std::vector<std::unique_ptr<Mirror>> mirrors_;
};

// plan.execute() with host memory in every argument: on a GPU all of it is mirrored before and fetched back
// afterwards, with guards of its own on the device.
inline void execute(const Plan& plan, Context& context, const ExecuteArgs& args) {
    if (!on_gpu) return plan.execute(context, args);
    const PlanInfo& info = plan.info();
    const TensorDesc dst = std::visit([](const auto& p) { return p.dst; }, plan.problem());
    Mirrors memory;
    std::vector<const void*> sources(args.sources.begin(), args.sources.end());
    std::vector<TensorDesc> descs;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        descs.push_back(source_desc(plan.problem(), i).value_or(TensorDesc::packed({0})));
        memory.add(sources[i], descs[i]);
    }
    memory.add(args.dst, dst);
    const auto add_plain = [&](const void* pointer, std::size_t bytes) {
        const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
        if (pointer != nullptr && bytes > 0) memory.add_range(begin, begin + bytes);
    };
    add_plain(args.weights, info.packed_bytes);
    add_plain(args.workspace, args.workspace_bytes);
    memory.upload(context);
    ExecuteArgs there = args;
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = memory.device(sources[i], descs[i]);
    there.sources = sources;
    there.dst = memory.device(args.dst, dst);
    const auto plain = [&](const void* pointer, std::size_t bytes) {
        return pointer != nullptr && bytes > 0 ? memory.of(pointer)
                                               : static_cast<std::byte*>(const_cast<void*>(pointer));
    };
    there.weights = plain(args.weights, info.packed_bytes);
    there.workspace = plain(args.workspace, args.workspace_bytes);
    plan.execute(context, there);
    context.synchronize();
    memory.fetch();
    memory.expect_guards(info.operation + " by " + info.algorithm);
}

}  // namespace convlens::test
