#include "convlens/tensor.h"

#include <algorithm>
#include <vector>

#include "convlens/error.h"
#include "convlens/version.h"

namespace convlens {

const char* version() noexcept {
#define CONVLENS_TEXT2(x) #x
#define CONVLENS_TEXT(x) CONVLENS_TEXT2(x)
    return CONVLENS_TEXT(CONVLENS_VERSION_MAJOR) "." CONVLENS_TEXT(CONVLENS_VERSION_MINOR) "." CONVLENS_TEXT(
        CONVLENS_VERSION_PATCH);
#undef CONVLENS_TEXT
#undef CONVLENS_TEXT2
}

const char* to_string(Status status) noexcept {
    switch (status) {
        case Status::success:
            return "success";
        case Status::bad_parameter:
            return "bad_parameter";
        case Status::not_supported:
            return "not_supported";
        case Status::runtime_failure:
            return "runtime_failure";
    }
    return "unknown";
}

std::size_t size_of(DataType type) noexcept {
    switch (type) {
        case DataType::f32:
        case DataType::i32:
            return 4;
        case DataType::f64:
        case DataType::i64:
            return 8;
        case DataType::f16:
        case DataType::bf16:
            return 2;
        case DataType::i8:
        case DataType::u8:
        case DataType::boolean:
            return 1;
    }
    return 0;
}

const char* to_string(DataType type) noexcept {
    switch (type) {
        case DataType::f32:
            return "f32";
        case DataType::f64:
            return "f64";
        case DataType::f16:
            return "f16";
        case DataType::bf16:
            return "bf16";
        case DataType::i8:
            return "i8";
        case DataType::u8:
            return "u8";
        case DataType::i32:
            return "i32";
        case DataType::i64:
            return "i64";
        case DataType::boolean:
            return "bool";
    }
    return "unknown";
}

Dims::Dims(std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) push_back(value);
}

Dims Dims::filled(int rank, std::int64_t value) {
    Dims dims;
    for (int i = 0; i < rank; ++i) dims.push_back(value);
    return dims;
}

void Dims::push_back(std::int64_t value) {
    if (rank_ >= max_rank)
        throw Error(Status::bad_parameter, "a tensor has more than " + std::to_string(max_rank) + " axes");
    values_[static_cast<std::size_t>(rank_++)] = value;
}

std::int64_t Dims::product() const {
    std::int64_t result = 1;
    bool zero = false;
    for (const std::int64_t value : *this) {
        if (value == 0)
            zero = true;
        else if (__builtin_mul_overflow(result, value, &result))
            throw Error(Status::bad_parameter, "dims " + text() + " hold more than 2^63 elements");
    }
    return zero ? 0 : result;
}

