#include "app/cli/window_state.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace convlens::cli {
namespace {

// One "key=value" a line. `visit(key, field, least, most)` for numbers, so that loading and saving can't
// drift apart.
template <class State, class Visit>
void visit_numbers(State& state, Visit visit) {
    visit("width", state.width, 200, 16384);
    visit("height", state.height, 100, 16384);
    visit("left_width", state.view.left_width, 0, 4096);
    visit("right_width", state.view.right_width, 0, 4096);
    visit("strip_height", state.view.strip_height, 0, 4096);
    visit("foot_height", state.view.foot_height, 0, 4096);
    visit("foot_split", state.view.foot_split, 0, 1);
    visit("font_scale", state.view.font_scale, 0.5, 4);
}

}  // namespace

std::string window_state_path() {
    const char* config = std::getenv("XDG_CONFIG_HOME");
    if (config != nullptr && *config != '\0') return std::string(config) + "/convlens/state";
    const char* home = std::getenv("HOME");
    return home != nullptr && *home != '\0' ? std::string(home) + "/.config/convlens/state" : "";
}

WindowState load_window_state(const std::string& path) {
    WindowState state;
    std::ifstream file(path);
    std::string line;
    for (int lines = 0; lines < 100 && std::getline(file, line); ++lines) {
        const auto equals = line.find('=');
        if (equals == std::string::npos) continue;
        const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
        if (key == "model") state.model = value;
        if (key == "input") state.input = value;
        double number = 0;
        const auto result = std::from_chars(value.data(), value.data() + value.size(), number);
        if (result.ec != std::errc{} || !std::isfinite(number)) continue;
        visit_numbers(state, [&](const char* name, auto& field, double least, double most) {
            using Field = std::remove_reference_t<decltype(field)>;
            if (key == name && number >= least && number <= most) field = static_cast<Field>(number);
        });
        if (key == "right_tab" && (number == 0 || number == 1))
            state.view.right_tab = static_cast<commands::RightTab>(number);
        if (key == "foot_view" && (number == 0 || number == 1))
            state.view.foot_view = static_cast<commands::FootView>(number);
    }
    return state;
}

bool save_window_state(const std::string& path, const WindowState& state) {
    if (path.empty()) return false;
    std::error_code error;
    const std::filesystem::path target(path);
    std::filesystem::create_directories(target.parent_path(), error);
    const std::filesystem::path fresh = target.string() + ".new";
    {
        std::ofstream file(fresh);
        visit_numbers(state, [&](const char* name, const auto& field, double, double) {
            file << name << '=' << field << '\n';
        });
        file << "right_tab=" << static_cast<int>(state.view.right_tab) << '\n'
             << "foot_view=" << static_cast<int>(state.view.foot_view) << '\n';
        if (state.model.find('\n') == std::string::npos) file << "model=" << state.model << '\n';
        if (state.input.find('\n') == std::string::npos) file << "input=" << state.input << '\n';
        file.flush();
        if (!file) {
            std::filesystem::remove(fresh, error);
            return false;
        }
    }
    std::filesystem::rename(fresh, target, error);
    return !error;
}

}  // namespace convlens::cli
