// Commands to the program around: files, size, end; and the waits, which only a script can do.
#include "app/commands/arguments.h"

namespace convlens::commands {
namespace {

void run_screenshot(CommandContext& context, Arguments a) {
    expect_count("screenshot", a, 1, 1);
    context.host.screenshot(a[0]);
}

void run_report(CommandContext& context, Arguments a) {
    expect_count("report", a, 1, 1);
    context.host.report(a[0]);
}

void run_size(CommandContext& context, Arguments a) {
    expect_count("size", a, 2, 2);
    const auto width = whole_number("size: width", a[0], 16, 8192);
    context.host.resize(static_cast<int>(width),
                        static_cast<int>(whole_number("size: height", a[1], 16, 8192)));
}

void run_interop(CommandContext& context, Arguments a) {
    expect_count("interop", a, 1, 1);
    if (a[0] != "shared" && a[0] != "staged" && a[0] != "auto")
        refuse("interop: " + std::string(a[0]) + " is not one of shared, staged, auto");
    context.host.set_interop(std::string(a[0]));
}

void run_quit(CommandContext& context, Arguments a) {
    expect_count("quit", a, 0, 0);
    context.host.quit();
}

void run_wait(CommandContext&, Arguments) {
    refuse("wait: only a script can wait; put the line into a file and open it with --script FILE");
}

constexpr Command rows[] = {
    {"screenshot", "FILE", "Writes a PNG of the window as it looks after all commands so far.", "F12",
     run_screenshot},
    {"report", "FILE", "Writes the view report as JSON; - is standard output.", "", run_report},
    {"size", "WIDTH HEIGHT", "Resizes the window, in pixels.", "", run_size},
    {"interop", "shared|staged|auto",
     "Shaders read the memory in which the network computes, or a copy that each refresh makes of what it "
     "shows.",
     "", run_interop},
    {"wait", "passes NUMBER|measured",
     "Script only: waits for passes after all commands so far, or for the "
     "measurement's end.",
     "", run_wait},
    {"quit", "", "Ends the program.", "Ctrl+Q", run_quit},
};

}  // namespace

std::span<const Command> host_commands() { return rows; }

}  // namespace convlens::commands
