// Arguments of commands: numbers, names, choices; each error names the argument and the remedy.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/registry.h"
#include "convlens/error.h"

namespace convlens::commands {

using Arguments = std::span<const std::string>;

[[noreturn]] void refuse(const std::string& text);
// Throws unless there are `least` to `most` arguments.
void expect_count(const char* command, Arguments arguments, std::size_t least, std::size_t most);
// A whole number or a decimal one, nothing after it, within the bounds.
std::int64_t whole_number(const std::string& what, const std::string& text, std::int64_t least,
                          std::int64_t most);
double decimal_number(const std::string& what, const std::string& text, double least, double most);
// One of the words, by index.
int one_of(const std::string& what, const std::string& text, std::initializer_list<const char*> words);

// The network that is shown; throws where none is.
const engine::NetworkInfo& network_of(const CommandContext& context);
// By name, or by number counted from 0. A layer may be named by a number: which of the two comes first is the
// command's choice.
enum class Prefer { name, number };
int layer_index(const engine::NetworkInfo& network, const std::string& text, Prefer prefer = Prefer::name);
// Channels of a layer's first output; 0 where there are none.
std::int64_t map_count(const engine::NetworkInfo& network, int layer);
// Moves the selection of view and engine.
void select(CommandContext& context, int layer, std::int64_t map);

// Rows of the registry, by topic.
std::span<const Command> engine_commands();
std::span<const Command> view_commands();
std::span<const Command> host_commands();
std::span<const Command> expect_commands();

}  // namespace convlens::commands
