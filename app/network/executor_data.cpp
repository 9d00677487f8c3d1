// What stands in an executor's tensors: inputs in, values out, measurements and errors on present data.
#include <cmath>
#include <limits>

#include "app/network/executor_layers.h"
#include "primitives/device.h"

namespace convlens::network {
namespace {

// Memory of the backend where the processor can read it: the memory itself, or a copy.
class HostView {
  public:
    const float* of(Context& context, const void* memory, std::size_t bytes) {
        if (context.backend() == Backend::cpu) return static_cast<const float*>(memory);
        copy_.resize((bytes + sizeof(float) - 1) / sizeof(float));
        context.download(copy_.data(), memory, bytes);
        return copy_.data();
    }

  private:
    std::vector<float> copy_;
};

}  // namespace

float* Executor::data(int tensor, int arena) const {
    impl_->check_place(tensor, arena);
    return reinterpret_cast<float*>(impl_->address(tensor, arena)) +
           impl_->tensors[static_cast<std::size_t>(tensor)].desc.offset;
}

std::uint64_t Executor::device_address(int tensor, int arena) const {
    impl_->check_place(tensor, arena);
    const Tensor& t = impl_->tensors[static_cast<std::size_t>(tensor)];
    const Block& block = impl_->arenas[static_cast<std::size_t>(arena)][static_cast<std::size_t>(t.block)];
    return block.device_address == 0
               ? 0
               : block.device_address + t.offset + static_cast<std::uint64_t>(t.desc.offset) * sizeof(float);
}

void Executor::set_input(int index, const float* nchw, int arena) {
    if (index < 0 || index >= static_cast<int>(impl_->inputs.size()))
        throw Error(Status::bad_parameter, "input " + std::to_string(index) + " does not exist");
    if (nchw == nullptr) throw Error(Status::bad_parameter, "input " + std::to_string(index) + ": null");
    const int tensor = impl_->inputs[static_cast<std::size_t>(index)];
    impl_->check_place(tensor, arena);
    const TensorDesc& desc = impl_->tensors[static_cast<std::size_t>(tensor)].desc;
    std::byte* memory = impl_->address(tensor, arena);
    const bool on_device = impl_->context.backend() != Backend::cpu;
    if (on_device) impl_->staging.resize(desc.bytes());
    auto* base = reinterpret_cast<float*>(on_device ? impl_->staging.data() : memory);
    for_each_offset(desc, [&](std::int64_t at) { base[at] = *nchw++; });
    if (on_device) impl_->context.upload(memory, impl_->staging.data(), desc.bytes());
}

std::vector<Candidate> Executor::layer_candidates(int layer) const {
    impl_->check_layer(layer);
    return candidates(impl_->context, impl_->planned[static_cast<std::size_t>(layer)].operation.problem);
}

std::vector<Finding> Executor::measure_layer(int layer, int arena, const FindOptions& options) const {
    impl_->check_layer(layer);
    impl_->check_place(0, arena);
    const PlannedLayer& planned = impl_->planned[static_cast<std::size_t>(layer)];
    FindOptions with_data = options;
    with_data.sources = planned.sources[static_cast<std::size_t>(arena)];
    std::vector<float> plain;
    if (planned.operation.weights.constant)
        plain = plain_weights(planned.operation.weights, planned.operation.problem);
    with_data.weights = plain.empty() ? nullptr : plain.data();
    return find(impl_->context, planned.operation.problem, with_data);
}

std::optional<double> Executor::layer_error(int layer, int arena) const {
    impl_->check_layer(layer);
    impl_->check_place(0, arena);
    const PlannedLayer& planned = impl_->planned[static_cast<std::size_t>(layer)];
    const Layer& face = impl_->layers[static_cast<std::size_t>(layer)];
    for (const int tensor : face.inputs)
        if (!impl_->tensors[static_cast<std::size_t>(tensor)].kept) return std::nullopt;
    if (!impl_->tensors[static_cast<std::size_t>(face.outputs[0])].kept) return std::nullopt;
    PlanOptions options;
    for (const Candidate& candidate : candidates(impl_->context, planned.operation.problem))
        if (candidate.applicable) options.algorithm = candidate.algorithm;
    if (options.algorithm.empty()) return std::nullopt;
    if (options.algorithm == face.plan.algorithm) return 0.0;
    const auto reference = make_plan(impl_->context, planned.operation.problem, options);
    Context& context = impl_->context;
    const Buffer packed = impl_->pack(planned, *reference);
    const Buffer workspace(context, reference->info().workspace_bytes);
    const TensorDesc& dst = dst_desc(planned.operation.problem);
    if (dst.is_empty()) return 0.0;
    const Buffer result(context, dst.bytes());
    const auto a = static_cast<std::size_t>(arena);
    reference->execute(
        context, {planned.sources[a], packed.data(), result.data(), workspace.data(), workspace.bytes()});
    HostView wanted, given;
    const float* expected = wanted.of(context, result.data(), dst.bytes());
    const float* got = given.of(context, planned.dst[a], dst.bytes());
    double worst = 0, largest = 0;
    for_each_offset(dst, [&](std::int64_t at) {
        const double want = static_cast<double>(expected[at]), have = static_cast<double>(got[at]);
        if (std::isfinite(want)) largest = std::max(largest, std::fabs(want));
        const bool same = want == have || (std::isnan(want) && std::isnan(have));
        const double error = std::fabs(want - have);
        if (!same)
            worst = std::max(worst, std::isfinite(error) ? error : std::numeric_limits<double>::infinity());
    });
    // As the finder says it: any difference from zeros is beyond measure.
    if (worst == 0) return 0.0;
    return largest > 0 ? worst / largest : std::numeric_limits<double>::infinity();
}

std::vector<float> Executor::gather(int tensor, int arena, std::span<const std::int64_t> offsets) const {
    impl_->check_place(tensor, arena);
    const float* first = data(tensor, arena);
    std::vector<float> values(offsets.size());
    if (impl_->context.backend() != Backend::cpu)
        impl_->context.device()->gather(first, offsets, values.data());
    else
        for (std::size_t i = 0; i < offsets.size(); ++i) values[i] = first[offsets[i]];
    return values;
}

std::vector<float> Executor::copy(int tensor, int arena) const {
    impl_->check_place(tensor, arena);
    const TensorDesc& desc = impl_->tensors[static_cast<std::size_t>(tensor)].desc;
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(desc.elements()));
    HostView view;
    const float* base = view.of(impl_->context, impl_->address(tensor, arena), desc.bytes());
    for_each_offset(desc, [&](std::int64_t at) { values.push_back(base[at]); });
    return values;
}

}  // namespace convlens::network
