#include "app/network/executor.h"

#include <algorithm>

#include "app/network/executor_layers.h"
#include "app/network/memory_plan.h"

namespace convlens::network {

const char* to_string(Mode mode) noexcept { return mode == Mode::explore ? "explore" : "lean"; }

namespace {

// Below it a fall-back to a smaller workspace asks for none.
constexpr std::size_t smallest_workspace = std::size_t{1} << 20;

[[noreturn]] void refuse_layer(const Operation& operation, const Error& error) {
    throw Error(error.status() == Status::runtime_failure ? Status::runtime_failure : Status::bad_parameter,
                "node " + operation.name + " (" + operation.op + "): " + error.what());
}

}  // namespace

void Executor::Impl::build() {
    if (options.arenas < 1 || options.arenas > 16)
        throw Error(Status::bad_parameter,
                    "arenas: " + std::to_string(options.arenas) + " is not in 1 to 16");
    allocator = options.allocator ? options.allocator : context_allocator(context);
    recordings.resize(static_cast<std::size_t>(options.arenas));
    Program program = lower(*model, options.input_dims, options.default_side);
    if (options.mode == Mode::lean) fuse(program);
    const Layout layout = assign_layouts(program);
    make_names_unique(program);
    describe_tensors(program, layout);
    place_tensors(program);
    allocate_arenas();
    plan_layers(program);
}

void Executor::Impl::describe_tensors(const Program& program, const Layout& layout) {
    inputs = program.inputs;
    outputs = program.outputs;
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
        Tensor tensor;
        tensor.name = program.tensors[i].name;
        tensor.desc = layout.descs[i];
        tensor.alias_of = layout.alias_of[i];
        tensor.is_input = program.tensors[i].is_input;
        tensor.is_output = program.tensors[i].is_output;
        tensor.first_layer = -2;  // not made by anybody yet
        tensor.last_layer = -2;
        if (tensor.is_input) tensor.first_layer = tensor.last_layer = -1;
        tensors.push_back(std::move(tensor));
    }
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
        const int at = static_cast<int>(i);
        const Operation& operation = program.operations[i];
        Tensor& output = tensors[static_cast<std::size_t>(operation.output)];
        output.first_layer = output.last_layer = at;
        Layer layer;
        layer.name = operation.name;
        layer.op = operation.op;
        layer.fused = operation.fused;
        layer.outputs = {operation.output};
        for (const Operand& source : operation.sources) {
            if (source.tensor < 0) continue;
            layer.inputs.push_back(source.tensor);
            tensors[static_cast<std::size_t>(source.tensor)].last_layer = at;
        }
        layers.push_back(std::move(layer));
    }
    // Tensors that vanished (fused away, unused) leave the list; aliases live as long as anybody reads the
    // memory.
    std::vector<int> renamed(tensors.size(), -1);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].alias_of >= 0)
            tensors[i].first_layer = tensors[static_cast<std::size_t>(tensors[i].alias_of)].first_layer;
    std::vector<Tensor> kept;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Tensor& tensor = tensors[i];
        if (tensor.first_layer == -2 || tensor.desc.dims.rank() != tensor.desc.strides.rank()) continue;
        // An alias is described only where its reshape was not dropped.
        if (!tensor.is_input && tensor.alias_of < 0 && tensor.first_layer < 0) continue;
        tensor.last_layer = std::max(tensor.last_layer, tensor.first_layer);
        renamed[i] = static_cast<int>(kept.size());
        kept.push_back(tensor);
    }
    for (Tensor& tensor : kept)
        if (tensor.alias_of >= 0) tensor.alias_of = renamed[static_cast<std::size_t>(tensor.alias_of)];
    tensors = std::move(kept);
    const auto rename = [&](std::vector<int>& list) {
        for (int& tensor : list) tensor = renamed[static_cast<std::size_t>(tensor)];
    };
    rename(inputs);
    rename(outputs);
    for (Layer& layer : layers) {
        rename(layer.inputs);
        rename(layer.outputs);
    }
}

