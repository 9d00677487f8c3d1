#include "tests/ui/synthetic.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "kernels/cpu/thread_pool.h"

namespace convlens::ui::test {

namespace {

LayerSpec conv(const std::string& name, std::int64_t c, std::int64_t side, const std::string& summary,
               bool depthwise) {
    return {name,
            "Conv",
            depthwise ? "depthwise" : "convolution",
            summary,
            depthwise ? "depthwise" : "pointwise",
            {1, c, side, side},
            true,
            7};
}

void add_block(std::vector<LayerSpec>& layers, const std::string& block, std::int64_t in, std::int64_t out,
               std::int64_t expand, std::int64_t side, int stride, bool residual) {
    const std::int64_t wide = in * expand, small = side / stride;
    const auto with_bn = [&](LayerSpec layer, const std::string& part, bool relu) {
        const Dims dims = layer.dims;
        layers.push_back(std::move(layer));
        layers.push_back(
            {block + "." + part + ".bn", "BatchNormalization", "normalisation", "", "direct", dims, true, 2});
        if (relu)
            layers.push_back(
                {block + "." + part + ".relu6", "Clip", "activation", "0 to 6", "direct", dims, false, 1});
    };
    if (expand > 1) with_bn(conv(block + ".expand.conv", wide, side, "1\u00d71", false), "expand", true);
    with_bn(
        conv(block + ".dw.conv", wide, small,
             "3\u00d73, stride " + std::to_string(stride) + ", " + std::to_string(wide) + " groups", true),
        "dw", true);
    with_bn(conv(block + ".project.conv", out, small, "1\u00d71", false), "project", false);
    if (residual)
        layers.push_back(
            {block + ".add", "Add", "elementwise", "", "direct", {1, out, small, small}, true, 1});
}

// Waves of different direction and length for each map, with noise; some maps empty.
void fill_maps(float* data, const TensorDesc& desc, bool signed_values, std::uint32_t seed) {
    const std::int64_t channels = desc.rank() > 1 ? desc.dims[1] : 1;
    const std::int64_t h = desc.rank() > 2 ? desc.dims[2] : 1, w = desc.rank() > 3 ? desc.dims[3] : 1;
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform;
    for (std::int64_t c = 0; c < channels; ++c) {
        const float fx = uniform(random) * 14 - 7, fy = uniform(random) * 14 - 7, phase = uniform(random) * 6;
        const float strength = c % 19 == 3 && !signed_values ? 0 : std::exp(normal(random)),
                    noise = 0.15f * strength;
        const float cx = uniform(random), cy = uniform(random);
        for (std::int64_t y = 0; y < h; ++y) {
            for (std::int64_t x = 0; x < w; ++x) {
                const float u = static_cast<float>(x) / static_cast<float>(w),
                            v = static_cast<float>(y) / static_cast<float>(h);
                const float bump = std::exp(-8 * ((u - cx) * (u - cx) + (v - cy) * (v - cy)));
                float value =
                    strength * std::sin(fx * u + fy * v + phase) * (0.3f + bump) + noise * normal(random);
                if (!signed_values) value = std::clamp(value, 0.0f, 6.0f);
                const std::int64_t at = c * desc.strides[desc.rank() > 1 ? 1 : 0] +
                                        (desc.rank() > 2 ? y * desc.strides[2] : 0) +
                                        (desc.rank() > 3 ? x * desc.strides[3] : 0);
                data[at] = value;
            }
        }
    }
}

std::vector<engine::AlgorithmRow> rows_of(const LayerSpec& spec) {
    static const char* names[] = {"depthwise",    "direct",       "implicit_gemm", "im2col_gemm",
                                  "winograd_2x2", "winograd_4x4", "pointwise"};
    static const char* reasons[] = {"",
                                    "",
                                    "",
                                    "",
                                    "the stride is 2; Winograd needs stride 1",
                                    "the stride is 2; Winograd needs stride 1",
                                    "the filter is 3\u00d73; pointwise needs 1\u00d71"};
    std::vector<engine::AlgorithmRow> rows;
    for (int i = 0; i < spec.rows; ++i) {
        engine::AlgorithmRow row;
        row.name = names[i % 7];
        row.applicable = reasons[i % 7][0] == '\0';
        row.reason = reasons[i % 7];
        row.active = i == 0;
        row.error_class = i == 1 ? "exact-order" : "fp32";
        if (row.applicable) {
            row.median_ms = 0.021 * (1 + i * 3);
            row.p10_ms = 0.02 * (1 + i * 3);
            row.p90_ms = 0.025 * (1 + i * 3);
            row.samples = 50;
            row.workspace_bytes = i == 3 ? 10800000 : 0;
            row.max_error = i == 1 ? 0 : 2.1e-7;
        }
        rows.push_back(row);
    }
    return rows;
}

}  // namespace

std::vector<LayerSpec> photo_layers() {
    std::vector<LayerSpec> layers;
    layers.push_back(conv("stem.conv", 32, 112, "3\u00d73, stride 2", false));
    layers.push_back(
        {"stem.bn", "BatchNormalization", "normalisation", "", "direct", {1, 32, 112, 112}, true, 2});
    layers.push_back({"stem.relu6", "Clip", "activation", "0 to 6", "direct", {1, 32, 112, 112}, false, 1});
    add_block(layers, "block1", 32, 16, 1, 112, 1, false);
    add_block(layers, "block2", 16, 24, 6, 112, 2, false);
    add_block(layers, "block3", 24, 24, 6, 56, 1, true);
    add_block(layers, "block4", 24, 40, 6, 56, 2, false);
    add_block(layers, "block5", 40, 40, 6, 28, 1, true);
    add_block(layers, "block6", 40, 80, 6, 28, 2, false);
    add_block(layers, "block7", 80, 80, 6, 14, 1, true);
    add_block(layers, "block8", 80, 192, 6, 14, 2, false);
    layers.push_back(conv("head.conv", 1280, 7, "1\u00d71", false));
    layers.push_back({"head.relu6", "Clip", "activation", "0 to 6", "direct", {1, 1280, 7, 7}, false, 1});
    layers.push_back({"pool", "GlobalAveragePool", "pooling", "", "direct", {1, 1280, 1, 1}, false, 1});
    layers.push_back({"fc", "Gemm", "fully_connected", "1280 to 1000", "gemm", {1, 1000}, true, 2});
    layers.push_back({"prob", "Softmax", "softmax", "", "direct", {1, 1000}, false, 1});
    return layers;
}

std::vector<LayerSpec> many_layers(int count) {
    static const char* categories[] = {"convolution", "normalisation", "activation",
                                       "pooling",     "concat",        "transform"};
    std::vector<LayerSpec> layers;
    for (int i = 0; i < count; ++i)
        layers.push_back({"/features/denseblock" + std::to_string(i / 12) + "/denselayer_with_a_long_name_" +
                              std::to_string(i) + "/operation_" + std::to_string(i),
                          "Conv",
                          categories[i % 6],
                          "1\u00d71",
                          "direct",
                          {1, 4 + i % 9, 5 + i % 7, 8 + i % 3},
                          i % 6 != 2,
                          3});
    return layers;
}

SyntheticNetwork::SyntheticNetwork(std::string name, std::vector<LayerSpec> layers, Allocate allocate)
    : info_(std::make_shared<engine::NetworkInfo>()) {
    static std::uint64_t generations = 0;
    info_->generation = ++generations;
    info_->model_name = std::move(name);
    info_->model_path = "assets/models/" + info_->model_name + ".onnx";
    info_->device_text = "AMD EPYC 7B13, 2 threads";
    engine::TensorInfo input;
    input.name = "image";
    input.desc = TensorDesc::channels_last({1, 3, 224, 224});
    input.is_input = true;
    input.first_layer = -1;
    info_->tensors.push_back(input);
    for (const LayerSpec& spec : layers) {
        const int index = static_cast<int>(info_->layers.size());
        engine::LayerInfo layer;
        layer.name = spec.name;
        layer.op = spec.op;
        layer.category = spec.category;
        layer.summary = spec.summary;
        layer.algorithm = spec.algorithm;
        layer.inputs = {index};
        layer.outputs = {index + 1};
        layer.rows = rows_of(spec);
        layer.flops = 2e6 * (1 + index % 7);
        layer.executed_flops = layer.flops * 0.8;
        layer.bytes = 1e5 * (1 + index % 11);
        layer.workspace_bytes = index % 4 == 0 ? 4096 : 0;
        layer.weights_bytes = 1000 * static_cast<std::size_t>(1 + index);
        info_->layers.push_back(layer);
        engine::TensorInfo tensor;
        tensor.name = spec.name;
        tensor.desc = TensorDesc::channels_last(spec.dims);
        tensor.first_layer = index;
        tensor.last_layer = std::min(index + 1 + index % 5, static_cast<int>(layers.size()) - 1);
        info_->tensors.push_back(tensor);
    }
    std::size_t address = 0;
    for (std::size_t i = 0; i < info_->tensors.size(); ++i) {
        engine::TensorInfo& tensor = info_->tensors[i];
        tensor.bytes = tensor.desc.bytes();
        tensor.address = address;
        address += tensor.bytes;
        const std::size_t floats = tensor.bytes / sizeof(float);
        if (allocate) {
            data_.push_back(allocate(floats));
        } else {
            owned_.emplace_back(floats);
            data_.push_back({owned_.back().data(), 0x1000 + tensor.address});
        }
        fill_maps(data_.back().data, tensor.desc, i > 0 && layers[i - 1].signed_values,
                  static_cast<std::uint32_t>(i + 1));
    }
    info_->arena_bytes = address;
    info_->memory.weights_bytes = 19500000;
    info_->memory.activations_bytes = address;
    info_->memory.workspace_bytes = 10800000;
    info_->memory.arenas = 2;
    info_->memory.peak_bytes = 2 * address + 30300000;
    info_->inputs = {0};
    info_->outputs = {static_cast<int>(info_->tensors.size()) - 1};
    info_->tensors.back().is_output = true;
}

std::shared_ptr<engine::Snapshot> SyntheticNetwork::snapshot(int layer, std::int64_t map,
                                                             std::uint64_t pass) const {
    auto snapshot = std::make_shared<engine::Snapshot>();
    snapshot->pass = pass;
    snapshot->network = info_;
    for (const Memory& memory : data_) {
        snapshot->host.push_back(memory.data);
        snapshot->address.push_back(memory.address);
    }
    auto times = std::make_shared<measure::PassTimes>();
    double sum = 0;
    for (std::size_t i = 0; i < info_->layers.size(); ++i) {
        const double ms = 0.02 + 0.9 * std::pow(static_cast<double>((i * 7919) % 97) / 97, 3);
        times->layer_ms.push_back({ms, ms * 0.93, ms * 1.2, ms, 240});
        times->layer_cpu_ms.push_back({ms * 1.8, ms * 1.7, ms * 1.9, ms * 1.8, 60});
        sum += ms;
    }
    times->total_ms = {sum * 1.03, sum, sum * 1.2, sum, 240};
    times->sum_layers_ms = sum;
    times->unexplained_ms = sum * 0.03;
    times->clock_cost_ms = 0.00009;
    snapshot->times = times;
    auto frame = std::make_shared<input::Frame>();
    frame->width = 451;
    frame->height = 300;
    frame->name = "chelsea.jpg";
    frame->number = 1;
    for (int y = 0; y < frame->height; ++y)
        for (int x = 0; x < frame->width; ++x)
            frame->rgb.insert(
                frame->rgb.end(),
                {static_cast<std::uint8_t>(x * 255 / 451), static_cast<std::uint8_t>(y * 255 / 300),
                 static_cast<std::uint8_t>((x / 20 + y / 20) % 2 * 120 + 60)});
    snapshot->frame = frame;
    snapshot->seen = {75, 0, 375, 300};
    snapshot->input_text = "chelsea.jpg";
    snapshot->outputs.top = {{285, "Egyptian cat", 0.385},
                             {282, "tiger cat", 0.332},
                             {281, "tabby, tabby cat", 0.163},
                             {287, "lynx, catamount", 0.034},
                             {728, "plastic bag", 0.002}};
    cpu::ThreadPool pool(1);
    for (std::size_t i = 0; i < info_->layers.size(); ++i) {
        const auto t = static_cast<std::size_t>(info_->layers[i].outputs[0]);
        const TensorDesc& desc = info_->tensors[t].desc;
        std::vector<measure::MapStatistics> maps = measure::map_statistics(data_[t].data, desc, 0, pool);
        snapshot->layer_statistics.push_back(measure::joined(maps));
        if (static_cast<int>(i) != layer) continue;
        snapshot->statistics_layer = layer;
        snapshot->histogram = measure::map_histogram(data_[t].data, desc, 0, map, 64);
        snapshot->histogram_map = map;
        snapshot->maps = std::move(maps);
    }
    return snapshot;
}

std::uint64_t NullCanvas::atlas(const char*, int width, int height) {
    if (width < 1 || height < 1 || width > 16384 || height > 16384)
        throw std::logic_error("size of an atlas");
    width_ = std::max(width_, width);
    height_ = std::max(height_, height);
    return 2;
}

void NullCanvas::fill(const char* slot, std::span<const render::AtlasTile> tiles, bool, std::uint32_t) {
    for (const render::AtlasTile& tile : tiles) {
        const bool sound = tile.width > 0 && tile.height > 0 && tile.channels > 0 && tile.dst_w > 0 &&
                           tile.dst_h > 0 && tile.address != 0 && tile.lo <= tile.hi && tile.dst_x >= 0 &&
                           tile.dst_y >= 0 && tile.dst_x + tile.dst_w <= width_ &&
                           tile.dst_y + tile.dst_h <= height_ && tile.source_x >= 0 &&
                           tile.source_x + tile.source_w <= static_cast<float>(tile.width) * 1.001f;
        if (!sound) throw std::logic_error(std::string("a tile of ") + slot);
    }
    fills_.push_back({slot, {tiles.begin(), tiles.end()}});
}

std::uint64_t NullCanvas::picture(const char*, std::uint64_t, int width, int height,
                                  const std::uint8_t* rgb) {
    if (width < 1 || height < 1 || !rgb) throw std::logic_error("a picture");
    return 3;
}

void NullCanvas::clear_rect(float, float, float w, float h, std::uint32_t) {
    if (!(w >= 0) || !(h >= 0)) throw std::logic_error("a cleared rectangle");
}

int NullCanvas::fills(const std::string& slot) const {
    return static_cast<int>(
        std::count_if(fills_.begin(), fills_.end(), [&](const Fill& f) { return f.slot == slot; }));
}

std::vector<render::AtlasTile> NullCanvas::last_tiles(const std::string& slot) const {
    for (auto f = fills_.rbegin(); f != fills_.rend(); ++f)
        if (f->slot == slot) return f->tiles;
    return {};
}

}  // namespace convlens::ui::test
