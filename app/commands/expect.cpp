// Assertions for scripts: `expect WHAT VALUE` fails with what is there instead.
#include "app/commands/arguments.h"

namespace convlens::commands {
namespace {

void compare(const std::string& what, const std::string& actual, const std::string& wanted) {
    if (actual != wanted) refuse("expect " + what + ": it is \"" + actual + "\", not \"" + wanted + "\"");
}

const engine::LayerInfo& layer_of(const CommandContext& context, const std::string& name) {
    const auto& network = network_of(context);
    return network.layers[static_cast<std::size_t>(layer_index(network, name))];
}

void expect_layer(CommandContext& context, Arguments a) {
    const auto& network = network_of(context);
    const int layer = context.view.layer;
    const bool valid = layer >= 0 && layer < static_cast<int>(network.layers.size());
    compare("layer", valid ? network.layers[static_cast<std::size_t>(layer)].name : "none", a[0]);
}

void expect_measured(CommandContext& context, Arguments a) {
    for (const auto& row : layer_of(context, a[0]).rows)
        if (row.applicable && !row.median_ms)
            refuse("expect measured: " + row.name + " of " + a[0] + " has no time; write before: measure " +
                   a[0]);
}

void expect_top(CommandContext& context, Arguments a) {
    const auto& top = context.snapshot->outputs.top;
    compare("top", top.empty() ? "" : top[0].label, a[0]);
}

void expect_message(CommandContext& context, Arguments a) {
    for (const auto& message : context.host.messages())
        if (message.find(a[0]) != std::string::npos) return;
    refuse("expect message: none holds \"" + a[0] + "\"");
}

struct Expectation {
    const char* what;
    std::size_t arguments;
    void (*run)(CommandContext&, Arguments);
};

constexpr Expectation expectations[] = {
    {"model", 1, [](CommandContext& c, Arguments a) { compare("model", network_of(c).model_name, a[0]); }},
    {"mode", 1,
     [](CommandContext& c, Arguments a) { compare("mode", network::to_string(network_of(c).mode), a[0]); }},
    {"input", 1, [](CommandContext& c, Arguments a) { compare("input", c.snapshot->input_text, a[0]); }},
    {"layer", 1, expect_layer},
    {"layers", 1,
     [](CommandContext& c, Arguments a) {
         compare("layers", std::to_string(network_of(c).layers.size()), a[0]);
     }},
    {"map", 1,
     [](CommandContext& c, Arguments a) {
         compare("map", c.view.map < 0 ? "none" : std::to_string(c.view.map), a[0]);
     }},
    {"algorithm", 2,
     [](CommandContext& c, Arguments a) { compare("algorithm " + a[0], layer_of(c, a[0]).algorithm, a[1]); }},
    {"measured", 1, expect_measured},
    {"top", 1, expect_top},
    {"boxes", 1,
     [](CommandContext& c, Arguments a) {
         compare("boxes", std::to_string(c.snapshot->outputs.boxes.size()), a[0]);
     }},
    {"paused", 1,
     [](CommandContext& c, Arguments a) { compare("paused", c.snapshot->paused ? "yes" : "no", a[0]); }},
    {"message", 1, expect_message},
};

void run_expect(CommandContext& context, Arguments a) {
    std::vector<std::string> names;
    for (const auto& expectation : expectations) {
        names.emplace_back(expectation.what);
        if (a.empty() || a[0] != expectation.what) continue;
        if (a.size() != expectation.arguments + 1)
            refuse("expect " + a[0] + ": " + std::to_string(expectation.arguments) +
                   (expectation.arguments == 1 ? " value is" : " values are") + " needed");
        expectation.run(context, a.subspan(1));
        return;
    }
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
    refuse("expect: say what, one of " + list);
}

constexpr Command rows[] = {
    {"expect", "WHAT VALUE",
     "Script: stops with an error unless WHAT (model, mode, input, layer, map, "
     "algorithm LAYER, top, boxes, measured, paused, message) is VALUE.",
     "", run_expect},
};

}  // namespace

std::span<const Command> expect_commands() { return rows; }

}  // namespace convlens::commands
