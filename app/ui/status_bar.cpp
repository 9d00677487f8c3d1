#include "app/ui/status_bar.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

constexpr float control_height = 26;

std::string file_stem(const std::string& path) {
    const auto slash = path.find_last_of('/');
    std::string name = slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
    if (name.size() > 5 && name.ends_with(".onnx")) name.resize(name.size() - 5);
    return name;
}

// A list of files under a chip; emits `COMMAND PATH`.
void draw_chooser(Scene& scene, const Rect& chip, const char* id, const char* command,
                  const std::vector<std::string>& paths, const std::string& current, const char* empty_text) {
    ImGui::SetNextWindowPos({chip.x0, chip.y1 + scene.s(4)}, ImGuiCond_Appearing);
    ImGui::SetNextWindowSizeConstraints({scene.s(200), 0}, {scene.s(460), scene.s(420)});
    if (!ImGui::BeginPopup(id)) return;
    if (paths.empty()) ImGui::TextDisabled("%s", empty_text);
    for (const std::string& path : paths) {
        const std::string name = file_stem(path);
        ImGui::PushID(path.c_str());
        if (ImGui::Selectable(name.empty() ? path.c_str() : name.c_str(), name == current || path == current))
            scene.emit(std::string(command) + " " + quoted(path));
        ImGui::PopID();
    }
    ImGui::EndPopup();
}

void memory_tip(Scene& scene) {
    const network::MemoryReport memory = scene.figures.memory();
    Tip t(scene);
    t.line({{"Memory at its peak", colors::strong, scene.theme().strong}});
    t.pair("weights", format_bytes(static_cast<double>(memory.weights_bytes)));
    t.pair("activations",
           format_bytes(static_cast<double>(memory.activations_bytes)) +
               (memory.arenas > 1 ? " \u00d7 " + std::to_string(memory.arenas) + " arenas" : ""));
    t.pair("workspace", format_bytes(static_cast<double>(memory.workspace_bytes)));
    t.pair("staging (not counted)", format_bytes(scene.figures.staging_bytes()));
    t.pair("viewer (not counted)", format_bytes(scene.figures.viewer_bytes()));
}

void window_tip(Scene& scene) {
    Tip t(scene);
    t.line({{"Refreshes of the window each second", colors::strong, scene.theme().strong}});
    t.pair("its own drawing", format_ms(scene.figures.draw_ms()));
    t.pair("map pictures", format_ms(scene.figures.atlas_ms()));
    t.pair("from input to result", format_ms(scene.figures.latency_ms()));
    const WindowFigures& figures = scene.input.figures;
    if (!scene.view.fixed_figures) {
        t.pair("drawn by", figures.vulkan_device.empty() ? not_measured : figures.vulkan_device);
        t.pair("memory path", figures.interop);
        if (!figures.interop_reason.empty()) t.wrapped(figures.interop_reason, colors::dim);
    }
}

void maps_tip(Scene& scene) {
    const WindowFigures& figures = scene.input.figures;
    Tip t(scene);
    t.line({{"How maps reach the screen: " + figures.interop, colors::strong, scene.theme().strong}});
    if (!figures.interop_reason.empty()) t.wrapped(figures.interop_reason, colors::dim);
    if (figures.interop != "staged") {
        t.pair("copied", "nothing");
        t.wrapped("Click: copy what is shown instead, to see what that costs.", colors::dim);
        return;
    }
    t.pair("copied by a refresh that draws maps", format_bytes(figures.copied_bytes));
    t.pair("its wait for the copy", figures.copied_ms >= 0 ? format_ms(figures.copied_ms) : not_measured);
    t.pair("memory for copies", format_bytes(static_cast<double>(figures.staging_bytes)));
    t.wrapped("Click: share memory where this machine can.", colors::dim);
}

// "staged 1.2 MB 0.4 ms"
std::string maps_text(const WindowFigures& figures) {
    std::string text = figures.interop;
    if (text != "staged" || figures.copied_bytes <= 0) return text;
    text += "\u2009\u2009" + format_bytes(figures.copied_bytes);
    if (figures.copied_ms >= 0) text += "\u2009\u2009" + format_ms(figures.copied_ms);
    return text;
}

void pass_tip(Scene& scene) {
    const measure::Quantiles pass = scene.figures.pass_ms();
    Tip t(scene);
    t.line({{"One pass of the network, median", colors::strong, scene.theme().strong}});
    if (pass.samples > 0) {
        t.pair("p10 to p90", format_ms(pass.p10) + " to " + format_ms(pass.p90));
        t.pair("passes", format_count(pass.samples));
        t.pair("sum of layers", format_ms(scene.figures.sum_layers_ms()));
    } else {
        t.wrapped("Measured after the first passes.", colors::dim);
    }
}

