#include "app/commands/script.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "app/commands/arguments.h"

namespace convlens::commands {
namespace {

// After these the lines that follow mean the network that comes of it.
bool changes_network(const std::string& command) {
    static constexpr std::array<std::string_view, 9> names = {"interop", "model",    "input", "drop",      "next",
                                                              "previous", "side",  "algorithm", "mode"};
    return std::find(names.begin(), names.end(), command) != names.end();
}

}  // namespace

Script Script::parse(const std::string& text, const std::string& name) {
    Script script;
    script.name_ = name;
    std::istringstream stream(text);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        Line parsed{number, line, {}};
        try {
            parsed.words = split_line(line);
        } catch (const Error& error) {
            script.fail(parsed, error.what());
        }
        if (parsed.words.empty()) continue;
        if (find_command(parsed.words[0]) == nullptr) {
            std::vector<std::string> names;
            for (const auto& command : all_commands()) names.emplace_back(command.name);
            const std::string nearest = nearest_name(parsed.words[0], names);
            script.fail(parsed, "unknown command \"" + parsed.words[0] + "\"" +
                                    (nearest.empty() ? "; `convlens commands` lists all"
                                                     : "; did you mean " + nearest + "?"));
        }
        script.lines_.push_back(std::move(parsed));
    }
    return script;
}

Script Script::load(const std::string& path) {
    const auto unreadable = [&] {
        refuse("script \"" + path + "\" can't be read; give a text file with one command a line");
    };
    std::error_code ignored;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, ignored)) unreadable();
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (file.bad()) unreadable();
    return parse(text, path);
}

void Script::fail(const Line& line, const std::string& text) const {
    refuse(name_ + ":" + std::to_string(line.number) + ": " + text);
}

void Script::advance(CommandContext& context, double now_ms) {
    for (;;) {
        if (wait_) {
            const Line& line = lines_[waiting_line_];
            try {
                if (!over(context)) {
                    if (now_ms - wait_->since_ms > patience_ms_)
                        fail(line, "\"" + line.text + "\" was not done within " +
                                       std::to_string(static_cast<int>(patience_ms_ / 1000)) + " s");
                    return;
                }
            } catch (const Error& error) {
                const std::string text = error.what();
                wait_.reset();
                if (text.rfind(name_ + ":", 0) == 0) throw;
                fail(line, text);
            }
            wait_.reset();
        }
        if (next_ == lines_.size() || context.host.busy()) return;
        waiting_line_ = next_++;
        begin(lines_[waiting_line_], context, now_ms);
    }
}

void Script::begin(const Line& line, CommandContext& context, double now_ms) {
    Wait wait;
    wait.since_ms = now_ms;
    const std::string& command = line.words[0];
    try {
        if (command == "expect") {
            wait.kind = Wait::Kind::expect;
        } else if (command == "wait") {
            if (line.words.size() == 3 && line.words[1] == "passes") {
                wait.kind = Wait::Kind::passes;
                wait.passes = whole_number("wait passes", line.words[2], 0, 1000000);
            } else if (line.words.size() == 2 && line.words[1] == "measured") {
                wait.kind = Wait::Kind::measured;
            } else {
                refuse("wait: write wait passes NUMBER or wait measured");
            }
        } else {
            run_line(context, line.text);
            if (!changes_network(command)) return;
        }
    } catch (const Error& error) {
        fail(line, error.what());
    }
    wait.requests = context.engine.requests();
    wait_ = wait;
}

bool Script::over(CommandContext& context) {
    const engine::Snapshot& shown = *context.snapshot;
    if (shown.requests < wait_->requests) return false;
    if (!wait_->from_pass) {
        wait_->from_pass = shown.pass;
        // A paused network does as many passes as are waited for.
        if (shown.paused && wait_->kind == Wait::Kind::passes)
            for (std::int64_t i = 0; i < wait_->passes; ++i) context.engine.step();
    }
    switch (wait_->kind) {
        case Wait::Kind::shown:
            return true;
        case Wait::Kind::passes:
            return shown.pass >= *wait_->from_pass + static_cast<std::uint64_t>(wait_->passes);
        case Wait::Kind::measured:
            return !shown.measuring;
        case Wait::Kind::expect:
            break;
    }
    try {
        run_line(context, lines_[waiting_line_].text);
        return true;
    } catch (const Error&) {
        // Descriptions follow the passes within a moment.
        if (shown.paused || shown.network == nullptr || shown.pass >= *wait_->from_pass + 2) throw;
        return false;
    }
}

}  // namespace convlens::commands
