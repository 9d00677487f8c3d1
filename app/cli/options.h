// What the command line asked for, as plain values: main.cpp fills them, the subcommands read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convlens::cli {

// Exit statuses of the program.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;     // failed at run time: no memory, a full disk, no Vulkan
inline constexpr int exit_bad_usage = 2;  // an unknown option, a broken picture or model

// Options that every subcommand takes.
struct CommonOptions {
    std::string backend = "auto";  // auto, cpu, cuda
    int device = -1;               // -1: the first suitable one
    int threads = 0;               // 0: one a core
    std::uint64_t seed = 1;
    bool validation = false;  // Vulkan validation layers
    bool verbose = false;
};

struct ViewOptions : CommonOptions {
    std::string model;  // path of an ONNX file; empty: the window's last one, else the bundled photo network
    std::string input;  // SRC of input::open_source; empty: the window's last one, else a bundled photo
    int width = 0, height = 0;     // 0: the window's last size, else 1600 x 900
    std::string script;            // file of commands; empty: none
    std::string interop = "auto";  // auto, shared, staged
    bool headless = false;         // off-screen, needs no display
    int frames = 60;               // headless: refreshes after the first pass
    bool sync = false;             // headless: one refresh for each finished pass, deterministic
    std::string screenshot;        // PNG of the last refresh; empty: none
    std::string report;            // JSON "convlens.view/1"; "-": standard output; empty: none
};

struct RunOptions : CommonOptions {
    std::string model;
    std::vector<std::string> inputs;  // at least one SRC
    std::string precision = "fp32";
    std::string mode = "explore";         // explore, lean
    std::vector<std::string> algorithms;  // NAME or LAYER=NAME
    int batch = 1;                        // repeats the picture
    int top = 5;
    int passes = 0;      // timed passes at most; 0: 20, with profile 100
    double seconds = 0;  // and at most about this long, but one pass at least; 0: 3, with profile 15
    int side = -1;  // networks of any picture size: longer side in pixels; 0 no limit, -1 the model's default
    std::string json;       // "-": standard output; empty: none
    std::string dump_maps;  // folder; empty: none
    std::string trace;      // Chrome trace JSON; "-": standard output; empty: none
    std::string picture;    // PNG of an output that is a picture; empty: none
    bool explain = false;
    bool profile = false;
};

struct BenchOptions : CommonOptions {
    std::string suite;                // ops, paper, models; empty: ops, with models named models
    std::vector<std::string> models;  // suite models: bundled names or ONNX files; empty: the bundled ones
    std::string layers;               // suite ops: a list of layers; empty: the bundled one of the backend
    std::string filter;               // part of the names that are wanted
    std::string precision = "fp32";
    std::string direction = "fwd";        // fwd, bwd_data, bwd_filter, all
    std::vector<std::string> algorithms;  // suites ops and paper: rows or families; empty: all
    int batch = 0;                        // suite models; 0: 1, or what the file says
    int side = 0;                         // suite models, of pictures of any size; 0: the model's default
    double seconds = 0;                   // of samples of a layer, of passes of a network; 0: 2
    bool peers = false;
    bool cold = false;            // suites ops and paper: times with cold caches too
    bool remember = false;        // suites ops and paper: into the user's cache of plans
    std::string json, csv, html;  // "-": standard output; empty: none
};

struct InfoOptions : CommonOptions {
    std::string json;
};

struct ConformanceOptions : CommonOptions {
    std::string folder;
    std::string json;
};

}  // namespace convlens::cli
