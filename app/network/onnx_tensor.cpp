#include "app/network/onnx_tensor.h"

#include <onnx/onnx_pb.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace convlens::network {

namespace fs = std::filesystem;
using onnx::TensorProto;

float half_to_float(std::uint16_t bits) noexcept {
    const float sign = (bits & 0x8000) ? -1.0f : 1.0f;
    const int exponent = (bits >> 10) & 31;
    const int mantissa = bits & 1023;
    if (exponent == 31)
        return mantissa ? std::numeric_limits<float>::quiet_NaN()
                        : sign * std::numeric_limits<float>::infinity();
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
    return sign * std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
}

std::uint16_t float_to_half(float value) noexcept {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
    const float size = std::fabs(value);
    if (size >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00);
    if (size < 6.103515625e-05f)  // subnormal: a whole number of 2^-24
        return static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(std::ldexp(size, 24))));
    int exponent = 0;
    const float fraction = std::frexp(size, &exponent);                               // [0.5, 1)
    const int mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));  // 1024 to 2048
    return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + mantissa - 1024));
}

namespace {

[[noreturn]] void bad(const std::string& label, const std::string& reason) {
    throw Error(Status::bad_parameter, label + ": " + reason);
}

std::size_t element_size(int type, const std::string& label) {
    switch (type) {
        case TensorProto::FLOAT:
        case TensorProto::INT32:
        case TensorProto::UINT32:
            return 4;
        case TensorProto::DOUBLE:
        case TensorProto::INT64:
        case TensorProto::UINT64:
            return 8;
        case TensorProto::FLOAT16:
        case TensorProto::BFLOAT16:
        case TensorProto::INT16:
        case TensorProto::UINT16:
            return 2;
        case TensorProto::INT8:
        case TensorProto::UINT8:
        case TensorProto::BOOL:
            return 1;
        default:
            bad(label, "data type " + std::to_string(type) +
                           " can't be read; convert it to float32 or to an integer type");
    }
}

template <class T>
T load(const char* bytes) {
    static_assert(std::endian::native == std::endian::little, "ONNX's raw data is little-endian");
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// Beyond float's range a conversion is undefined: say infinity.
float narrowed(double value) {
    if (std::fabs(value) <= std::numeric_limits<float>::max() || std::isnan(value))
        return static_cast<float>(value);
    return std::signbit(value) ? -std::numeric_limits<float>::infinity()
                               : std::numeric_limits<float>::infinity();
}

float brain_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float load_real(int type, const char* p) {
    switch (type) {
        case TensorProto::FLOAT:
            return load<float>(p);
        case TensorProto::DOUBLE:
            return narrowed(load<double>(p));
        case TensorProto::FLOAT16:
            return half_to_float(load<std::uint16_t>(p));
        default:
            return brain_to_float(load<std::uint16_t>(p));
    }
}

std::int64_t load_integer(int type, const char* p) {
    switch (type) {
        case TensorProto::INT8:
            return load<std::int8_t>(p);
        case TensorProto::INT16:
            return load<std::int16_t>(p);
        case TensorProto::INT32:
            return load<std::int32_t>(p);
        case TensorProto::UINT8:
            return load<std::uint8_t>(p);
        case TensorProto::BOOL:
            return load<std::uint8_t>(p) != 0;
        case TensorProto::UINT16:
            return load<std::uint16_t>(p);
        case TensorProto::UINT32:
            return load<std::uint32_t>(p);
        default:
            return load<std::int64_t>(p);
    }
}

// An offset or length of external data: decimal digits only.
std::uint64_t decimal(const std::string& text, const std::string& label, const char* key) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
        bad(label,
            std::string("external data has the ") + key + " '" + text + "', which is no number of bytes");
    return std::stoull(text);
}

std::string read_external(const TensorProto& tensor, const TensorReading& reading, std::size_t bytes,
                          const std::string& label) {
    std::string location, offset_text = "0", length_text;
    for (const auto& entry : tensor.external_data()) {
        if (entry.key() == "location") location = entry.value();
        if (entry.key() == "offset") offset_text = entry.value();
        if (entry.key() == "length") length_text = entry.value();
    }
    if (location.empty() || location.find('\0') != std::string::npos)
        bad(label, "external data without a location");
    if (reading.folder.empty())
        bad(label, "external data, but the model was given as bytes without a folder; open it as a file");
    const std::uint64_t offset = decimal(offset_text, label, "offset");
    std::error_code error;
    const fs::path root = fs::weakly_canonical(reading.folder, error);
    if (error) bad(label, "the model's folder " + reading.folder + " can't be resolved");
    const fs::path given(location);
    const fs::path file = fs::weakly_canonical(root / given, error);
    bool inside = !error && !given.is_absolute();
    for (const auto& part : given) inside = inside && part != "..";
    const auto [root_end, file_at] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
    if (!inside || root_end != root.end())
        bad(label,
            "external data '" + location + "' lies outside the model's folder; put it beside the model");
    if (!fs::is_regular_file(file, error) || error)
        bad(label, "external data '" + location + "' is not there or is no file; put it beside the model");
    const std::uintmax_t size = fs::file_size(file, error);
    if (error || offset > size)
        bad(label, "external data '" + location + "' ends before offset " + offset_text);
    const std::uint64_t length = length_text.empty() ? size - offset : decimal(length_text, label, "length");
    if (length > size - offset)
        bad(label, "external data '" + location + "' has " + std::to_string(size) + " bytes, " + length_text +
                       " from " + offset_text + " were promised");
    if (length != bytes)
        bad(label,
            "external data of " + std::to_string(length) + " bytes, its dims need " + std::to_string(bytes));
    std::string data(bytes, '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    if (!stream.read(data.data(), static_cast<std::streamsize>(bytes)))
        bad(label, "external data '" + location + "' can't be read");
    return data;
}

// Number of values in the typed field that belongs to a type, and in all typed fields together.
struct Typed {
    std::int64_t own = 0, all = 0;
};
Typed typed_values(const TensorProto& t) {
    Typed typed;
    typed.all = std::int64_t{t.float_data_size()} + t.int32_data_size() + t.int64_data_size() +
                t.double_data_size() + t.uint64_data_size() + t.string_data_size();
    switch (t.data_type()) {
        case TensorProto::FLOAT:
            typed.own = t.float_data_size();
            break;
        case TensorProto::DOUBLE:
            typed.own = t.double_data_size();
            break;
        case TensorProto::INT64:
            typed.own = t.int64_data_size();
            break;
        case TensorProto::UINT32:
        case TensorProto::UINT64:
            typed.own = t.uint64_data_size();
            break;
        default:
            typed.own = t.int32_data_size();
    }
    return typed;
}

void fill_typed(const TensorProto& t, Constant& constant, std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
        const int i = static_cast<int>(at);
        switch (t.data_type()) {
            case TensorProto::FLOAT:
                constant.floats[at] = t.float_data(i);
                break;
            case TensorProto::DOUBLE:
                constant.floats[at] = narrowed(t.double_data(i));
                break;
            case TensorProto::FLOAT16:
                constant.floats[at] = half_to_float(static_cast<std::uint16_t>(t.int32_data(i)));
                break;
            case TensorProto::BFLOAT16:
                constant.floats[at] = brain_to_float(static_cast<std::uint16_t>(t.int32_data(i)));
                break;
            case TensorProto::INT64:
                constant.ints[at] = t.int64_data(i);
                break;
            case TensorProto::UINT32:
            case TensorProto::UINT64:
                constant.ints[at] = static_cast<std::int64_t>(t.uint64_data(i));
                break;
            case TensorProto::BOOL:
                constant.ints[at] = t.int32_data(i) != 0;
                break;
            default:
                constant.ints[at] = t.int32_data(i);
        }
    }
}

}  // namespace

