// The program `convlens`: reads the command line and calls a subcommand.
//
// Exit status: 0 done, 1 failed at run time, 2 bad usage or bad input. Results go to standard output,
// messages to standard error, one sentence each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <new>

#include "app/cli/assets.h"
#include "app/cli/bench.h"
#include "app/cli/listing.h"
#include "app/cli/message.h"
#include "app/cli/options.h"
#include "app/cli/run.h"
#include "app/cli/view.h"
#include "convlens/convlens.hpp"

namespace convlens::cli {
namespace {

constexpr const char* subcommands[] = {"view", "run", "info", "commands", "conformance", "bench", "train"};

// Checks that don't repeat themselves in the help.
template <class T>
CLI::Validator range(T low, T high) {
    return CLI::Range(low, high).description("");
}
CLI::Validator one_of(const std::vector<std::string>& words) { return CLI::IsMember(words).description(""); }

struct Program {
    CLI::App app{
        "ConvLens runs a convolutional network and shows what happens inside: every feature map, each "
        "layer's time and "
        "memory, and how each algorithm does the same work at what price. Without a command the window "
        "opens.",
        "convlens"};
    CommonOptions common;
    ViewOptions view;
    RunOptions run;
    BenchOptions bench;
    InfoOptions info;
    ConformanceOptions conformance;
    std::string size;
    CLI::App* view_command = nullptr;
    CLI::App* run_command = nullptr;
    CLI::App* bench_command = nullptr;
    CLI::App* info_command = nullptr;
    CLI::App* commands_command = nullptr;
    CLI::App* conformance_command = nullptr;
    CLI::App* absent_command = nullptr;

    Program() {
        app.set_version_flag("--version", std::string("convlens ") + version());
        app.require_subcommand(0, 1);
        app.failure_message(CLI::FailureMessage::simple);
        add_common();
        add_view();
        add_run();
        add_bench();
        add_others();
        for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
        absent_command->fallthrough(false);
    }

    void add_common() {
        app.add_option("--backend", common.backend, "where networks run: auto, cpu or cuda")
            ->type_name("NAME")
            ->check(one_of({"auto", "cpu", "cuda"}))
            ->group("Everywhere");
        app.add_option("--device", common.device,
                       "number of the CUDA device; on the processor of the Vulkan device that draws")
            ->type_name("N")
            ->check(range(0, 1024))
            ->group("Everywhere");
        app.add_option("--threads", common.threads, "threads in all; 0: one a core")
            ->type_name("N")
            ->check(range(0, 1024))
            ->group("Everywhere");
        app.add_option("--seed", common.seed, "of noise patterns and of measurements on random data (1)")
            ->type_name("N")
            ->group("Everywhere");
        app.add_flag("--validation", common.validation, "check Vulkan's use by its validation layers")
            ->group("Everywhere");
        app.add_flag("--verbose", common.verbose, "what was planned and timed (run), every message (view)")
            ->group("Everywhere");
    }

    void add_view() {
        view_command = app.add_subcommand("view", "the window, or pictures of it");
        CLI::App& c = *view_command;
        c.add_option("MODEL", view.model, "an ONNX file, or the name of a bundled model")->type_name("");
        c.add_option("--input", view.input, "a picture, a folder, or pattern:NAME")->type_name("SRC");
        c.add_option("--size", size, "WxH in pixels (1600x900)")->type_name("WxH");
        c.add_option("--script", view.script, "a file of commands (convlens commands)")->type_name("FILE");
        c.add_option("--interop", view.interop, "how maps reach the window: auto, shared or staged")
            ->type_name("auto|shared|staged")
            ->check(one_of({"auto", "shared", "staged"}));
        c.add_flag("--headless", view.headless, "draw off-screen; needs no display");
        c.add_option("--frames", view.frames, "headless: refreshes after the first pass (60)")
            ->type_name("N")
            ->check(range(1, 1000000));
        c.add_flag("--sync", view.sync, "headless: one refresh for each finished pass, deterministic");
        c.add_option("--screenshot", view.screenshot, "PNG of the last refresh")->type_name("FILE");
        c.add_option("--report", view.report, "JSON report; - is standard output")->type_name("FILE");
    }

