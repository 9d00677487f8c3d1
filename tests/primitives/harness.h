// What the tests of the operations share: guarded memory, layouts, and running every algorithm of a list
// against an independent definition. Index arithmetic here is the tests' own.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "convlens/convlens.hpp"
#include "tests/support/backend.h"
#include "vector_targets.h"

namespace convlens::test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

using Index = std::vector<std::int64_t>;

inline std::int64_t element_at(const TensorDesc& desc, const Index& index) {
    std::int64_t at = desc.offset;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * desc.strides[static_cast<int>(i)];
    return at;
}

inline void for_each_index(const Dims& dims, const std::function<void(const Index&)>& visit) {
    std::int64_t count = 1;
    for (const auto d : dims) count *= d;
    for (std::int64_t i = 0; i < count; ++i) {
        Index index(static_cast<std::size_t>(dims.rank()));
        std::int64_t rest = i;
        for (int a = dims.rank() - 1; a >= 0; --a) {
            index[static_cast<std::size_t>(a)] = rest % dims[a];
            rest /= dims[a];
        }
        visit(index);
    }
}

enum class Lay { packed, channels_last, odd };
constexpr Lay all_lays[] = {Lay::packed, Lay::channels_last, Lay::odd};

// odd: axes in reversed order, every second or third element, an offset.
inline TensorDesc make_desc(const Dims& dims, Lay lay, DataType type = DataType::f32) {
    if (lay == Lay::packed) return TensorDesc::packed(dims, type);
    if (lay == Lay::channels_last) return TensorDesc::channels_last(dims, type);
    TensorDesc desc{type, dims, Dims::filled(dims.rank(), 1), 5};
    std::int64_t step = 2;
    for (int axis = 0; axis < dims.rank(); ++axis) {
        desc.strides[axis] = step;
        // Hostile dims may leave 63 bits; any strides will do for them.
        if (__builtin_mul_overflow(step, std::max<std::int64_t>(dims[axis], 1), &step) ||
            __builtin_add_overflow(step, 3, &step))
            step = 2;
    }
    return desc;
}

// Memory of exactly a descriptor's bytes between guards, its address off 64-byte alignment by one element.
class Guarded {
  public:
    explicit Guarded(const TensorDesc& desc) : desc_(desc), bytes_(desc.bytes()) {
        memory_.assign(guard * 2 + bytes_ + 128, 0xA5);
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data() + guard);
        start_ = guard + (64 - address % 64) % 64 + size_of(desc.type);
        std::memset(data(), 0xFF, bytes_);
    }
    std::uint8_t* data() { return memory_.data() + start_; }
    const std::uint8_t* data() const { return memory_.data() + start_; }
    const TensorDesc& desc() const { return desc_; }

    template <class T = float>
    void set(const Index& index, T value) {
        std::memcpy(data() + element_at(desc_, index) * static_cast<std::int64_t>(sizeof(T)), &value,
                    sizeof(T));
    }
    template <class T = float>
    T get(const Index& index) const {
        T value;
        std::memcpy(&value, data() + element_at(desc_, index) * static_cast<std::int64_t>(sizeof(T)),
                    sizeof(T));
        return value;
    }
    template <class T = float>
    void fill(const std::function<double(const Index&)>& value) {
        for_each_index(desc_.dims, [&](const Index& i) { set<T>(i, static_cast<T>(value(i))); });
    }
    // Guards and gaps between elements still hold what they held; each element is named once.
    std::string damage() const {
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if ((i < start_ || i >= start_ + bytes_) && memory_[i] != 0xA5)
                return "guard byte " + std::to_string(static_cast<std::ptrdiff_t>(i - start_)) + " written";
        std::vector<bool> used(bytes_);
        const auto size = static_cast<std::int64_t>(size_of(desc_.type));
        for_each_index(desc_.dims, [&](const Index& index) {
            for (std::int64_t b = 0; b < size; ++b)
                used[static_cast<std::size_t>(element_at(desc_, index) * size + b)] = true;
        });
        for (std::size_t i = 0; i < bytes_; ++i)
            if (!used[i] && data()[i] != 0xFF) return "gap byte " + std::to_string(i) + " written";
        return {};
    }

  private:
    static constexpr std::size_t guard = 256;
    TensorDesc desc_;
    std::size_t bytes_;
    std::size_t start_ = 0;
    std::vector<std::uint8_t> memory_;
};

