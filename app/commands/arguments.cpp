#include "app/commands/arguments.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace convlens::commands {
namespace {

std::string bounds_text(double least, double most) {
    const auto text = [](double value) {
        char buffer[32];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
        return std::string(buffer, end);
    };
    if (most >= 9e15) return "from " + text(least);
    return "from " + text(least) + " to " + text(most);
}

}  // namespace

void refuse(const std::string& text) { throw Error(Status::bad_parameter, text); }

void expect_count(const char* command, Arguments arguments, std::size_t least, std::size_t most) {
    if (arguments.size() >= least && arguments.size() <= most) return;
    const Command* row = find_command(command);
    const std::string form = row != nullptr && row->arguments[0] != '\0'
                                 ? std::string(command) + " " + row->arguments
                                 : std::string(command) + " (without arguments)";
    refuse(std::string(command) + ": " + std::to_string(arguments.size()) +
           (arguments.size() == 1 ? " argument was" : " arguments were") + " given; write " + form);
}

std::int64_t whole_number(const std::string& what, const std::string& text, std::int64_t least,
                          std::int64_t most) {
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || value < least || value > most)
        refuse(what + ": \"" + text + "\" is not a whole number " +
               bounds_text(static_cast<double>(least), static_cast<double>(most)));
    return value;
}

double decimal_number(const std::string& what, const std::string& text, double least, double most) {
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || !std::isfinite(value) ||
        value < least || value > most)
        refuse(what + ": \"" + text + "\" is not a number " + bounds_text(least, most));
    return value;
}

int one_of(const std::string& what, const std::string& text, std::initializer_list<const char*> words) {
    int index = 0;
    std::string list;
    for (const char* word : words) {
        if (text == word) return index;
        list += (index == 0                                    ? ""
                 : index + 1 == static_cast<int>(words.size()) ? " or "
                                                               : ", ") +
                std::string(word);
        ++index;
    }
    refuse(what + ": \"" + text + "\" is not one of " + list);
}

const engine::NetworkInfo& network_of(const CommandContext& context) {
    if (context.snapshot == nullptr || context.snapshot->network == nullptr)
        refuse("no network is shown yet; open one with: model NAME");
    return *context.snapshot->network;
}

int layer_index(const engine::NetworkInfo& network, const std::string& text, Prefer prefer) {
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const auto last = static_cast<std::int64_t>(network.layers.size()) - 1;
    if (number && prefer == Prefer::number) return static_cast<int>(whole_number("layer", text, 0, last));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
        if (network.layers[i].name == text) return static_cast<int>(i);
        names.push_back(network.layers[i].name);
    }
    if (number) return static_cast<int>(whole_number("layer", text, 0, last));
    const std::string nearest = nearest_name(text, names);
    refuse(network.model_name + " has no layer \"" + text + "\"" +
           (nearest.empty() ? "; the table of layers shows the names" : "; did you mean " + nearest + "?"));
}

std::int64_t map_count(const engine::NetworkInfo& network, int layer) {
    if (layer < 0 || layer >= static_cast<int>(network.layers.size())) return 0;
    const auto& outputs = network.layers[static_cast<std::size_t>(layer)].outputs;
    if (outputs.empty()) return 0;
    const TensorDesc& desc = network.tensors[static_cast<std::size_t>(outputs[0])].desc;
    return desc.rank() == 0 ? 0 : desc.rank() == 1 ? desc.dims[0] : desc.dims[1];
}

void select(CommandContext& context, int layer, std::int64_t map) {
    context.view.layer = layer;
    context.view.map = map;
    context.engine.select(layer, map);
}

}  // namespace convlens::commands