    void add_run() {
        run_command = app.add_subcommand("run", "pictures through a model: answers, times, memory");
        CLI::App& c = *run_command;
        c.add_option("MODEL", run.model, "an ONNX file, or the name of a bundled model")
            ->type_name("")
            ->required();
        c.add_option("INPUT", run.inputs, "pictures, folders, pattern:NAME")->type_name("")->required();
        c.add_option("--precision", run.precision, "fp32, tf32, fp16 or bf16")->type_name("NAME");
        c.add_option("--mode", run.mode, "explore keeps every tensor, lean fuses and reuses memory (explore)")
            ->type_name("explore|lean");
        c.add_option("--algo", run.algorithms, "NAME where it can be used, or LAYER=NAME; several times")
            ->type_name("NAME|LAYER=NAME")
            ->allow_extra_args(false);
        c.add_option("--batch", run.batch, "the picture so many times")
            ->type_name("N")
            ->check(range(1, 4096));
        c.add_option("--top", run.top, "classes shown (5)")->type_name("K")->check(range(1, 1000000));
        c.add_option("--side", run.side, "networks of any picture size: longer side in pixels; 0: as it is")
            ->type_name("N")
            ->check(range(0, 16384));
        c.add_option("--passes", run.passes, "timed passes at most (20, with --profile 100)")
            ->type_name("N")
            ->check(range(1, 1000000));
        c.add_option("--seconds", run.seconds, "and about this long at most (3, with --profile 15)")
            ->type_name("S")
            ->check(range(0.001, 86400.0));
        c.add_option("--json", run.json, "report; - is standard output, which then holds nothing else")
            ->type_name("FILE");
        c.add_option("--dump-maps", run.dump_maps, "folder for every tensor as an NPY file, and index.json")
            ->type_name("DIR");
        c.add_option("--picture", run.picture, "PNG of an output that is a picture")->type_name("FILE");
        c.add_option("--trace", run.trace, "times of some passes for chrome://tracing or ui.perfetto.dev")
            ->type_name("FILE");
        c.add_flag("--explain", run.explain, "each layer's algorithms, or why not");
        c.add_flag("--profile", run.profile, "more passes, and spread, CPU time and rates of each layer");
    }

    void add_bench() {
        bench_command =
            app.add_subcommand("bench", "every algorithm on stated layers, or whole networks, timed");
        CLI::App& c = *bench_command;
        c.add_option("MODEL", bench.models,
                     "suite models: ONNX files or names of bundled models (all bundled)")
            ->type_name("");
        c.add_option("--suite", bench.suite,
                     "ops: layers by every algorithm; paper: those of the cuDNN paper at batch 16 to 128; "
                     "models: networks (ops)")
            ->type_name("ops|paper|models");
        c.add_option("--filter", bench.filter, "only layers or models with this in their name")
            ->type_name("TEXT");
        c.add_option("--layers", bench.layers, "a list of layers as assets/layers/*.csv")->type_name("FILE");
        c.add_option("--precision", bench.precision,
                     "fp32, tf32, fp16 or bf16; the last two take such tensors")
            ->type_name("NAME");
        c.add_option("--direction", bench.direction, "fwd, bwd_data, bwd_filter or all (fwd)")
            ->type_name("NAME");
        c.add_option("--algo", bench.algorithms, "only this row or family; several times")
            ->type_name("NAME")
            ->allow_extra_args(false);
        c.add_option("--batch", bench.batch, "of networks")->type_name("N")->check(range(1, 4096));
        c.add_option("--side", bench.side, "of networks of any picture size")
            ->type_name("N")
            ->check(range(1, 16384));
        c.add_option("--seconds", bench.seconds, "about this long for a layer or a network (2)")
            ->type_name("S")
            ->check(range(0.001, 86400.0));
        c.add_flag("--peers", bench.peers,
                   "oneDNN or cuDNN beside the own algorithms, where it is installed");
        c.add_flag("--cold", bench.cold, "times with cold caches too, in a column of their own");
        c.add_flag("--remember", bench.remember, "keep what was quickest in the user's cache of plans");
        c.add_option("--json", bench.json, "report; - is standard output, which then holds nothing else")
            ->type_name("FILE");
        c.add_option("--csv", bench.csv, "the same rows; - is standard output")->type_name("FILE");
        c.add_option("--html", bench.html, "one page with plots and tables; - is standard output")
            ->type_name("FILE");
    }

