#include "primitives/peers/cudnn_search.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

namespace convlens::cudnn {
namespace {

constexpr std::size_t most_engines = 16;
constexpr double most_search_ms = 500;  // then the best so far is taken
constexpr std::int64_t alignment = 16;
constexpr std::array<std::int64_t, 3> ids = {'x', 'w', 'y'};

void must(int status, const char* what) {
    if (status != success)
        throw Error(Status::runtime_failure,
                    std::string("cuDNN: ") + what + " failed: " + library().error_text(status));
}

// One handle a device, never destroyed: at the program's end the driver may be gone before it.
struct Shared {
    std::mutex mutex;
    std::map<int, Handle> handles;
    std::map<std::string, Found> found;
};
Shared& shared() {
    static auto* const made = new Shared;
    return *made;
}

Handle handle_of(int device) {
    Handle& handle = shared().handles[device];
    if (handle == nullptr) must(library().create(&handle), "the making of a handle");
    return handle;
}

// cuDNN wants two spatial axes at least.
Dims with_rows(const Dims& dims, std::int64_t filling, int at) {
    if (dims.rank() != at + 1) return dims;
    Dims result;
    for (int i = 0; i < at; ++i) result.push_back(dims[i]);
    result.push_back(filling);
    result.push_back(dims[at]);
    return result;
}

int type_of(DataType type) {
    return type == DataType::f16 ? data_f16 : type == DataType::bf16 ? data_bf16 : data_f32;
}

Owned tensor_of(const TensorDesc& desc, std::int64_t id) {
    const Dims dims = with_rows(desc.dims, 1, 2);
    const Dims strides = with_rows(desc.strides, desc.strides[2] * desc.dims[2], 2);
    const int type = type_of(desc.type);
    Owned tensor(tensor_descriptor);
    tensor.set(tensor_data_type, data_type, 1, &type);
    tensor.set(tensor_alignment, int64_type, 1, &alignment);
    tensor.set(tensor_dims, int64_type, dims.rank(), dims.begin());
    tensor.set(tensor_strides, int64_type, strides.rank(), strides.begin());
    tensor.set(tensor_id, int64_type, 1, &id);
    must(tensor.finalize() ? success : 1, "the description of a tensor");
    return tensor;
}

Owned convolution_of(const PeerProblem& p) {
    const int compute = data_f32;
    const int mode = p.mode == ConvolutionMode::convolution ? mode_convolution : mode_cross_correlation;
    Owned convolution(convolution_descriptor);
    const auto set = [&](Attribute name, const Dims& values, std::int64_t filling) {
        const Dims all = with_rows(values, filling, 0);
        convolution.set(name, int64_type, all.rank(), all.begin());
    };
    const std::int64_t rank = std::max(p.window.rank(), 2);
    convolution.set(convolution_compute_type, data_type, 1, &compute);
    convolution.set(convolution_mode, convolution_mode_type, 1, &mode);
    convolution.set(convolution_spatial_rank, int64_type, 1, &rank);
    set(convolution_dilations, p.window.dilations, 1);
    set(convolution_strides, p.window.strides, 1);
    set(convolution_pads_begin, p.window.pads_begin, 0);
    set(convolution_pads_end, p.window.pads_end, 0);
    must(convolution.finalize() ? success : 1, "the description of a convolution");
    return convolution;
}

// The convolution as an operation graph of one node, with all that it refers to.
struct Graph {
    Owned x, w, y, convolution, operation, graph;
    bool valid = false;