// One buffer for each tensor that is no alias; lifetimes are joined.
std::vector<int> Executor::Impl::buffers_of_tensors() {
    std::vector<int> buffer_of(tensors.size(), -1);
    int count = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].alias_of < 0) buffer_of[i] = count++;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].alias_of >= 0) buffer_of[i] = buffer_of[static_cast<std::size_t>(tensors[i].alias_of)];
    return buffer_of;
}

// Lean: an element-wise layer writes over a source that nobody reads afterwards.
void Executor::Impl::merge_in_place(std::vector<int>& buffer_of) {
    const auto count = static_cast<std::size_t>(tensors.size());
    std::vector<int> last(count, -1);
    std::vector<bool> fixed(count, false);
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    for (std::size_t i = 0; i < count; ++i) {
        last[at(buffer_of[i])] = std::max(last[at(buffer_of[i])], tensors[i].last_layer);
        if (tensors[i].is_input || tensors[i].is_output || options.pinned.contains(tensors[i].name))
            fixed[at(buffer_of[i])] = true;
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const Problem& problem = layers[i].problem;
        if (!std::holds_alternative<ActivationProblem>(problem) &&
            !std::holds_alternative<ElementwiseProblem>(problem))
            continue;
        const int output = layers[i].outputs[0];
        for (const int input : layers[i].inputs) {
            const int buffer = buffer_of[at(input)];
            if (fixed[at(buffer)] || last[at(buffer)] != static_cast<int>(i) ||
                buffer == buffer_of[at(output)])
                continue;
            if (!(tensors[at(input)].desc == tensors[at(output)].desc)) continue;
            // Two different views of one buffer must not be source and destination.
            if (std::count_if(layers[i].inputs.begin(), layers[i].inputs.end(),
                              [&](int t) { return buffer_of[at(t)] == buffer; }) > 1)
                continue;
            const int old = buffer_of[at(output)];
            last[at(buffer)] = std::max(last[at(buffer)], last[at(old)]);
            fixed[at(buffer)] = fixed[at(buffer)] || fixed[at(old)];
            for (int& b : buffer_of)
                if (b == old) b = buffer;
            break;
        }
    }
}

void Executor::Impl::place_tensors(const Program& program) {
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i].problem = program.operations[i].problem;
    std::vector<int> buffer_of = buffers_of_tensors();
    const bool lean = options.mode == Mode::lean;
    // Both searches below are quadratic: not for graphs that no network has.
    const bool searchable = tensors.size() <= 20000;
    if (lean && searchable) merge_in_place(buffer_of);
    const int end = static_cast<int>(layers.size());
    std::vector<BufferNeed> needs(tensors.size(), {0, end + 1, -2});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Tensor& tensor = tensors[i];
        tensor.bytes = tensor.desc.bytes();
        BufferNeed& need = needs[static_cast<std::size_t>(buffer_of[i])];
        need.bytes = std::max(need.bytes, tensor.bytes);
        need.first = std::min(need.first, tensor.first_layer);
        need.last = std::max(need.last, tensor.last_layer);
        // The input stays: a pass may run again on it.
        if (tensor.is_input || tensor.is_output || options.pinned.contains(tensor.name)) need.last = end;
        if (tensor.is_input) need.first = -1;
    }
    const std::size_t largest = allocator->largest_block();
    const MemoryPlan memory =
        lean && searchable ? plan_by_lifetime(needs, largest) : plan_all_kept(needs, largest);
    block_bytes = memory.blocks;
    std::vector<std::size_t> block_start{0};
    for (const std::size_t bytes : memory.blocks) block_start.push_back(block_start.back() + bytes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Tensor& tensor = tensors[i];
        const auto buffer = static_cast<std::size_t>(buffer_of[i]);
        tensor.block = memory.block[buffer];
        tensor.offset = memory.offset[buffer];
        tensor.address = block_start[static_cast<std::size_t>(tensor.block)] + tensor.offset;
    }
    if (!lean || !searchable) return;
    // Kept: nobody that comes later writes over it.
    for (Tensor& tensor : tensors) {
        for (const Tensor& other : tensors) {
            if (&tensor == &other || other.alias_of >= 0 || other.bytes == 0 || tensor.bytes == 0) continue;
            const bool overlaps = other.block == tensor.block &&
                                  other.offset < tensor.offset + tensor.bytes &&
                                  tensor.offset < other.offset + other.bytes;
            if (overlaps && other.first_layer > tensor.first_layer) tensor.kept = false;
        }
    }
}