DataType type_of_onnx(int onnx_type, const std::string& label) {
    switch (onnx_type) {
        case TensorProto::FLOAT:
            return DataType::f32;
        case TensorProto::DOUBLE:
            return DataType::f64;
        case TensorProto::FLOAT16:
            return DataType::f16;
        case TensorProto::BFLOAT16:
            return DataType::bf16;
        case TensorProto::INT8:
            return DataType::i8;
        case TensorProto::UINT8:
            return DataType::u8;
        case TensorProto::INT32:
        case TensorProto::INT16:
        case TensorProto::UINT16:
            return DataType::i32;
        case TensorProto::BOOL:
            return DataType::boolean;
        case TensorProto::INT64:
        case TensorProto::UINT32:
        case TensorProto::UINT64:
            return DataType::i64;
        default:
            bad(label, "data type " + std::to_string(onnx_type) + " can't be used; convert it to float32");
    }
}

ConstantPtr decode_tensor(const TensorProto& tensor, TensorReading& reading, const std::string& label) {
    if (tensor.dims_size() > max_rank)
        bad(label, std::to_string(tensor.dims_size()) + " dims, at most " + std::to_string(max_rank) +
                       " are possible");
    auto constant = std::make_shared<Constant>();
    for (const std::int64_t dim : tensor.dims()) {
        if (dim < 0) bad(label, "a negative dim (" + std::to_string(dim) + ")");
        constant->dims.push_back(dim);
    }
    const int type = tensor.data_type();
    const DataType own_type = type_of_onnx(type, label);
    std::int64_t count = 1;
    bool overflow = false, empty = false;
    for (const std::int64_t dim : constant->dims) {
        empty = empty || dim == 0;
        overflow = overflow || (dim > 0 && __builtin_mul_overflow(count, dim, &count));
    }
    if (empty && !overflow) count = 0;
    if (overflow || count > reading.budget)
        bad(label, "dims " + constant->dims.text() + " exceed what all constants may hold (" +
                       std::to_string(max_constant_elements) + " elements)");
    if (tensor.has_segment()) bad(label, "tensors in segments are not supported; save it in one piece");
    const std::size_t size = element_size(type, label);
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    const bool external = tensor.data_location() == TensorProto::EXTERNAL;
    const Typed typed = typed_values(tensor);
    const bool raw = tensor.has_raw_data() && !tensor.raw_data().empty();
    if (raw + external + (typed.all > 0) > 1)
        bad(label, "its data is given twice (raw and typed, or external)");
    if (raw && tensor.raw_data().size() != bytes)
        bad(label, std::to_string(tensor.raw_data().size()) + " bytes of data, its dims " +
                       constant->dims.text() + " need " + std::to_string(bytes));
    if (!raw && !external && (typed.own != count || typed.all != typed.own))
        bad(label, std::to_string(typed.all) + " values of data, its dims " + constant->dims.text() +
                       " need " + std::to_string(count));
    const std::string loaded = external ? read_external(tensor, reading, bytes, label) : std::string();
    reading.budget -= count;
    const bool real = is_real(own_type);
    constant->type = real ? DataType::f32 : own_type;
    if (real)
        constant->floats.resize(static_cast<std::size_t>(count));
    else
        constant->ints.resize(static_cast<std::size_t>(count));
    if (!raw && !external) {
        fill_typed(tensor, *constant, static_cast<std::size_t>(count));
        return constant;
    }
    const char* data = external ? loaded.data() : tensor.raw_data().data();
    if (type == TensorProto::FLOAT && count > 0) {
        std::memcpy(constant->floats.data(), data, bytes);
        return constant;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        if (real)
            constant->floats[i] = load_real(type, data + i * size);
        else
            constant->ints[i] = load_integer(type, data + i * size);
    }
    return constant;
}

ConstantPtr read_tensor_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw Error(Status::bad_parameter, path + ": can't be opened");
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    TensorProto tensor;
    if (!tensor.ParseFromString(bytes)) throw Error(Status::bad_parameter, path + ": no TensorProto");
    TensorReading reading;
    return decode_tensor(tensor, reading, path);
}

}  // namespace convlens::network
