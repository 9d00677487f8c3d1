// Tensor descriptors: dims, strides and type of memory that the caller owns.
//
// Dims are logical and always in the order N C [D] [H] W, whatever lies next to what in memory; the strides
// say how it lies. A descriptor is a plain value: copy it, compare it, use it as a key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#pragma GCC visibility push(default)
namespace convlens {

inline constexpr int max_rank = 8;

enum class DataType : std::uint8_t { f32, f64, f16, bf16, i8, u8, i32, i64, boolean };

// Bytes of one element.
std::size_t size_of(DataType type) noexcept;
// "f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64", "bool".
const char* to_string(DataType type) noexcept;

// A short list of integers, one an axis: dims, strides, pads.
class Dims {
  public:
    Dims() = default;
    Dims(std::initializer_list<std::int64_t> values);  // throws Error(bad_parameter) above max_rank
    static Dims filled(int rank, std::int64_t value);

    int rank() const noexcept { return rank_; }
    bool empty() const noexcept { return rank_ == 0; }
    std::int64_t& operator[](int axis) noexcept { return values_[static_cast<std::size_t>(axis)]; }
    std::int64_t operator[](int axis) const noexcept { return values_[static_cast<std::size_t>(axis)]; }
    void push_back(std::int64_t value);  // throws Error(bad_parameter) above max_rank
    std::int64_t back() const noexcept { return values_[static_cast<std::size_t>(rank_ - 1)]; }
    const std::int64_t* begin() const noexcept { return values_.data(); }
    const std::int64_t* end() const noexcept { return values_.data() + rank_; }
    // Product of all values (1 for rank 0); throws Error(bad_parameter) when it leaves 63 bits.
    std::int64_t product() const;
    bool operator==(const Dims& other) const noexcept;
    // "1x3x224x224"
    std::string text() const;

  private:
    int rank_ = 0;
    std::array<std::int64_t, max_rank> values_{};
};

// Where the elements of a tensor lie. Strides are in elements and may be zero (broadcast; sources only) or
// negative (reversed slices; sources only). `offset` is the element that index 0 0 ... 0 addresses, counted
// from the pointer that execute receives.
struct TensorDesc {
    DataType type = DataType::f32;
    Dims dims;
    Dims strides;
    std::int64_t offset = 0;

    // The last axis is contiguous (NCHW for rank 4).
    static TensorDesc packed(const Dims& dims, DataType type = DataType::f32);
    // Axis 1 is contiguous, the others in order around it (NHWC for rank 4); rank <= 2 is the same as packed.
    static TensorDesc channels_last(const Dims& dims, DataType type = DataType::f32);

    int rank() const noexcept { return dims.rank(); }
    std::int64_t elements() const { return dims.product(); }
    bool is_empty() const { return elements() == 0; }
    // Bytes from the pointer to the end of the last element (0 for an empty tensor); throws
    // Error(bad_parameter) when that leaves 63 bits.
    std::size_t bytes() const;
    bool is_packed() const;         // dense with the last axis innermost (axes of size 1 may have any stride)
    bool is_channels_last() const;  // dense with axis 1 innermost (axes of size 1 may have any stride)
    bool is_dense() const;          // every address between first and last is used once
    bool operator==(const TensorDesc& other) const noexcept;
    // "f32 1x32x112x112 channels-last", "f32 4x4 packed" or "... strides 1,2"
    std::string text() const;
};

// Throws Error(bad_parameter) naming `name` unless ranks agree, dims are >= 0, and the size fits 63 bits.
// Destinations may neither repeat an element (stride 0) nor run backwards.
void check_tensor(const TensorDesc& desc, const char* name, bool is_destination);

}  // namespace convlens
#pragma GCC visibility pop
