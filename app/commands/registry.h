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
    // Of the next refresh that shows what was asked for so far.
    virtual void screenshot(const std::string& path) = 0;
    virtual void report(const std::string& path) = 0;  // view report, JSON, after the next refresh
    virtual void resize(int width, int height) = 0;
    virtual void quit() = 0;
    // "shared", "staged", "auto": how maps reach the window from now on.
    virtual void set_interop(const std::string& way) = 0;
    // Bundled files: "model NAME" and "input NAME" take a file name of these, with or without its ending.
    virtual std::vector<std::string> models() const { return {}; }
    virtual std::vector<std::string> pictures() const { return {}; }
    // All messages so far, oldest first.
    virtual std::vector<std::string> messages() const { return {}; }
    // A screenshot or report is still to be made; a script waits for it.
    virtual bool busy() const { return false; }
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

// Words separated by blanks; "double quotes" hold blanks, and \" in them is a quote, \\ a backslash; # at the
// start of a word starts a comment. Throws Error(bad_parameter) for an open quote.
std::vector<std::string> split_line(std::string_view line);
// Runs one line (empty lines and comments do nothing). Throws Error(bad_parameter) for an unknown command:
// names the nearest one.
void run_line(CommandContext& context, std::string_view line);
// The names nearest to a misspelt one come into the sentence: "unknown command "laier": did you mean layer?"
std::string nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace convlens::commands