    Graph(const PeerProblem& p, const TensorDesc& filter, Handle handle)
        : x(tensor_of(p.x, ids[0])),
          w(tensor_of(filter, ids[1])),
          y(tensor_of(p.y, ids[2])),
          convolution(convolution_of(p)) {
        const float alpha = 1, beta = 0;
        const bool fwd = p.direction == PeerDirection::fwd, data = p.direction == PeerDirection::bwd_data;
        operation = Owned(fwd    ? forward_descriptor
                          : data ? backward_data_descriptor
                                 : backward_filter_descriptor);
        const int first = fwd ? forward_alpha : data ? backward_data_alpha : backward_filter_alpha;
        const auto name = [&](int i) { return static_cast<Attribute>(first + i); };
        // The order of the tensors: w x y forward, w dx dy for the data, dw x dy for the filter.
        operation.set(name(0), float_type, 1, &alpha);
        operation.set(name(1), float_type, 1, &beta);
        const std::array<Descriptor, 4> parts = {convolution.get(), w.get(), x.get(), y.get()};
        for (std::size_t i = 0; i < parts.size(); ++i)
            operation.set(name(static_cast<int>(i) + 2), descriptor_type, 1, &parts[i]);
        if (!operation.finalize()) return;
        graph = Owned(graph_descriptor);
        const Descriptor node = operation.get();
        graph.set(graph_handle, handle_type, 1, &handle);
        graph.set(graph_operations, descriptor_type, 1, &node);
        valid = graph.finalize();
    }
};

std::vector<Owned> configurations(const Graph& graph, int mode) {
    Owned heuristic(engine_heuristic_descriptor);
    const Descriptor of = graph.graph.get();
    heuristic.set(heuristic_graph, descriptor_type, 1, &of);
    heuristic.set(heuristic_mode, heuristic_mode_type, 1, &mode);
    if (!heuristic.finalize()) return {};
    std::int64_t count = 0;
    if (library().get_attribute(heuristic.get(), heuristic_results, descriptor_type, 0, &count, nullptr) !=
        success)
        return {};
    std::vector<Owned> list;
    std::vector<Descriptor> raw;
    for (std::int64_t i = 0; i < count; ++i) {
        list.emplace_back(engine_config_descriptor);
        raw.push_back(list.back().get());
    }
    if (library().get_attribute(heuristic.get(), heuristic_results, descriptor_type, count, &count,
                                raw.data()) != success)
        return {};
    list.resize(static_cast<std::size_t>(count));
    return list;
}

std::vector<int> notes_of(const Owned& configuration) {
    const Owned engine(engine_descriptor);
    Descriptor raw = engine.get();
    std::int64_t count = 0;
    if (library().get_attribute(configuration.get(), config_engine, descriptor_type, 1, &count, &raw) !=
        success)
        return {};
    std::vector<int> notes(32);
    if (library().get_attribute(raw, engine_numerical_notes, numerical_note_type, 32, &count, notes.data()) !=
        success)
        return {};
    notes.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, 32)));
    return notes;
}

bool holds(const std::vector<int>& notes, int note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
}

std::unique_ptr<Engine> engine_of(const Owned& configuration, const std::vector<int>& notes, DataType type,
                                  Handle handle) {
    auto engine = std::make_unique<Engine>();
    engine->plan = Owned(execution_plan_descriptor);
    const Descriptor raw = configuration.get();
    engine->plan.set(plan_handle, handle_type, 1, &handle);
    engine->plan.set(plan_config, descriptor_type, 1, &raw);
    if (!engine->plan.finalize()) return nullptr;
    std::int64_t bytes = 0, count = 0;
    must(library().get_attribute(engine->plan.get(), plan_workspace_bytes, int64_type, 1, &count, &bytes),
         "the question for a workspace");
    engine->workspace_bytes = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
    engine->deterministic = !holds(notes, note_nondeterministic);
    engine->error_class = type == DataType::f16    ? ErrorClass::fp16
                          : type == DataType::bf16 ? ErrorClass::bf16
                          : holds(notes, note_down_convert) || holds(notes, note_tensor_core)
                              ? ErrorClass::tf32
                          : holds(notes, note_fft)      ? ErrorClass::fft
                          : holds(notes, note_winograd) ? ErrorClass::winograd
                                                        : ErrorClass::fp32;
    return engine;
}

