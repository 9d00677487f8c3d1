// What the window remembers from one start to the next: size, panes, model, input.
#pragma once

#include <string>

#include "app/commands/view_state.h"

namespace convlens::cli {

struct WindowState {
    int width = 0, height = 0;  // 0: never saved
    std::string model, input;
    commands::ViewState view;  // only what is worth remembering: pane sizes, range policy, tabs
};

// $XDG_CONFIG_HOME/convlens/state, else ~/.config/convlens/state; empty without either.
std::string window_state_path();
// A missing, broken or unreadable file gives the defaults; values out of range are left out.
WindowState load_window_state(const std::string& path);
// Never throws: a state that can't be saved is no reason to fail. False then.
bool save_window_state(const std::string& path, const WindowState& state);

}  // namespace convlens::cli
