// TensorProto -> Constant, with every size checked before it is believed. Only onnx_*.cpp include this.
#pragma once

#include <filesystem>
#include <string>

#include "app/network/graph.h"

namespace onnx {
class TensorProto;
}

namespace convlens::network {

struct TensorReading {
    std::string folder;                           // where external data may lie; empty: nowhere
    std::int64_t budget = max_constant_elements;  // elements that may still be read
};

// Throws Error(bad_parameter) naming `label`: an unknown type, a payload that doesn't fit the dims, external
// data outside the folder.
ConstantPtr decode_tensor(const onnx::TensorProto& tensor, TensorReading& reading, const std::string& label);

// Our type of an onnx::TensorProto::DataType; throws Error(bad_parameter) with the label and the type's name.
DataType type_of_onnx(int onnx_type, const std::string& label);

float half_to_float(std::uint16_t bits) noexcept;
// Rounds to nearest even.
std::uint16_t float_to_half(float value) noexcept;

}  // namespace convlens::network
