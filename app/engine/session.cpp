#include "app/engine/session.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "app/engine/clock.h"

namespace convlens::engine {
namespace {

constexpr double info_interval_ms = 250;      // between copies of the network's description
constexpr double unasked_error_flops = 40e6;  // the naive reference takes about 10 ms for these

std::uint64_t next_generation() {
    static std::atomic<std::uint64_t> counter{0};
    return ++counter;
}

AlgorithmRow row_of(const Candidate& candidate) {
    AlgorithmRow row;
    row.name = candidate.algorithm;
    row.applicable = candidate.applicable;
    row.reason = candidate.reason;
    row.error_class = to_string(candidate.error_class);
    row.deterministic = candidate.deterministic;
    row.workspace_bytes = candidate.workspace_bytes;
    return row;
}

}  // namespace

Session::Session(Context& context, std::shared_ptr<const network::Model> model, const SessionOptions& options,
                 input::FramePtr frame)
    : context_(context),
      model_(std::move(model)),
      options_(options),
      frame_(std::move(frame)),
      preprocessing_(input::parse_preprocessing(model_->metadata())),
      meaning_(read_output_meaning(*model_)),
      timer_(context) {
    if (model_->inputs().size() != 1)
        throw Error(Status::bad_parameter,
                    model_->name() + " has " + std::to_string(model_->inputs().size()) +
                        " inputs; the window runs networks with one picture input: choose another model");
    input_ = prepare(*frame_);
    network::ExecutorOptions plan;
    plan.mode = options_.mode;
    plan.algorithms = options_.algorithms;
    plan.arenas = options_.arenas;
    plan.pinned = options_.pinned;
    plan.allocator = options_.allocator;
    plan.precision = options_.precision;
    plan.input_dims[model_->inputs()[0].name] = input_.dims;
    executor_ = std::make_unique<network::Executor>(context_, model_, plan);
    const auto inputs = executor_->input_tensors();
    const TensorDesc& desc = executor_->tensors()[static_cast<std::size_t>(inputs.at(0))].desc;
    if (desc.elements() != static_cast<std::int64_t>(input_.nchw.size()))
        throw Error(Status::bad_parameter, model_->name() + " wants an input of " + desc.dims.text() +
                                               "; a picture gives " + input_.dims.text() +
                                               ": choose a model with three input channels");
    const std::size_t layers = executor_->layers().size();
    rows_.resize(layers);
    statistics_version_.assign(layers, 0);
    layer_statistics_.resize(layers);
    uploaded_.assign(static_cast<std::size_t>(options_.arenas), 0);
    generation_ = next_generation();
}

Dims Session::wanted_dims() const {
    Dims dims;
    for (const auto& dim : model_->inputs()[0].dims) dims.push_back(dim.value);
    return dims;
}

input::NetworkInput Session::prepare(const input::Frame& frame) const {
    int side = options_.side_limit;
    if (side <= 0 && context_.backend() == Backend::cpu) side = input::default_side_limit(model_->metadata());
    // One scale of the pyramid: faces of a fifth of the picture's shorter side fill the window.
    const double smallest_face = std::max(static_cast<double>(preprocessing_.pyramid_smallest),
                                          std::min(frame.width, frame.height) / 5.0);
    return input::preprocess(frame, preprocessing_, wanted_dims(), side, smallest_face);
}

bool Session::take_frame(input::FramePtr frame) {
    auto prepared = prepare(*frame);
    if (!(prepared.dims == input_.dims)) return false;
    input_ = std::move(prepared);
    frame_ = std::move(frame);
    ++data_version_;
    return true;
}

int Session::first_output(int layer) const {
    const auto& layers = executor_->layers();
    if (layer < 0 || layer >= static_cast<int>(layers.size())) return -1;
    const auto& outputs = layers[static_cast<std::size_t>(layer)].outputs;
    return outputs.empty() ? -1 : outputs[0];
}

bool Session::shows(int layer) const {
    const int tensor = first_output(layer);
    return tensor < 0 || executor_->tensors()[static_cast<std::size_t>(tensor)].kept;
}

int Session::find_layer(const std::string& name) const {
    const auto& layers = executor_->layers();
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (layers[i].name == name) return static_cast<int>(i);
    return -1;
}

std::string Session::own_choice(int layer) const {
    std::string first;
    for (const auto& candidate : executor_->layer_candidates(layer)) {
        if (!candidate.applicable || !admits(options_.precision, candidate.error_class)) continue;
        if (candidate.preferred) return candidate.algorithm;
        if (first.empty()) first = candidate.algorithm;
    }
    return first;
}

void Session::set_algorithm(const std::string& layer, const std::string& algorithm) {
    const bool own = algorithm == "auto";
    if (layer == "*") {
        int changed = 0;
        std::string reason = "no layer lists it";
        for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
            list_rows(i);
            const std::string name = own ? own_choice(i) : algorithm;
            for (const auto& row : rows_[static_cast<std::size_t>(i)].rows) {
                if (row.name != name) continue;
                if (!row.applicable) {
                    reason = row.reason;
                } else {
                    if (executor_->layers()[static_cast<std::size_t>(i)].plan.algorithm != name)
                        executor_->set_algorithm(i, name);
                    ++changed;
                }
            }
        }
        if (changed == 0)
            throw Error(Status::not_supported,
                        "no layer of " + model_->name() + " can use " + algorithm + " (" + reason + ")");
        options_.algorithms.clear();
        if (!own) options_.algorithms["*"] = algorithm;
    } else {
        const int index = find_layer(layer);
        if (index < 0)
            throw Error(Status::bad_parameter, model_->name() + " has no layer " + layer +
                                                   " in this mode; the table of layers shows the names");
        executor_->set_algorithm(index, own ? own_choice(index) : algorithm);
        rows_[static_cast<std::size_t>(index)].asked = true;
        if (own)
            options_.algorithms.erase(layer);
        else
            options_.algorithms[layer] = algorithm;
    }
    generation_ = next_generation();
    info_changed_ = true;
    info_built_ms_ = 0;
    ++data_version_;
    timer_.reset();
    timer_.set_warmup(1);
}