void Executor::Impl::allocate_arenas() {
    if (block_bytes.empty()) block_bytes.push_back(0);
    for (int arena = 0; arena < options.arenas; ++arena) {
        arenas.emplace_back();
        for (const std::size_t bytes : block_bytes)
            arenas.back().push_back(allocator->allocate(std::max<std::size_t>(bytes, 256), "activations"));
    }
}

std::byte* Executor::Impl::address(int tensor, int arena) const {
    const Tensor& t = tensors[static_cast<std::size_t>(tensor)];
    return arenas[static_cast<std::size_t>(arena)][static_cast<std::size_t>(t.block)].data + t.offset;
}

std::unique_ptr<Plan> Executor::Impl::choose_plan(const Operation& operation) const {
    PlanOptions plan_options;
    plan_options.workspace_limit = options.workspace_limit;
    plan_options.precision = options.precision;
    if (const auto named = options.algorithms.find(operation.name); named != options.algorithms.end()) {
        plan_options.algorithm = named->second == "auto" ? "" : named->second;
        return make_plan(context, operation.problem, plan_options);
    }
    if (const auto any = options.algorithms.find("*");
        any != options.algorithms.end() && any->second != "auto") {
        if (!algorithms_meant(operation.problem, context.backend(), any->second).empty()) {
            plan_options.algorithm = any->second;
            try {
                return make_plan(context, operation.problem, plan_options);
            } catch (const Error& error) {
                if (error.status() != Status::not_supported) throw;
                plan_options.algorithm.clear();
            }
        }
    }
    return make_plan(context, operation.problem, plan_options);
}

void Executor::Impl::check_algorithm_names() const {
    for (const auto& [layer, algorithm] : options.algorithms) {
        if (layer != "*") {
            const bool known = std::any_of(layers.begin(), layers.end(),
                                           [&name = layer](const Layer& l) { return l.name == name; });
            if (!known)
                throw Error(Status::bad_parameter, "no layer of the name " + layer + " in " + model->name() +
                                                       " (" + to_string(options.mode) +
                                                       " mode; fused layers go by the name of the first)");
            continue;
        }
        if (algorithm == "auto" || algorithm.empty()) continue;
        bool known = false;
        for (const Layer& l : layers) {
            known = known || !algorithms_meant(l.problem, context.backend(), algorithm).empty();
        }
        if (!known)
            throw Error(Status::bad_parameter,
                        "no layer of " + model->name() + " knows an algorithm of the name " + algorithm);
    }
}

Buffer Executor::Impl::pack(const PlannedLayer& layer, const Plan& plan) const {
    if (plan.info().weights_bytes == 0) return {};
    const std::vector<float> plain = plain_weights(layer.operation.weights, layer.operation.problem);
    return pack_weights(context, plan, plain.data());
}

void Executor::Impl::describe_layer(const PlannedLayer& from, Layer& layer) const {
    layer.plan = from.plan->info();
    layer.weights_bytes = from.packed.bytes();
    for (const Operand& source : from.operation.sources)
        if (source.constant)
            layer.weights_bytes += static_cast<std::size_t>(source.constant->elements()) * sizeof(float);
}

void Executor::Impl::grow_workspace(std::size_t bytes) {
    if (workspace.bytes() < bytes) workspace = Buffer(context, bytes);
    workspace_bytes = bytes;
}