bool Dims::operator==(const Dims& other) const noexcept {
    return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Dims::text() const {
    std::string result;
    for (int i = 0; i < rank_; ++i) {
        if (i > 0) result += 'x';
        result += std::to_string((*this)[i]);
    }
    return rank_ == 0 ? "scalar" : result;
}

namespace {

// Strides for a dense tensor whose axes, innermost first, are `order`.
template <class Order>
Dims dense_strides(const Dims& dims, const Order& order) {
    Dims strides = Dims::filled(dims.rank(), 1);
    std::int64_t step = 1;
    for (const int axis : order) {
        strides[axis] = step;
        if (__builtin_mul_overflow(step, std::max<std::int64_t>(dims[axis], 1), &step))
            throw Error(Status::bad_parameter, "dims " + dims.text() + " hold more than 2^63 elements");
    }
    return strides;
}

bool is_dense_in(const TensorDesc& desc, const std::vector<int>& order) {
    std::int64_t step = 1;
    for (const int axis : order) {
        if (desc.dims[axis] == 1) continue;
        if (desc.strides[axis] != step) return false;
        step *= desc.dims[axis];
    }
    return true;
}

std::vector<int> packed_order(int rank) {
    std::vector<int> order;
    for (int axis = rank - 1; axis >= 0; --axis) order.push_back(axis);
    return order;
}

std::vector<int> channels_last_order(int rank) {
    if (rank <= 2) return packed_order(rank);
    std::vector<int> order{1};
    for (int axis = rank - 1; axis >= 2; --axis) order.push_back(axis);
    order.push_back(0);
    return order;
}

}  // namespace

TensorDesc TensorDesc::packed(const Dims& dims, DataType type) {
    return {type, dims, dense_strides(dims, packed_order(dims.rank())), 0};
}

TensorDesc TensorDesc::channels_last(const Dims& dims, DataType type) {
    return {type, dims, dense_strides(dims, channels_last_order(dims.rank())), 0};
}

std::size_t TensorDesc::bytes() const {
    if (is_empty()) return 0;
    std::int64_t last = offset;
    for (int axis = 0; axis < rank(); ++axis) {
        std::int64_t reach = 0;
        if (strides[axis] < 0) continue;
        if (__builtin_mul_overflow(dims[axis] - 1, strides[axis], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            throw Error(Status::bad_parameter,
                        "the strides of " + dims.text() + " reach beyond 2^63 elements");
    }
    std::int64_t bytes = 0;
    if (__builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, static_cast<std::int64_t>(size_of(type)), &bytes))
        throw Error(Status::bad_parameter, "a tensor " + dims.text() + " is larger than 2^63 bytes");
    return static_cast<std::size_t>(bytes);
}

bool TensorDesc::is_packed() const { return is_dense_in(*this, packed_order(rank())); }
bool TensorDesc::is_channels_last() const { return is_dense_in(*this, channels_last_order(rank())); }

bool TensorDesc::is_dense() const {
    std::vector<int> order;
    for (int axis = 0; axis < rank(); ++axis)
        if (dims[axis] != 1) order.push_back(axis);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] < strides[b]; });
    return is_dense_in(*this, order);
}

bool TensorDesc::operator==(const TensorDesc& other) const noexcept {
    return type == other.type && dims == other.dims && strides == other.strides && offset == other.offset;
}

std::string TensorDesc::text() const {
    std::string result = std::string(to_string(type)) + ' ' + dims.text();
    if (is_packed()) return result + " packed";
    if (is_channels_last()) return result + " channels-last";
    result += " strides ";
    for (int i = 0; i < rank(); ++i) result += (i ? "," : "") + std::to_string(strides[i]);
    return result;
}

void check_tensor(const TensorDesc& desc, const char* name, bool is_destination) {
    const std::string label(name);
    if (desc.dims.rank() != desc.strides.rank())
        throw Error(Status::bad_parameter, label + ": " + std::to_string(desc.dims.rank()) + " dims but " +
                                               std::to_string(desc.strides.rank()) + " strides");
    std::int64_t lowest = desc.offset;
    for (int axis = 0; axis < desc.rank(); ++axis) {
        const std::int64_t dim = desc.dims[axis];
        const std::int64_t stride = desc.strides[axis];
        if (dim < 0)
            throw Error(Status::bad_parameter, label + ": dim " + std::to_string(axis) + " is negative (" +
                                                   std::to_string(dim) + ")");
        if (is_destination && dim > 1 && stride <= 0)
            throw Error(Status::bad_parameter,
                        label + ": stride " + std::to_string(axis) + " of a destination must be positive");
        std::int64_t reach = 0;
        if (stride < 0 && dim > 1 &&
            (__builtin_mul_overflow(dim - 1, stride, &reach) ||
             __builtin_add_overflow(lowest, reach, &lowest)))
            throw Error(Status::bad_parameter, label + ": the strides reach beyond 2^63 elements");
    }
    try {
        if (desc.is_empty()) return;
        (void)desc.bytes();
    } catch (const Error& error) {
        throw Error(Status::bad_parameter, label + ": " + error.what());
    }
    if (lowest < 0) throw Error(Status::bad_parameter, label + ": negative strides reach before the pointer");
}

}  // namespace convlens