// Memory of a device for the time of a search.
class Memory {
  public:
    Memory(Device& device, std::size_t bytes)
        : device_(device), data_(bytes > 0 ? device.allocate(bytes) : nullptr) {
        // Numbers of unit scale or less in each type, not zeros, which cost a device less power.
        if (data_ != nullptr) device.fill(data_, 0x3c, bytes);
    }
    ~Memory() { device_.release(data_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    void* data(std::int64_t offset_bytes = 0) const { return static_cast<std::byte*>(data_) + offset_bytes; }

  private:
    Device& device_;
    void* data_;
};

std::unique_ptr<Engine> quickest(Device& device, const PeerProblem& p, const TensorDesc& filter,
                                 std::vector<std::unique_ptr<Engine>> engines) {
    if (engines.size() < 2) return engines.empty() ? nullptr : std::move(engines.front());
    std::size_t workspace = 0;
    for (const auto& engine : engines) workspace = std::max(workspace, engine->workspace_bytes);
    const Memory x(device, p.x.bytes()), w(device, filter.bytes()), y(device, p.y.bytes());
    std::unique_ptr<const Memory> memory;
    while (memory == nullptr) try {
            memory = std::make_unique<const Memory>(device, workspace);
        } catch (const Error&) {
            // Engines whose workspace does not fit beside what is in use are passed over.
            if (workspace == 0) throw;
            const std::size_t too_much = workspace;
            std::erase_if(engines, [&](const auto& engine) { return engine->workspace_bytes >= too_much; });
            workspace = 0;
            for (const auto& engine : engines) workspace = std::max(workspace, engine->workspace_bytes);
        }
    const Memory& scratch = *memory;
    const auto marks = device.make_marks(2);
    const auto run = [&](const Engine& engine, int times) {
        marks->set(0);
        for (int i = 0; i < times; ++i)
            engine.run(device.stream(), x.data(), w.data(), y.data(), scratch.data());
        marks->set(1);
        device.synchronize();
        return marks->milliseconds(0, 1) / times;
    };
    double best = 1e30, searched = 0;
    std::unique_ptr<Engine> chosen;
    for (auto& engine : engines) {
        double time = 1e30;
        if (chosen != nullptr && searched > most_search_ms) break;
        try {
            // The first run loads the kernel: above a few milliseconds that does not count.
            const double first = run(*engine, 1);
            searched += first;
            if (first > 5 && first > 3 * best) continue;
            for (int i = 0; i < 3; ++i) {
                time = std::min(time, run(*engine, time < 0.2 ? 4 : 1));
                if (time > 3 * best) break;
            }
        } catch (const Error&) {
            continue;  // an engine that fails is passed over
        }
        if (time < best) {
            best = time;
            chosen = std::move(engine);
        }
    }
    return chosen;
}

Found find_engine(const Context& context, const PeerProblem& p, bool tf32) {
    Found found;
    found.w = p.w;
    // The filter lies as the tensors do.
    if (p.direction != PeerDirection::bwd_filter && p.x.is_channels_last())
        found.w = TensorDesc::channels_last(p.w.dims, p.w.type);
    const CudaDevice& device = context_device(context);
    device.activate();
    const Handle handle = handle_of(device.info().number);
    const Graph graph(p, found.w, handle);
    if (!graph.valid) {
        found.why_not = "cuDNN does not take these layouts and sizes";
        return found;
    }
    std::vector<std::unique_ptr<Engine>> engines;
    std::size_t refused = 0;
    const std::size_t most_workspace = device.info().memory_bytes / 4;
    // The fallback list holds what the heuristics' own leaves out for f32 without rounding.
    for (const int mode : {heuristic_a, heuristic_fallback}) {
        for (const Owned& configuration : configurations(graph, mode)) {
            if (engines.size() >= most_engines) break;
            const std::vector<int> notes = notes_of(configuration);
            const bool rounds = p.x.type == DataType::f32 &&
                                (holds(notes, note_down_convert) || holds(notes, note_tensor_core));
            if (rounds && !tf32) {
                ++refused;
                continue;
            }
            auto engine = engine_of(configuration, notes, p.x.type, handle);
            if (engine != nullptr && engine->workspace_bytes <= most_workspace)
                engines.push_back(std::move(engine));
        }
        if (!engines.empty() && (tf32 || p.x.type != DataType::f32)) break;
    }
    found.engine = quickest(*context.device(), p, found.w, std::move(engines));
    if (found.engine == nullptr)
        found.why_not = refused > 0 ? "cuDNN has only engines that round f32 operands for it"
                                    : "cuDNN has no engine for these layouts and sizes";
    return found;
}

}  // namespace

Owned::Owned(DescriptorType type) { must(library().descriptor_create(type, &descriptor_), "a descriptor"); }

void Owned::set(Attribute name, Type type, std::int64_t count, const void* values) {
    must(library().set_attribute(descriptor_, name, type, count, values), "an attribute");
}

void Engine::run(void* stream, void* x, void* w, void* y, void* workspace) const {
    Owned pack(variant_pack_descriptor);
    const std::array<void*, 3> pointers = {x, w, y};
    pack.set(pack_ids, int64_type, 3, ids.data());
    pack.set(pack_pointers, pointer_type, 3, pointers.data());
    pack.set(pack_workspace, pointer_type, 1, &workspace);
    must(pack.finalize() ? success : 1, "a set of pointers");
    Handle handle = nullptr;
    std::int64_t count = 0;
    must(library().get_attribute(plan.get(), plan_handle, handle_type, 1, &count, &handle), "a handle");
    must(library().set_stream(handle, stream), "the choice of a stream");
    must(library().execute(handle, plan.get(), pack.get()), "a convolution");
}

const Found& search(const Context& context, const PeerProblem& problem, bool tf32) {
    Shared& all = shared();
    const std::scoped_lock lock(all.mutex);
    const std::string key =
        std::to_string(context.device()->info().number) + (tf32 ? " tf32 " : " ") + peer_key(problem);
    const auto known = all.found.find(key);
    if (known != all.found.end()) return known->second;
    Found found;
    try {
        found = find_engine(context, problem, tf32);
    } catch (const Error& error) {
        found.why_not = error.what();
    }
    return all.found.emplace(key, std::move(found)).first->second;
}

}  // namespace convlens::cudnn