// A picture goes to a device once for each arena; nothing writes over it there.
void Session::set_input(int arena) {
    std::uint64_t& uploaded = uploaded_[static_cast<std::size_t>(arena)];
    if (uploaded == data_version_ && context_.backend() != Backend::cpu) return;
    executor_->set_input(0, input_.nchw.data(), arena);
    uploaded = data_version_;
}

void Session::want_values(int tensor, std::vector<std::int64_t> offsets) {
    wanted_tensor_ = -1;
    if (tensor < 0 || tensor >= static_cast<int>(executor_->tensors().size())) return;
    const TensorDesc& desc = executor_->tensors()[static_cast<std::size_t>(tensor)].desc;
    const auto elements = static_cast<std::int64_t>(desc.bytes() / sizeof(float)) - desc.offset;
    std::erase_if(offsets, [&](std::int64_t offset) { return offset < 0 || offset >= elements; });
    offsets.resize(std::min(offsets.size(), most_wanted));
    std::sort(offsets.begin(), offsets.end());
    wanted_tensor_ = tensor;
    wanted_offsets_ = std::move(offsets);
}

void Session::fetch_wanted(Snapshot& snapshot, int arena) const {
    if (wanted_tensor_ < 0 || wanted_offsets_.empty()) return;
    snapshot.fetched_tensor = wanted_tensor_;
    snapshot.fetched_offsets = wanted_offsets_;
    snapshot.fetched_values = executor_->gather(wanted_tensor_, arena, wanted_offsets_);
}

void Session::run(int arena) {
    set_input(arena);
    timer_.run(*executor_, arena);
    last_arena_ = arena;
}

void Session::list_rows(int layer) {
    LayerRows& rows = rows_[static_cast<std::size_t>(layer)];
    if (rows.listed) return;
    rows.listed = true;
    for (const auto& candidate : executor_->layer_candidates(layer)) rows.rows.push_back(row_of(candidate));
    info_changed_ = true;
}

void Session::list_more_rows(const Selection& selection, bool thorough) {
    if (selection.layer >= 0 && selection.layer < static_cast<int>(rows_.size()) &&
        !rows_[static_cast<std::size_t>(selection.layer)].listed) {
        list_rows(selection.layer);
        info_built_ms_ = 0;
    }
    const double start = now_ms();
    while (next_listed_ < rows_.size() && (thorough || now_ms() - start < in_turn_budget_ms)) {
        list_rows(static_cast<int>(next_listed_++));
        if (next_listed_ == rows_.size()) info_built_ms_ = 0;
    }
}

