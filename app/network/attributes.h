// Reading a node's attributes with their defaults. A wrong form is refused with the attribute's name.
#pragma once

#include <optional>

#include "app/network/graph.h"

namespace convlens::network {

template <class T>
const T* find_attribute(const Node& node, const char* name, const char* form) {
    const auto at = node.attributes.find(name);
    if (at == node.attributes.end()) return nullptr;
    const T* value = std::get_if<T>(&at->second);
    if (value == nullptr) refuse(node, std::string("attribute ") + name + " is not " + form);
    return value;
}

inline bool has_attribute(const Node& node, const char* name) { return node.attributes.contains(name); }

inline std::int64_t integer_attribute(const Node& node, const char* name, std::int64_t otherwise) {
    const auto* value = find_attribute<std::int64_t>(node, name, "an integer");
    return value ? *value : otherwise;
}

inline float real_attribute(const Node& node, const char* name, float otherwise) {
    const auto* value = find_attribute<float>(node, name, "a number");
    return value ? *value : otherwise;
}

inline std::string text_attribute(const Node& node, const char* name, const std::string& otherwise) {
    const auto* value = find_attribute<std::string>(node, name, "a text");
    return value ? *value : otherwise;
}

inline std::optional<std::vector<std::int64_t>> integers_attribute(const Node& node, const char* name) {
    const auto at = node.attributes.find(name);
    if (at == node.attributes.end()) return std::nullopt;
    // An empty list may be written as an empty list of floats.
    if (const auto* floats = std::get_if<std::vector<float>>(&at->second); floats && floats->empty())
        return std::vector<std::int64_t>{};
    return *find_attribute<std::vector<std::int64_t>>(node, name, "a list of integers");
}

}  // namespace convlens::network