struct Lamp {
    const char* text;
    ImU32 color;
    std::string tip;
};

Lamp lamp_of(const Scene& scene) {
    if (scene.snapshot.measuring)
        return {"measuring", colors::accent, "The finder times the algorithms of a layer; live times wait."};
    if (scene.snapshot.paused) return {"paused", colors::dim, "No passes run. Space goes on."};
    if (scene.figures.contended())
        return {"contended", colors::warning,
                "Other programs use the processor: times are longer than the work explains."};
    if (scene.snapshot.health && !scene.view.fixed_figures) {
        const DeviceHealth& health = *scene.snapshot.health;
        const std::string state =
            (health.clock_mhz > 0
                 ? std::to_string(health.clock_mhz) + " of " + std::to_string(health.max_clock_mhz) + " MHz"
                 : std::string()) +
            (health.temperature_c > 0 ? ", " + std::to_string(health.temperature_c) + " \u00b0C"
                                      : std::string());
        if (!health.throttled_by.empty())
            return {"throttled", colors::warning,
                    "The GPU runs slower because of its " + health.throttled_by + ": " + state + "."};
        return {"steady", colors::good, "The GPU runs freely: " + state + "."};
    }
    if (scene.network != nullptr && scene.network->backend != "cpu")
        return {"steady", colors::good, "The times shown are the GPU's own."};
    return {"steady", colors::good, "The processor's time explains the times shown."};
}

// Readings at the right end; returns the left border of what was drawn.
float draw_readings(Scene& scene, const Rect& place, float least_x) {
    const Theme& theme = scene.theme();
    const float mid = (place.y0 + place.y1) / 2;
    float x = place.x1 - scene.s(12);
    const Rect help{x - scene.s(control_height), mid - scene.s(13), x, mid + scene.s(13)};
    if (help.x0 < least_x) return place.x1;
    if (button(scene, "help", help, "?", {true, scene.view.help_open, "Keys and commands (H)"}))
        scene.emit(scene.view.help_open ? "help off" : "help on");
    x = help.x0 - scene.s(12);
    const Lamp lamp = lamp_of(scene);
    const float lamp_w = scene.s(14) + scene.paint.width(lamp.text, theme.text);
    if (x - lamp_w < least_x) return help.x0;
    const Rect lamp_place{x - lamp_w, place.y0, x, place.y1};
    ImGui::GetWindowDrawList()->AddCircleFilled({lamp_place.x0 + scene.s(4), mid}, scene.theme().scale * 4,
                                                lamp.color);
    Rect lamp_text = lamp_place;
    lamp_text.take_left(scene.s(14));
    scene.paint.text_in(lamp_text, lamp.text, colors::dim, theme.text, Align::right);
    if (touch("lamp", lamp_place).hovered) tip(scene, lamp.tip);
    x = lamp_place.x0 - scene.s(14);

    struct Item {
        const char* id;
        const char* label;
        std::string value;
        void (*tip)(Scene&);
        const char* click = nullptr;  // a command
    };
    const measure::Quantiles pass = scene.figures.pass_ms();
    const double fps = scene.figures.fps();
    // The way to the screen is of this machine: pictures with set figures leave it out.
    const Item items[] = {
        {"maps", "maps", scene.view.fixed_figures ? "" : maps_text(scene.input.figures), maps_tip,
         scene.input.figures.interop == "staged" ? "interop auto" : "interop staged"},
        {"memory", "memory",
         scene.network ? format_bytes(static_cast<double>(scene.figures.memory().peak_bytes)) : not_measured,
         memory_tip},
        {"window", "window", fps > 0 ? format_figure(fps) + "\u2009fps" : not_measured, window_tip},
        {"pass", "pass", pass.samples > 0 ? format_ms(pass.median) : not_measured, pass_tip},
    };
    // The pass stays longest.
    constexpr std::size_t count = std::size(items);
    std::array<bool, count> shown{};
    float room = x - least_x;
    for (std::size_t i = count; i-- > 0;) {
        const Item& item = items[i];
        if (item.value.empty()) continue;
        const float w = scene.paint.width(item.label, theme.text) + scene.s(6) +
                        scene.paint.width(item.value, theme.strong) + scene.s(14);
        if (w > room) break;
        room -= w;
        shown[i] = true;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!shown[i]) continue;
        const Item& item = items[i];
        const float value_w = scene.paint.width(item.value, theme.strong);
        const float label_w = scene.paint.width(item.label, theme.text);
        const Rect area{x - value_w - scene.s(6) - label_w, place.y0, x, place.y1};
        scene.paint.text_in({area.x0, area.y0, area.x0 + label_w + 1, area.y1}, item.label, colors::dim,
                            theme.text);
        scene.paint.text_in({x - value_w - 1, area.y0, x, area.y1}, item.value, colors::strong, theme.strong,
                            Align::right);
        const Touch touched = touch(item.id, area);
        if (touched.hovered) item.tip(scene);
        if (touched.clicked && item.click != nullptr) scene.emit(item.click);
        x = area.x0 - scene.s(14);
    }
    return x;
}

