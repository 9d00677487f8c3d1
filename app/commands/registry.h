// Everything a menu can do, as text: one registry that scripts, keys, panels and tests use.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/view_state.h"
#include "app/engine/engine.h"

namespace convlens::commands {

// What only the program around can do. The window and the headless runner implement it.
class Host {
  public:
    virtual ~Host() = default;
    virtual void screenshot(const std::string& path) = 0;  // of the next refresh
    virtual void report(const std::string& path) = 0;      // view report, JSON
    virtual void resize(int width, int height) = 0;
    virtual void quit() = 0;
};

// A command takes effect at once on the view state and by request on the engine.
struct CommandContext {
    engine::Engine& engine;
    ViewState& view;
    Host& host;
    engine::SnapshotPtr snapshot;  // what is shown now; network may be null
};

struct Command {
    const char* name;       // "layer", "algorithm", "wait"
    const char* arguments;  // "NAME|NUMBER|next|previous"
    const char* help;       // one sentence
    const char* key;        // "" or as shown: "Right"
    // Throws Error(bad_parameter) with one sentence naming the argument and the remedy.
    void (*run)(CommandContext& context, std::span<const std::string> arguments);
};

std::span<const Command> all_commands();
const Command* find_command(std::string_view name);

// Words separated by blanks; "double quotes" hold blanks; # starts a comment. Throws Error(bad_parameter) for
// an open quote.
std::vector<std::string> split_line(std::string_view line);
// Runs one line (empty lines and comments do nothing). Throws Error(bad_parameter) for an unknown command:
// names the nearest one.
void run_line(CommandContext& context, std::string_view line);

}  // namespace convlens::commands