void Session::build_info() {
    auto info = std::make_shared<NetworkInfo>();
    info->generation = generation_;
    info->model_name = model_->name();
    info->model_path = model_->path();
    info->device_text = context_.device_text();
    info->backend = to_string(context_.backend());
    info->mode = options_.mode;
    info->precision = to_string(options_.precision);
    info->memory = executor_->memory();
    info->arena_bytes = executor_->arena_bytes();
    info->metadata = model_->metadata();
    info->inputs = executor_->input_tensors();
    info->outputs = executor_->output_tensors();
    for (const auto& t : executor_->tensors())
        info->tensors.push_back({t.name, t.desc, t.bytes, t.address, t.first_layer, t.last_layer, t.kept,
                                 t.is_input, t.is_output, t.alias_of});
    const auto& layers = executor_->layers();
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const network::Layer& layer = layers[i];
        LayerInfo l;
        l.name = layer.name;
        l.op = layer.op;
        l.category = layer.category;
        l.summary = layer.summary;
        l.algorithm = layer.plan.algorithm;
        l.error_class = to_string(layer.plan.error_class);
        l.fused = layer.fused;
        l.inputs = layer.inputs;
        l.outputs = layer.outputs;
        l.flops = layer.plan.work.flops;
        l.executed_flops = layer.plan.work.executed_flops;
        l.bytes = layer.plan.work.bytes;
        l.workspace_bytes = layer.plan.workspace_bytes;
        l.weights_bytes = layer.weights_bytes;
        l.rows = rows_[i].rows;
        for (auto& row : l.rows) {
            row.active = row.name == l.algorithm;
            const auto found = rows_[i].figures.find(row.name);
            if (found == rows_[i].figures.end()) continue;
            row.median_ms = found->second.median_ms;
            row.p10_ms = found->second.p10_ms;
            row.p90_ms = found->second.p90_ms;
            row.samples = found->second.samples;
            row.max_error = found->second.max_error;
        }
        info->layers.push_back(std::move(l));
    }
    info_ = std::move(info);
    info_changed_ = false;
    info_built_ms_ = now_ms();
}

std::shared_ptr<const NetworkInfo> Session::info(const Selection& selection, bool thorough) {
    list_more_rows(selection, thorough);
    if (info_ == nullptr || (info_changed_ && (thorough || now_ms() - info_built_ms_ > info_interval_ms)))
        build_info();
    return info_;
}

void Session::fill(Snapshot& snapshot, const Selection& selection, bool thorough) {
    snapshot.network = info(selection, thorough);
    snapshot.frame = frame_;
    snapshot.seen = input_.seen;
    snapshot.times = std::make_shared<const measure::PassTimes>(timer_.times());
    const auto& tensors = executor_->tensors();
    snapshot.host.assign(tensors.size(), nullptr);
    snapshot.address.assign(tensors.size(), 0);
    snapshot.layer_statistics.clear();
    if (last_arena_ < 0) return;
    snapshot.arena = last_arena_;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i].kept || tensors[i].desc.type != DataType::f32) continue;
        if (context_.backend() == Backend::cpu)
            snapshot.host[i] = executor_->data(static_cast<int>(i), last_arena_);
        snapshot.address[i] = executor_->device_address(static_cast<int>(i), last_arena_);
    }
    if (context_.backend() != Backend::cpu) fetch_wanted(snapshot, last_arena_);
    take_statistics(selection, last_arena_, thorough);
    snapshot.statistics_layer = selection.layer;
    snapshot.maps = maps_;
    snapshot.histogram = histogram_;
    snapshot.histogram_map = histogram_map_;
    snapshot.layer_statistics = layer_statistics_;
    snapshot.aggregate_ranges = aggregate_ranges_;
}

void Session::keep_findings(int layer, const std::vector<Finding>& findings) {
    list_rows(layer);
    LayerRows& rows = rows_[static_cast<std::size_t>(layer)];
    for (const auto& finding : findings) {
        Figures& figures = rows.figures[finding.candidate.algorithm];
        if (finding.measured) {
            figures.median_ms = finding.median_ms;
            figures.p10_ms = finding.p10_ms;
            figures.p90_ms = finding.p90_ms;
            figures.samples = finding.samples;
        }
        if (finding.max_error) figures.max_error = finding.max_error;
        if (finding.failure.empty()) continue;
        for (auto& row : rows.rows) {
            if (row.name != finding.candidate.algorithm) continue;
            row.applicable = false;
            row.reason = finding.failure;
        }
    }
    info_changed_ = true;
    info_built_ms_ = 0;
}

bool Session::take_error(int layer) {
    if (layer < 0 || layer >= static_cast<int>(rows_.size()) || last_arena_ < 0) return false;
    LayerRows& rows = rows_[static_cast<std::size_t>(layer)];
    const auto& plan = executor_->layers()[static_cast<std::size_t>(layer)].plan;
    Figures& figures = rows.figures[plan.algorithm];
    if (figures.max_error || figures.error_tried) return false;
    if (!rows.asked && plan.work.flops > unasked_error_flops) return false;
    figures.error_tried = true;
    figures.max_error = executor_->layer_error(layer, last_arena_);
    if (!figures.max_error) return false;
    info_changed_ = true;
    info_built_ms_ = 0;
    return true;
}

}  // namespace convlens::engine