// Base pointers of all sources; computed once, so that a pass only launches.
void Executor::Impl::bind(PlannedLayer& layer) {
    const auto index = static_cast<std::size_t>(&layer - planned.data());
    for (int arena = 0; arena < options.arenas; ++arena) {
        std::vector<const void*> sources;
        std::size_t next = 0;
        for (const Operand& source : layer.operation.sources) {
            if (source.tensor >= 0)
                sources.push_back(address(layers[index].inputs[next++], arena));
            else if (source.constant)
                sources.push_back(constants.at(source.constant.get()).data());
            else
                sources.push_back(nullptr);
        }
        layer.sources.push_back(std::move(sources));
        layer.dst.push_back(address(layers[index].outputs[0], arena));
    }
}

void Executor::Impl::plan_layers(Program& program) {
    check_algorithm_names();
    planned.resize(program.operations.size());
    std::size_t most = 0;
    for (std::size_t i = 0; i < planned.size(); ++i) {
        PlannedLayer& layer = planned[i];
        layer.operation = std::move(program.operations[i]);
        // A unary element-wise operation has one source in execute().
        auto& sources = layer.operation.sources;
        if (const auto* e = std::get_if<ElementwiseProblem>(&layer.operation.problem); e && is_unary(e->kind))
            sources.resize(2);
        try {
            layer.plan = choose_plan(layer.operation);
            for (const Operand& source : sources) {
                if (!source.constant || constants.contains(source.constant.get())) continue;
                const std::vector<float> values = source.constant->expanded();
                Buffer buffer(context, std::max<std::size_t>(values.size() * sizeof(float), 4));
                context.upload(buffer.data(), values.data(), values.size() * sizeof(float));
                constant_bytes += values.size() * sizeof(float);
                constants.emplace(source.constant.get(), std::move(buffer));
            }
            layer.packed = pack(layer, *layer.plan);
        } catch (const Error& error) {
            refuse_layer(layer.operation, error);
        }
        bind(layer);
        Layer& face = layers[i];
        face.category = category_of(layer.operation.problem);
        face.summary = summary_of(layer.operation);
        describe_layer(layer, face);
        packed_bytes += layer.packed.bytes();
        most = std::max(most, face.plan.workspace_bytes);
    }
    take_workspace(most);
}

// Where the memory is exhausted, layers fall back to plans with a smaller workspace, down to none.
void Executor::Impl::take_workspace(std::size_t most) {
    for (;;) {
        try {
            grow_workspace(most);
            return;
        } catch (const Error& error) {
            if (error.status() != Status::runtime_failure || most == 0) throw;
        }
        options.workspace_limit = most < smallest_workspace ? 0 : most / 4;
        most = 0;
        for (std::size_t i = 0; i < planned.size(); ++i) {
            PlannedLayer& layer = planned[i];
            if (layer.plan->info().workspace_bytes > options.workspace_limit) {
                try {
                    auto plan = choose_plan(layer.operation);
                    Buffer packed = pack(layer, *plan);
                    packed_bytes += packed.bytes();
                    packed_bytes -= layer.packed.bytes();
                    layer.plan = std::move(plan);
                    layer.packed = std::move(packed);
                } catch (const Error& error) {
                    refuse_layer(layer.operation, error);
                }
                describe_layer(layer, layers[i]);
            }
            most = std::max(most, layers[i].plan.workspace_bytes);
        }
    }
}

void Executor::Impl::check_layer(int layer) const {
    if (layer < 0 || layer >= static_cast<int>(layers.size()))
        throw Error(Status::bad_parameter, "layer " + std::to_string(layer) + " is not in 0 to " +
                                               std::to_string(layers.size() - 1));
}

void Executor::Impl::check_place(int tensor, int arena) const {
    if (tensor < 0 || tensor >= static_cast<int>(tensors.size()))
        throw Error(Status::bad_parameter, "tensor " + std::to_string(tensor) + " does not exist");
    if (arena < 0 || arena >= options.arenas)
        throw Error(Status::bad_parameter, "arena " + std::to_string(arena) + " does not exist");
}

Executor::Executor(Context& context, std::shared_ptr<const Model> model, const ExecutorOptions& options)
    : impl_(std::make_unique<Impl>(context, std::move(model), options)) {
    if (!impl_->model) throw Error(Status::bad_parameter, "model: null");
    const std::string& path = impl_->model->path();
    try {
        impl_->build();
    } catch (const Error& error) {
        throw Error(error.status(), (path.empty() ? "the model" : path) + ": " + error.what());
    } catch (const std::bad_alloc&) {
        throw Error(Status::runtime_failure,
                    (path.empty() ? "the model" : path) + ": out of memory while it was planned");
    }
}

