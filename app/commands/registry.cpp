#include "app/commands/registry.h"

#include <algorithm>
#include <cctype>

#include "app/commands/arguments.h"

namespace convlens::commands {
namespace {

// Number of letters to change, add, drop or swap.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        std::swap(before, row);
        std::swap(row, next);
    }
    return row[b.size()];
}

const std::vector<Command>& registry() {
    static const std::vector<Command> commands = [] {
        std::vector<Command> all;
        for (const auto& topic : {engine_commands(), view_commands(), host_commands(), expect_commands()})
            all.insert(all.end(), topic.begin(), topic.end());
        return all;
    }();
    return commands;
}

}  // namespace

std::span<const Command> all_commands() { return registry(); }

const Command* find_command(std::string_view name) {
    for (const auto& command : registry())
        if (name == command.name) return &command;
    return nullptr;
}

std::string nearest_name(std::string_view name, std::span<const std::string> names) {
    std::string nearest;
    // Further away than this it would be a guess.
    std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
    for (const auto& candidate : names) {
        const std::size_t distance = edit_distance(name, candidate);
        if (distance >= least) continue;
        least = distance;
        nearest = candidate;
    }
    return nearest;
}

std::vector<std::string> split_line(std::string_view line) {
    std::vector<std::string> words;
    std::size_t i = 0;
    const auto blank = [&](std::size_t at) {
        return std::isspace(static_cast<unsigned char>(line[at])) != 0;
    };
    while (i < line.size()) {
        if (blank(i)) {
            ++i;
            continue;
        }
        if (line[i] == '#') break;
        std::string word;
        while (i < line.size() && !blank(i)) {
            if (line[i] != '"') {
                word += line[i++];
                continue;
            }
            for (++i; i < line.size() && line[i] != '"'; ++i) {
                if (line[i] == '\\' && i + 1 < line.size() && (line[i + 1] == '"' || line[i + 1] == '\\'))
                    ++i;
                word += line[i];
            }
            if (i == line.size()) refuse("a quote is open at the end of the line; close it with \"");
            ++i;
        }
        words.push_back(std::move(word));
    }
    return words;
}

void run_line(CommandContext& context, std::string_view line) {
    const auto words = split_line(line);
    if (words.empty()) return;
    const Command* command = find_command(words[0]);
    if (command == nullptr) {
        std::vector<std::string> names;
        for (const auto& row : registry()) names.emplace_back(row.name);
        const std::string nearest = nearest_name(words[0], names);
        refuse("unknown command \"" + words[0] + "\"" +
               (nearest.empty() ? "; `convlens commands` lists all" : "; did you mean " + nearest + "?"));
    }
    command->run(context, std::span<const std::string>(words).subspan(1));
}

}  // namespace convlens::commands
