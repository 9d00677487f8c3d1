// A file of commands, one a line, that drives the program without a window or beside one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/registry.h"

namespace convlens::commands {

// The loop around calls advance() before each refresh. Lines run at once; a line waits until what the lines
// before it changed is shown (a model, an input, a mode), until its own `wait` is over, and until screenshots
// are written. Every error names FILE:LINE.
class Script {
  public:
    // Checks quotes and command names of all lines. Throws Error(bad_parameter).
    static Script parse(const std::string& text, const std::string& name);
    static Script load(const std::string& path);

    bool done() const { return next_ == lines_.size() && !wait_; }
    // Runs lines until one has to wait; `now_ms`: any steady clock. Throws Error: the failed line, or a wait
    // of more than the patience.
    void advance(CommandContext& context, double now_ms);
    void set_patience(double milliseconds) { patience_ms_ = milliseconds; }

  private:
    struct Line {
        int number = 0;
        std::string text;
        std::vector<std::string> words;
    };
    struct Wait {
        enum class Kind { shown, passes, measured, expect } kind = Kind::shown;
        std::uint64_t requests = 0;  // of the engine, to be taken up first
        std::int64_t passes = 0;
        std::optional<std::uint64_t> from_pass;  // when they had been taken up
        double since_ms = 0;
    };
    void begin(const Line& line, CommandContext& context, double now_ms);
    bool over(CommandContext& context);
    [[noreturn]] void fail(const Line& line, const std::string& text) const;

    std::string name_;
    std::vector<Line> lines_;
    std::size_t next_ = 0;
    std::size_t waiting_line_ = 0;
    std::optional<Wait> wait_;
    double patience_ms_ = 120000;
};

}  // namespace convlens::commands