Executor::~Executor() = default;

const Model& Executor::model() const { return *impl_->model; }
const ExecutorOptions& Executor::options() const { return impl_->options; }
const std::vector<Layer>& Executor::layers() const { return impl_->layers; }
const std::vector<Tensor>& Executor::tensors() const { return impl_->tensors; }
std::vector<int> Executor::input_tensors() const { return impl_->inputs; }
std::vector<int> Executor::output_tensors() const { return impl_->outputs; }

MemoryReport Executor::memory() const {
    MemoryReport report;
    report.weights_bytes = impl_->packed_bytes + impl_->constant_bytes;
    report.activations_bytes = arena_bytes();
    report.workspace_bytes = impl_->workspace_bytes;
    report.arenas = impl_->options.arenas;
    report.peak_bytes = report.weights_bytes + report.workspace_bytes +
                        report.activations_bytes * static_cast<std::size_t>(report.arenas);
    return report;
}

std::size_t Executor::arena_bytes() const {
    std::size_t bytes = 0;
    for (const std::size_t block : impl_->block_bytes) bytes += block;
    return bytes;
}

void Executor::run(int arena, const PassObserver* observer) {
    impl_->check_place(0, arena);
    if (observer != nullptr || !records()) return impl_->launch(arena, observer);
    auto& recording = impl_->recordings[static_cast<std::size_t>(arena)];
    if (recording == nullptr) {
        // The first launch of a kernel loads it, which can't be recorded.
        impl_->launch(arena, nullptr);
        impl_->context.synchronize();
        recording = std::make_unique<Recording>(impl_->context, [&] { impl_->launch(arena, nullptr); });
        return;
    }
    recording->run();
}

bool Executor::records() const {
    return impl_->context.backend() == Backend::cuda;
}

void Executor::Impl::launch(int arena, const PassObserver* observer) {
    ExecuteArgs args;
    args.workspace = workspace.data();
    args.workspace_bytes = workspace.bytes();
    const auto a = static_cast<std::size_t>(arena);
    const int count = static_cast<int>(planned.size());
    for (int i = 0; i < count; ++i) {
        const PlannedLayer& layer = planned[static_cast<std::size_t>(i)];
        args.sources = layer.sources[a];
        args.weights = layer.packed.data();
        args.dst = layer.dst[a];
        if (observer && observer->before) observer->before(i);
        context.begin_range(layer.operation.name.c_str());
        layer.plan->execute(context, args);
        context.end_range();
        if (observer && observer->after) observer->after(i);
    }
}

void Executor::set_algorithm(int layer, const std::string& algorithm) {
    impl_->check_layer(layer);
    PlannedLayer& planned = impl_->planned[static_cast<std::size_t>(layer)];
    PlanOptions options;
    options.algorithm = algorithm == "auto" ? "" : algorithm;
    options.workspace_limit = impl_->options.workspace_limit;
    options.precision = impl_->options.precision;
    auto plan = make_plan(impl_->context, planned.operation.problem, options);
    Buffer packed = impl_->pack(planned, *plan);
    // What still runs may use the old plan's memory.
    impl_->context.synchronize();
    std::size_t most = plan->info().workspace_bytes;
    for (std::size_t i = 0; i < impl_->planned.size(); ++i)
        if (static_cast<int>(i) != layer) most = std::max(most, impl_->layers[i].plan.workspace_bytes);
    impl_->grow_workspace(most);
    // Nothing below throws.
    for (auto& recording : impl_->recordings) recording.reset();
    impl_->packed_bytes += packed.bytes();
    impl_->packed_bytes -= planned.packed.bytes();
    planned.plan = std::move(plan);
    planned.packed = std::move(packed);
    impl_->describe_layer(planned, impl_->layers[static_cast<std::size_t>(layer)]);
}

}  // namespace convlens::network