// A chip as wide as its text, at most `most`; false: no room. Advances x.
bool place_chip(Scene& scene, float& x, float right, float mid, std::string_view label,
                std::string_view value, bool menu, float most, Rect& place) {
    const float least =
        scene.paint.width(label, scene.theme().text) + scene.s(menu ? 40.0f + 36.0f : 26.0f + 110.0f);
    float w = std::min(chip_width(scene, label, value, menu), scene.s(most));
    w = std::min(std::max(w, std::min(least, w)), right - x);
    if (w < std::min(least, chip_width(scene, label, value, menu))) return false;
    place = {x, mid - scene.s(13), x + w, mid + scene.s(13)};
    x += w + scene.s(8);
    return true;
}

void draw_mode(Scene& scene, float& x, float right, float mid) {
    const Segment modes[] = {
        {"Explore", true, "Keeps every tensor, fuses nothing: all maps can be seen (M)"},
        {"Lean", true,
         "Folds, fuses and reuses memory: the price of real use; the selected layer stays "
         "visible (M)"}};
    const float w = segmented_width(scene, modes);
    if (x + w > right || !scene.network) return;
    const int current = scene.network->mode == network::Mode::lean ? 1 : 0;
    const int clicked =
        segmented(scene, "mode", x, mid - scene.s(13), scene.s(control_height), modes, current);
    if (clicked >= 0 && clicked != current) scene.emit(clicked == 1 ? "mode lean" : "mode explore");
    x += w + scene.s(8);
}

void draw_precision(Scene& scene, float& x, float right, float mid) {
    static constexpr const char* reason =
        "The window computes in 32-bit floating point; on a GPU convlens run takes --precision.";
    const Segment all[] = {
        {"FP32", true, "32-bit floating point"}, {"TF32", false, reason}, {"FP16", false, reason}};
    const float w = segmented_width(scene, all);
    if (x + w > right) return;
    segmented(scene, "precision", x, mid - scene.s(13), scene.s(control_height), all, 0);
    x += w + scene.s(8);
}

}  // namespace

void draw_status_bar(Scene& scene, const Rect& place) {
    const float mid = (place.y0 + place.y1) / 2;
    float x = place.x0 + scene.s(12);
    const float title_w = scene.paint.width("ConvLens", scene.theme().title);
    if (place.w() > scene.s(560)) {
        scene.paint.text_in({x, place.y0, x + title_w + 1, place.y1}, "ConvLens", colors::strong,
                            scene.theme().title);
        x += title_w + scene.s(16);
    }
    // The readings keep a third of a narrow bar, what they need of a wide one.
    const float right =
        draw_readings(scene, place, x + std::min(place.w() * 0.3f, scene.s(420))) - scene.s(4);
    Rect chip_place;
    const std::string model = scene.network ? scene.network->model_name : "none";
    if (place_chip(scene, x, right, mid, "Model", model, true, 260, chip_place) &&
        chip(scene, "model chip", chip_place, "Model", model, true))
        ImGui::OpenPopup("models");
    draw_chooser(scene, chip_place, "models", "model", scene.input.models, model,
                 "No models found. Drop an .onnx file here.");
    const std::string source = scene.snapshot.input_text.empty() ? "none" : scene.snapshot.input_text;
    if (place_chip(scene, x, right, mid, "Input", source, true, 220, chip_place) &&
        chip(scene, "input chip", chip_place, "Input", source, true))
        ImGui::OpenPopup("inputs");
    draw_chooser(scene, chip_place, "inputs", "input", scene.input.pictures, file_stem(source),
                 "No pictures found. Drop one here.");
    draw_mode(scene, x, right, mid);
    if (scene.network) {
        const std::string device = scene.view.fixed_figures ? "processor" : scene.network->device_text;
        if (place_chip(scene, x, right, mid, "Device", device, false, 260, chip_place))
            chip(scene, "device chip", chip_place, "Device", device, false);
    }
    draw_precision(scene, x, right, mid);
}

}  // namespace convlens::ui
