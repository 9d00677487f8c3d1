#include "app/ui/keys.h"

#include <algorithm>
#include <string>

namespace convlens::ui {

namespace {

void move_layer(Scene& scene, int to) {
    const int last = static_cast<int>(scene.network->layers.size()) - 1;
    to = std::clamp(to, 0, last);
    if (to != scene.layer) scene.emit("layer " + std::to_string(to));
}

void move_map(Scene& scene, int direction) {
    if (scene.maps.count <= 0) return;
    const std::int64_t from = scene.view.map < 0 ? (direction > 0 ? -1 : 1) : scene.view.map;
    const std::int64_t to = std::clamp<std::int64_t>(from + direction, 0, scene.maps.count - 1);
    if (to != scene.view.map) scene.emit("map " + std::to_string(to));
}

void handle_letter(Scene& scene, ImWchar letter) {
    const bool lean = scene.network && scene.network->mode == network::Mode::lean;
    switch (letter) {
        case ' ':
            scene.emit(scene.snapshot.paused ? "resume" : "pause");
            break;
        case 's':
        case 'S':
            scene.emit("step");
            break;
        case 'n':
        case 'N':
            scene.emit("next");
            break;
        case 'p':
        case 'P':
            scene.emit("previous");
            break;
        case 'f':
        case 'F':
            scene.emit("fit");
            break;
        case 'm':
        case 'M':
            scene.emit(lean ? "mode explore" : "mode lean");
            break;
        case 't':
        case 'T':
            scene.emit(scene.view.foot_view == commands::FootView::charts ? "foot table" : "foot charts");
            break;
        case 'a':
        case 'A':
            scene.emit(scene.view.right_tab == commands::RightTab::algorithms ? "tab statistics"
                                                                              : "tab algorithms");
            break;
        case 'h':
        case 'H':
        case '?':
            scene.emit(scene.view.help_open ? "help off" : "help on");
            break;
        case 'r':
        case 'R':
            scene.emit(scene.view.range == commands::RangePolicy::map     ? "range layer"
                       : scene.view.range == commands::RangePolicy::layer ? "range network"
                                                                          : "range map");
            break;
        default:
            break;
    }
}

bool pressed(ImGuiKey key, bool repeat) {
    const int index = ImGui::GetKeyIndex(key);
    return index >= 0 && ImGui::IsKeyPressed(index, repeat);
}

}  // namespace

void handle_keys(Scene& scene) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.WantTextInput || io.KeyCtrl || io.KeyAlt || io.KeySuper) return;
    for (const ImWchar letter : io.InputQueueCharacters) handle_letter(scene, letter);
    if (pressed(ImGuiKey_Escape, false)) {
        if (scene.view.help_open)
            scene.emit("help off");
        else if (scene.view.map >= 0)
            scene.emit("map none");
    }
    if (pressed(ImGuiKey_Tab, false)) scene.emit(scene.view.sides_hidden ? "sides on" : "sides off");
    if (!scene.network || scene.network->layers.empty()) return;
    if (pressed(ImGuiKey_LeftArrow, true)) move_layer(scene, scene.layer - 1);
    if (pressed(ImGuiKey_RightArrow, true)) move_layer(scene, scene.layer + 1);
    if (pressed(ImGuiKey_Home, false)) move_layer(scene, 0);
    if (pressed(ImGuiKey_End, false)) move_layer(scene, static_cast<int>(scene.network->layers.size()) - 1);
    if (pressed(ImGuiKey_UpArrow, true)) move_map(scene, -1);
    if (pressed(ImGuiKey_DownArrow, true)) move_map(scene, 1);
}

}  // namespace convlens::ui
