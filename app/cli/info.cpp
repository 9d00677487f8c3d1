// `convlens info`: what is on, what is off, and what would turn it on.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/assets.h"
#include "app/cli/devices.h"
#include "app/cli/listing.h"
#include "app/cli/text.h"
#include "app/input/file.h"
#include "app/interop/interop.h"
#include "app/render/renderer.h"
#include "convlens/convlens.hpp"

namespace convlens::cli {
namespace {

struct Feature {
    std::string name;
    bool available = false;
    std::string text;  // what it is, or why it is off and what would turn it on
};

// The renderer of a window, and the way from compute to it.
std::vector<Feature> graphics(const InfoOptions& options) {
    std::vector<Feature> list;
    try {
        Devices devices(options, 0);
        render::RendererOptions wanted;
        wanted.width = wanted.height = 16;
        wanted.validation = options.validation;
        devices.choose_graphics(wanted);
        const auto renderer = render::Renderer::create(wanted);
        std::string text = renderer->device_text();
        if (const auto [used, budget] = renderer->memory_budget(); budget > 0)
            text += ", memory for this program " + byte_text(static_cast<double>(budget));
        list.push_back({"vulkan", true, text});
        const auto context = devices.open(*renderer);
        const interop::Interop link(*renderer, devices.compute(context), interop::Request::automatic);
        list.push_back(
            {"interop", true,
             std::string(interop::to_string(link.arena()->mode())) + ": " + link.arena()->reason()});
    } catch (const std::exception& error) {
        if (list.empty()) list.push_back({"vulkan", false, error.what()});
        list.resize(1);
        list.push_back({"interop", false, error.what()});
    }
    return list;
}

std::vector<Feature> cuda() {
    std::string why_none;
    std::vector<Feature> list;
    for (const DeviceInfo& device : cuda_devices(&why_none))
        list.push_back({"cuda:" + std::to_string(device.number), true,
                        device.name + ", compute capability " + std::to_string(device.compute_major) + "." +
                            std::to_string(device.compute_minor) + ", " +
                            std::to_string(device.multiprocessors) + " multiprocessors, " +
                            byte_text(static_cast<double>(device.memory_bytes)) + ", PCI " + device.pci});
    if (list.empty()) list.push_back({"cuda", false, why_none});
    return list;
}

Feature display() {
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"})
        if (const char* value = std::getenv(name); value != nullptr && value[0] != '\0')
            return {"display", true, std::string(name) + "=" + value};
    return {"display", false, "DISPLAY is not set: view needs --headless, or start it in a desktop session"};
}

Feature assets() {
    const std::string folder = assets_folder();
    if (!folder.empty()) return {"assets", true, folder};
    return {"assets", false,
            "the bundled models were not found: set CONVLENS_ASSETS to the folder that holds models/"};
}

std::vector<Feature> features(const InfoOptions& options) {
    const Context context({.backend = Backend::cpu, .threads = options.threads});
    std::vector<Feature> list;
    list.push_back({"cpu", true, context.device_text()});
    for (Feature& feature : cuda()) list.push_back(std::move(feature));
    for (Feature& feature : graphics(options)) list.push_back(std::move(feature));
    list.push_back(display());
    list.push_back(assets());
    for (const PeerInfo& peer : peers()) list.push_back({peer.name, peer.found, peer.text});
    list.push_back({"camera, video", false, "not in this version: pictures, folders and patterns are read"});
    return list;
}

std::string compiler() {
#if defined(__clang__)
    return std::string("clang ") + __clang_version__;
#else
    return std::string("g++ ") + __VERSION__;
#endif
}

std::string info_json(const std::vector<Feature>& list) {
    using Json = nlohmann::ordered_json;
    Json json = {{"schema", "convlens.info/1"}, {"version", version()}, {"compiler", compiler()}};
    json["features"] = Json::array();
    for (const Feature& feature : list)
        json["features"].push_back({{"name", feature.name},
                                    {"available", feature.available},
                                    {"text", feature.available ? Json(feature.text) : Json()},
                                    {"reason", feature.available ? Json() : Json(feature.text)}});
    json["models"] = Json::array();
    for (const std::string& path : bundled_models()) json["models"].push_back(path);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int info(const InfoOptions& options) {
    const std::vector<Feature> list = features(options);
    if (options.json != "-") {
        TextTable table({{"feature"}, {""}, {"", false, 300}});
        for (const Feature& feature : list)
            table.add({feature.name, feature.available ? "on" : "off", feature.text});
        input::write_file("-",
                          "convlens " + std::string(version()) + ", " + compiler() + "\n\n" + table.text());
    }
    if (!options.json.empty()) input::write_file(options.json, info_json(list));
    return exit_done;
}

}  // namespace convlens::cli