// A workspace of the exact size, 64-byte aligned, dirty, with a guard behind it.
class Workspace {
  public:
    explicit Workspace(std::size_t bytes) : bytes_(bytes), memory_(bytes + 128, 0xFF) {
        shift_ = (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64;
    }
    void* data() { return bytes_ == 0 ? nullptr : memory_.data() + shift_; }
    std::size_t bytes() const { return bytes_; }
    bool intact() const {
        for (std::size_t i = shift_ + bytes_; i < memory_.size(); ++i)
            if (memory_[i] != 0xFF) return false;
        return true;
    }

  private:
    std::size_t bytes_;
    std::size_t shift_ = 0;
    std::vector<std::uint8_t> memory_;
};

inline Context& context() {
    static Context shared(test_options(3));
    return shared;
}

// Repeatable values in (-2, 2), different for each index.
inline double noise(const Index& index, std::uint64_t seed = 1) {
    std::uint64_t h = seed * 0x9e3779b97f4a7c15u;
    for (const auto i : index) {
        h = (h ^ static_cast<std::uint64_t>(i)) * 0xff51afd7ed558ccdu;
        h ^= h >> 29;
    }
    return static_cast<double>(h >> 40) / static_cast<double>(1 << 24) * 4 - 2;
}

inline void expect_near(double actual, double expected, double tolerance, const std::string& where) {
    if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << where << ": " << actual << " should be NaN";
    } else if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected) << where;
    } else {
        EXPECT_LE(std::fabs(actual - expected), tolerance * std::max(1.0, std::fabs(expected)))
            << where << ": " << actual << " should be " << expected;
    }
}

inline std::string text(const Index& index) {
    std::string result;
    for (const auto i : index) result += (result.empty() ? "" : ",") + std::to_string(i);
    return "[" + result + "]";
}

// One run into a poisoned, guarded dst, compared with `expected` in row-major order. Stops at the first wrong
// element.
inline void run_one(const Problem& problem, const std::string& algorithm,
                    const std::vector<const void*>& sources, const TensorDesc& dst_desc,
                    const std::vector<double>& expected, double tolerance, const std::string& target) {
    const std::string name = std::string(operation_name(problem)) + " by " + algorithm + " on " + target +
                             ", dst " + dst_desc.text();
    const auto plan = make_plan(context(), problem, {.algorithm = algorithm});
    Guarded dst(dst_desc);
    Workspace workspace(plan->info().workspace_bytes);
    execute(*plan, context(),
            {.sources = sources,
             .dst = dst.data(),
             .workspace = workspace.data(),
             .workspace_bytes = workspace.bytes()});
    EXPECT_EQ(dst.damage(), "") << name;
    EXPECT_TRUE(workspace.intact()) << name;
    bool wrong = false;
    std::size_t i = 0;
    for_each_index(dst_desc.dims, [&](const Index& index) {
        const double value = expected[i++];
        if (wrong) return;
        const double actual = dst.get(index);
        // The usual case without making a message.
        if (std::fabs(actual - value) <= tolerance * std::max(1.0, std::fabs(value))) return;
        expect_near(actual, value, tolerance, name + " at " + text(index));
        wrong = ::testing::Test::HasFailure();
    });
}

// Runs every applicable algorithm, those with vector code on every vector target of this processor (f32). At
// least `least` algorithms must apply.
inline void run_all(const Problem& problem, const std::vector<const void*>& sources,
                    const TensorDesc& dst_desc, const std::function<double(const Index&)>& expected,
                    double tolerance = 2e-6, int least = 1) {
    std::vector<double> values;
    for_each_index(dst_desc.dims, [&](const Index& index) { values.push_back(expected(index)); });
    int ran = 0;
    for (const Candidate& row : candidates(context(), problem)) {
        if (!row.applicable) {
            EXPECT_FALSE(row.reason.empty()) << row.algorithm;
            continue;
        }
        ++ran;
        const auto run = [&](const std::string& target) {
            run_one(problem, row.algorithm, sources, dst_desc, values, tolerance, target);
        };
        if (row.algorithm == "direct" || row.algorithm == "strided_copy")
            run("no vector target");
        else
            for_each_vector_target(run);
    }
    EXPECT_GE(ran, least);
}

// The message of the Error that `act` throws, or "" when it throws none; other exceptions fail the test.
template <class Act>
std::string message_of(Status status, const Act& act) {
    try {
        act();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        return error.what();
    }
    return {};
}

}  // namespace convlens::test