    void add_others() {
        info_command =
            app.add_subcommand("info", "devices, versions, what is available and why the rest is not");
        info_command->add_option("--json", info.json, "report; - is standard output")->type_name("FILE");
        commands_command = app.add_subcommand("commands", "every command of the window, with its help");
        conformance_command = app.add_subcommand("conformance", "runs the ONNX backend tests below a folder");
        conformance_command
            ->add_option("DIR", conformance.folder, "such as /usr/share/libonnx-testdata/data/node")
            ->type_name("")
            ->required();
        conformance_command->add_option("--json", conformance.json, "report; - is standard output")
            ->type_name("FILE");
        absent_command = app.add_subcommand("train", "not in this version");
        absent_command->allow_extras();
    }
};

void parse_size(const std::string& text, ViewOptions& view) {
    if (text.empty()) return;
    const char* end = text.data() + text.size();
    const auto width = std::from_chars(text.data(), end, view.width);
    bool good = width.ec == std::errc{} && width.ptr != end && *width.ptr == 'x';
    if (good) {
        const auto height = std::from_chars(width.ptr + 1, end, view.height);
        good = height.ec == std::errc{} && height.ptr == end;
    }
    if (!good || view.width < 1 || view.height < 1 || view.width > 16384 || view.height > 16384)
        throw Error(Status::bad_parameter,
                    "--size '" + text + "': WxH in pixels is wanted, from 1x1 to 16384x16384");
}

int dispatch(Program& p) {
    static_cast<CommonOptions&>(p.view) = p.common;
    static_cast<CommonOptions&>(p.run) = p.common;
    static_cast<CommonOptions&>(p.info) = p.common;
    static_cast<CommonOptions&>(p.conformance) = p.common;
    static_cast<CommonOptions&>(p.bench) = p.common;
    if (p.absent_command->parsed())
        throw Error(Status::not_supported,
                    "'convlens train' is not in this version: see convlens --help for what is");
    if (p.commands_command->parsed()) return list_commands();
    if (p.info_command->parsed()) return info(p.info);
    if (p.conformance_command->parsed()) return conformance(p.conformance);
    if (p.run_command->parsed()) return run(p.run);
    if (p.bench_command->parsed()) return bench(p.bench);
    parse_size(p.size, p.view);
    if (!p.view.model.empty()) p.view.model = resolve_model(p.view.model);
    return view(p.view);
}

// Without a command, options and a model are those of view. A word that is neither is a mistyped command.
std::vector<std::string> arguments_of(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto is_command = [](const std::string& word) {
        return std::find(std::begin(subcommands), std::end(subcommands), word) != std::end(subcommands);
    };
    if (std::any_of(words.begin(), words.end(), is_command)) return words;
    const bool asks = std::any_of(words.begin(), words.end(), [](const std::string& w) {
        return w == "--help" || w == "-h" || w == "--version";
    });
    if (asks) return words;
    if (!words.empty() && words[0][0] != '-' && words[0].find('/') == std::string::npos &&
        std::filesystem::path(words[0]).extension().empty() && bundled_model(words[0]).empty() &&
        !std::filesystem::exists(words[0]))
        throw Error(
            Status::bad_parameter,
            "'" + words[0] +
                "' is no command: view, run, bench, info, commands or conformance; see convlens --help");
    words.insert(words.begin(), "view");
    return words;
}

std::string one_line(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

int guarded_main(int argc, char** argv) {
    Program program;
    std::vector<std::string> words = arguments_of(argc, argv);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
        program.app.parse(words);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
            return program.app.exit(error);
        std::string command = "convlens";
        for (const CLI::App* parsed : program.app.get_subcommands()) command += " " + parsed->get_name();
        complain(one_line(error.what()) + "; see " + command + " --help");
        return exit_bad_usage;
    }
    return dispatch(program);
}

}  // namespace
}  // namespace convlens::cli

int main(int argc, char** argv) {
    using namespace convlens;
    int status = cli::exit_failed;
    try {
        status = cli::guarded_main(argc, argv);
    } catch (const Error& error) {
        cli::complain(error.what());
        status = error.status() == Status::runtime_failure ? cli::exit_failed : cli::exit_bad_usage;
    } catch (const std::bad_alloc&) {
        cli::complain("not enough memory: take a smaller picture, batch or model");
    } catch (const std::exception& error) {
        cli::complain(error.what());
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        cli::complain("standard output can't be written: is the disk full?");
        if (status == cli::exit_done) status = cli::exit_failed;
    }
    return status;
}
