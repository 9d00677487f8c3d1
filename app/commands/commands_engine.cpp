// Commands that change what is computed.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/commands/arguments.h"

namespace convlens::commands {
namespace {

// A bundled file by its name, or the path as it is.
std::string resolved(const std::string& text, const std::vector<std::string>& bundled) {
    for (const auto& path : bundled) {
        const std::filesystem::path file(path);
        if (file.filename() == text || file.stem() == text) return path;
    }
    return text;
}

void run_model(CommandContext& context, Arguments a) {
    expect_count("model", a, 1, 1);
    const std::string path = resolved(a[0], context.host.models());
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
        std::vector<std::string> names;
        std::string list;
        for (const auto& bundled : context.host.models()) {
            names.push_back(std::filesystem::path(bundled).stem());
            list += (list.empty() ? "" : ", ") + names.back();
        }
        refuse("model: there is no file \"" + a[0] + "\"" +
               (list.empty() ? "; give the path of an ONNX file"
                             : "; give the path of an ONNX file or one of " + list));
    }
    context.engine.open_model(path);
}

void run_input(CommandContext& context, Arguments a) {
    expect_count("input", a, 1, 1);
    context.engine.open_input(resolved(a[0], context.host.pictures()));
}

// What a file that is dropped onto the window means.
void run_drop(CommandContext& context, Arguments a) {
    expect_count("drop", a, 1, 1);
    std::string extension = std::filesystem::path(a[0]).extension();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (extension == ".onnx")
        run_model(context, a);
    else
        context.engine.open_input(a[0]);
}

void run_next(CommandContext& context, Arguments a) {
    expect_count("next", a, 0, 0);
    context.engine.step_input(1);
}

void run_previous(CommandContext& context, Arguments a) {
    expect_count("previous", a, 0, 0);
    context.engine.step_input(-1);
}

void run_side(CommandContext& context, Arguments a) {
    expect_count("side", a, 1, 1);
    context.engine.set_side_limit(a[0] == "auto" ? 0
                                                 : static_cast<int>(whole_number("side", a[0], 12, 16384)));
}

void run_mode(CommandContext& context, Arguments a) {
    expect_count("mode", a, 1, 1);
    context.engine.set_mode(one_of("mode", a[0], {"explore", "lean"}) == 0 ? network::Mode::explore
                                                                           : network::Mode::lean);
}

void run_algorithm(CommandContext& context, Arguments a) {
    expect_count("algorithm", a, 2, 2);
    const auto& network = network_of(context);
    const std::string layer =
        a[0] == "*" ? a[0] : network.layers[static_cast<std::size_t>(layer_index(network, a[0]))].name;
    context.engine.set_algorithm(layer, a[1]);
}

void run_measure(CommandContext& context, Arguments a) {
    expect_count("measure", a, 1, 1);
    if (a[0] == "cancel") {
        context.engine.cancel_measure();
        return;
    }
    const auto& network = network_of(context);
    context.engine.measure_layer(network.layers[static_cast<std::size_t>(layer_index(network, a[0]))].name);
}

void run_pause(CommandContext& context, Arguments a) {
    expect_count("pause", a, 0, 0);
    context.engine.set_paused(true);
}

void run_resume(CommandContext& context, Arguments a) {
    expect_count("resume", a, 0, 0);
    context.engine.set_paused(false);
}

void run_step(CommandContext& context, Arguments a) {
    expect_count("step", a, 0, 0);
    context.engine.step();
}

void run_times(CommandContext& context, Arguments a) {
    expect_count("times", a, 1, 1);
    one_of("times", a[0], {"reset"});
    context.engine.reset_times();
}

constexpr Command rows[] = {
    {"model", "NAME|PATH", "Opens a model: a bundled one by name, or an ONNX file.", "", run_model},
    {"input", "SRC", "Shows the network a picture, a folder, or pattern:NAME.", "", run_input},
    {"drop", "PATH", "As if the file or folder were dropped onto the window: a model or an input.", "",
     run_drop},
    {"next", "", "The next picture of the folder.", "N", run_next},
    {"previous", "", "The previous picture of the folder.", "P", run_previous},
    {"side", "PIXELS|auto", "The longer side to which pictures are brought for networks of any picture size.",
     "", run_side},
    {"mode", "explore|lean", "explore keeps every tensor; lean fuses layers and reuses memory.", "M",
     run_mode},
    {"algorithm", "LAYER|* NAME|auto",
     "The algorithm of a layer, or of every layer that can, from the next "
     "pass on.",
     "", run_algorithm},
    {"measure", "LAYER|cancel", "Times all algorithms of a layer on its present data, or stops that.", "",
     run_measure},
    {"pause", "", "The network waits; maps can still be looked at.", "Space", run_pause},
    {"resume", "", "The network runs on.", "Space", run_resume},
    {"step", "", "One pass while paused.", "S", run_step},
    {"times", "reset", "Forgets the times so far.", "", run_times},
};

}  // namespace

std::span<const Command> engine_commands() { return rows; }

}  // namespace convlens::commands
