// `peer:onednn` on the processor: forward, data gradient and filter gradient by oneDNN 2.x.
//
// Source and destination lie as the problem says; the filter in the form that oneDNN likes best: packed with
// the plan, or, when its gradient is computed, brought to the problem's layout by a reorder that is part of
// execute. The scratchpad is the caller's workspace. oneDNN's threads are OpenMP's, as many as the context
// has.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "primitives/peers/onednn_library.h"
#include "primitives/peers/peer_problem.h"
#include "primitives/peers/peers.h"

namespace convlens {
namespace {

using onednn::Library;
using onednn::library;

template <auto Library::*destroy>
struct Destroy {
    template <class T>
    void operator()(T* object) const {
        (library().*destroy)(object);
    }
};
using PrimitiveDesc = std::unique_ptr<onednn::PrimitiveDesc, Destroy<&Library::primitive_desc_destroy>>;
using Primitive = std::unique_ptr<onednn::Primitive, Destroy<&Library::primitive_destroy>>;
using Memory = std::unique_ptr<onednn::Memory, Destroy<&Library::memory_destroy>>;
using Stream = std::unique_ptr<onednn::Stream, Destroy<&Library::stream_destroy>>;
using Attributes = std::unique_ptr<onednn::Attributes, Destroy<&Library::attributes_destroy>>;

void must(int status, const char* what) {
    if (status != onednn::success)
        throw Error(Status::runtime_failure,
                    std::string("oneDNN: ") + what + " failed with status " + std::to_string(status));
}

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

int type_of(DataType type) { return type == DataType::bf16 ? onednn::type_bf16 : onednn::type_f32; }

onednn::MemoryDesc desc_of(const TensorDesc& tensor) {
    onednn::MemoryDesc desc{};
    onednn::DnnlDims dims{}, strides{};
    std::copy(tensor.dims.begin(), tensor.dims.end(), dims);
    std::copy(tensor.strides.begin(), tensor.strides.end(), strides);
    must(library().memory_desc_by_strides(&desc, tensor.rank(), dims, type_of(tensor.type), strides),
         "the description of a tensor");
    return desc;
}

// Filters of grouped convolutions have an axis more: G K/G C/G R S.
TensorDesc with_groups(const TensorDesc& w, std::int64_t groups) {
    if (groups == 1) return w;
    TensorDesc grouped{
        w.type, {groups, w.dims[0] / groups}, {w.strides[0] * (w.dims[0] / groups), w.strides[0]}, 0};
    for (int axis = 1; axis < w.rank(); ++axis) {
        grouped.dims.push_back(w.dims[axis]);
        grouped.strides.push_back(w.strides[axis]);
    }
    return grouped;
}

onednn::MemoryDesc any_layout(const TensorDesc& tensor) {
    onednn::MemoryDesc desc{};
    onednn::DnnlDims dims{};
    std::copy(tensor.dims.begin(), tensor.dims.end(), dims);
    must(library().memory_desc_by_tag(&desc, tensor.rank(), dims, type_of(tensor.type), onednn::tag_any),
         "the description of a filter");
    return desc;
}

Attributes user_scratchpad() {
    onednn::Attributes* made = nullptr;
    must(library().attributes_create(&made), "the making of attributes");
    Attributes attributes(made);
    must(library().set_scratchpad_mode(made, onednn::scratchpad_user), "the choice of a scratchpad");
    return attributes;
}

// Null where oneDNN has no way for it.
PrimitiveDesc convolution_desc(const PeerProblem& p, int algorithm) {
    const Library& l = library();
    const onednn::MemoryDesc x = desc_of(p.x), y = desc_of(p.y);
    const onednn::MemoryDesc w = any_layout(with_groups(p.w, p.groups));
    onednn::DnnlDims strides{}, dilates{}, begin{}, end{};
    for (int axis = 0; axis < p.window.rank(); ++axis) {
        strides[axis] = p.window.strides[axis];
        dilates[axis] = p.window.dilations[axis] - 1;
        begin[axis] = p.window.pads_begin[axis];
        end[axis] = p.window.pads_end[axis];
    }
    const auto made = [&](int prop, const onednn::PrimitiveDesc* hint) {
        auto desc = std::make_unique<onednn::ConvolutionDesc>();
        const int status =
            prop == onednn::prop_forward_inference ? l.forward_init(desc.get(), prop, algorithm, &x, &w,
                                                                    nullptr, &y, strides, dilates, begin, end)
            : prop == onednn::prop_backward_data
                ? l.backward_data_init(desc.get(), algorithm, &x, &w, &y, strides, dilates, begin, end)
                : l.backward_weights_init(desc.get(), algorithm, &x, &w, nullptr, &y, strides, dilates, begin,
                                          end);
        onednn::PrimitiveDesc* primitive = nullptr;
        const Attributes attributes = user_scratchpad();
        if (status == onednn::success && l.primitive_desc_create(&primitive, desc.get(), attributes.get(),
                                                                 l.engine, hint) != onednn::success)
            primitive = nullptr;
        return PrimitiveDesc(primitive);
    };
    PrimitiveDesc forward = made(onednn::prop_forward_inference, nullptr);
    if (p.direction == PeerDirection::fwd || forward == nullptr) return forward;
    return made(
        p.direction == PeerDirection::bwd_data ? onednn::prop_backward_data : onednn::prop_backward_weights,
        forward.get());
}

// The threads that oneDNN plans for and uses are a property of the calling thread.
void use_threads(const Context& context) {
    if (library().set_threads != nullptr) library().set_threads(context.threads());
}

Primitive primitive_of(const PrimitiveDesc& desc) {
    onednn::Primitive* made = nullptr;
    must(library().primitive_create(&made, desc.get()), "the making of a primitive");
    return Primitive(made);
}

Memory memory_of(const onednn::MemoryDesc& desc) {
    onednn::Memory* made = nullptr;
    must(library().memory_create(&made, &desc, library().engine, nullptr), "the making of a memory object");
    return Memory(made);
}

Stream new_stream() {
    onednn::Stream* made = nullptr;
    must(library().stream_create(&made, library().engine, onednn::stream_in_order), "the making of a stream");
    return Stream(made);
}

// A copy of a filter from one layout to another.
class Reorder {
  public:
    Reorder(const onednn::MemoryDesc& from, const onednn::MemoryDesc& to)
        : from_(memory_of(from)), to_(memory_of(to)) {
        const Library& l = library();
        const Attributes attributes = user_scratchpad();
        onednn::PrimitiveDesc* made = nullptr;
        must(l.reorder_desc_create(&made, &from, l.engine, &to, l.engine, attributes.get()), "a reorder");
        const PrimitiveDesc desc(made);
        if (const auto* scratch = l.query_md(made, onednn::query_scratchpad_md, 0)) {
            bytes_ = l.memory_desc_size(scratch);
            if (bytes_ > 0) scratchpad_ = memory_of(*scratch);
        }
        primitive_ = primitive_of(desc);
    }
    std::size_t scratchpad_bytes() const { return bytes_; }
    void run(onednn::Stream* stream, void* from, void* to, void* scratchpad) const {
        const Library& l = library();
        l.memory_set_data(from_.get(), from);
        l.memory_set_data(to_.get(), to);
        std::array<onednn::Argument, 3> args{{{onednn::arg_src, from_.get()}, {onednn::arg_dst, to_.get()}}};
        int count = 2;
        if (bytes_ > 0) {
            l.memory_set_data(scratchpad_.get(), scratchpad);
            args[2] = {onednn::arg_scratchpad, scratchpad_.get()};
            count = 3;
        }
        must(l.primitive_execute(primitive_.get(), stream, count, args.data()), "a reorder");
        must(l.stream_wait(stream), "a reorder");
    }

  private:
    Memory from_, to_, scratchpad_;
    Primitive primitive_;
    std::size_t bytes_ = 0;
};

class OneDnnPlan final : public Plan {
  public:
    OneDnnPlan(const Problem& problem, PlanInfo info, const PeerProblem& peer, const PrimitiveDesc& desc)
        : Plan(problem, with_sizes(std::move(info), peer, desc)),
          peer_(peer),
          x_(memory_of(desc_of(peer.x))),
          w_(memory_of(filter_of(peer, desc))),
          y_(memory_of(desc_of(peer.y))),
          primitive_(primitive_of(desc)),
          stream_(new_stream()) {
        const auto* scratch = library().query_md(desc.get(), onednn::query_scratchpad_md, 0);
        if (scratch != nullptr && library().memory_desc_size(scratch) > 0) scratchpad_ = memory_of(*scratch);
        const onednn::MemoryDesc plain = desc_of(with_groups(peer.w, peer.groups));
        const onednn::MemoryDesc& liked = filter_of(peer, desc);
        if (peer.direction != PeerDirection::bwd_filter)
            reorder_ = std::make_unique<Reorder>(plain, liked);
        else if (library().memory_desc_equal(&plain, &liked) == 0)
            reorder_ = std::make_unique<Reorder>(liked, plain);
        filter_bytes_ = library().memory_desc_size(&liked);
    }

  private:
    static const onednn::MemoryDesc& filter_of(const PeerProblem& peer, const PrimitiveDesc& desc) {
        const bool gradient = peer.direction == PeerDirection::bwd_filter;
        return *library().query_md(desc.get(),
                                   gradient ? onednn::query_diff_weights_md : onednn::query_weights_md, 0);
    }
    static PlanInfo with_sizes(PlanInfo info, const PeerProblem& peer, const PrimitiveDesc& desc) {
        const Library& l = library();
        const onednn::MemoryDesc& liked = filter_of(peer, desc);
        if (const auto* scratch = l.query_md(desc.get(), onednn::query_scratchpad_md, 0))
            info.workspace_bytes = l.memory_desc_size(scratch);
        if (peer.direction != PeerDirection::bwd_filter) {
            info.packed_bytes = l.memory_desc_size(&liked);
            return info;
        }
        const onednn::MemoryDesc plain = desc_of(with_groups(peer.w, peer.groups));
        if (l.memory_desc_equal(&plain, &liked) != 0) return info;
        // The scratchpad serves both steps, one after the other.
        info.workspace_bytes =
            aligned(std::max(info.workspace_bytes, Reorder(liked, plain).scratchpad_bytes())) +
            l.memory_desc_size(&liked);
        return info;
    }
    static std::byte* at(const void* pointer, const TensorDesc& desc) {
        return static_cast<std::byte*>(const_cast<void*>(pointer)) +
               static_cast<std::size_t>(desc.offset) * size_of(desc.type);
    }
    void pack_impl(const void* weights, void* packed) const override {
        const std::scoped_lock lock(mutex_);
        std::vector<std::byte> scratchpad(reorder_->scratchpad_bytes() + 64);
        reorder_->run(stream_.get(), const_cast<void*>(weights), packed, scratchpad.data());
    }
    void execute_impl(Context& context, const ExecuteArgs& args) const override {
        const Library& l = library();
        const std::scoped_lock lock(mutex_);  // memory objects and stream belong to one run at a time
        use_threads(context);
        auto* workspace = static_cast<std::byte*>(args.workspace);
        std::byte *x = nullptr, *w = nullptr, *y = nullptr;
        std::byte* filter_dst = nullptr;
        switch (peer_.direction) {
            case PeerDirection::fwd:
                x = at(args.sources[0], peer_.x), w = at(args.weights, {}), y = at(args.dst, peer_.y);
                break;
            case PeerDirection::bwd_data:
                x = at(args.dst, peer_.x), w = at(args.weights, {}), y = at(args.sources[0], peer_.y);
                break;
            case PeerDirection::bwd_filter:
                x = at(args.sources[0], peer_.x), y = at(args.sources[1], peer_.y);
                filter_dst = at(args.dst, peer_.w);
                w = reorder_ ? workspace + info().workspace_bytes - filter_bytes_ : filter_dst;
        }
        l.memory_set_data(x_.get(), x);
        l.memory_set_data(w_.get(), w);
        l.memory_set_data(y_.get(), y);
        static constexpr int names[3][3] = {
            {onednn::arg_src, onednn::arg_weights, onednn::arg_dst},
            {onednn::arg_diff_src, onednn::arg_weights, onednn::arg_diff_dst},
            {onednn::arg_src, onednn::arg_diff_weights, onednn::arg_diff_dst}};
        const auto& name = names[static_cast<int>(peer_.direction)];
        std::array<onednn::Argument, 4> arguments{
            {{name[0], x_.get()}, {name[1], w_.get()}, {name[2], y_.get()}}};
        int count = 3;
        if (scratchpad_ != nullptr) {
            l.memory_set_data(scratchpad_.get(), workspace);
            arguments[3] = {onednn::arg_scratchpad, scratchpad_.get()};
            count = 4;
        }
        must(l.primitive_execute(primitive_.get(), stream_.get(), count, arguments.data()), "a convolution");
        must(l.stream_wait(stream_.get()), "a convolution");
        if (filter_dst != nullptr && reorder_ != nullptr)
            reorder_->run(stream_.get(), w, filter_dst, workspace);
    }

    PeerProblem peer_;
    Memory x_, w_, y_, scratchpad_;
    Primitive primitive_;
    Stream stream_;
    std::unique_ptr<Reorder> reorder_;
    std::size_t filter_bytes_ = 0;
    mutable std::mutex mutex_;
};

template <class P, DataType type, int algorithm>
std::string reject(const P& problem, const Context& context) {
    if (!library().why_not.empty()) return library().why_not;
    const PeerProblem peer = peer_problem(problem);
    if (peer.x.type != type) return std::string("this row is for tensors of ") + to_string(type);
    if (auto reason = reject_for_peers(peer); !reason.empty()) return reason;
    if (peer.mode != ConvolutionMode::cross_correlation) return "oneDNN does cross-correlation only";
    use_threads(context);
    if (convolution_desc(peer, algorithm) == nullptr)
        return "oneDNN has no such convolution for these layouts and sizes";
    return {};
}

template <class P, int algorithm>
std::unique_ptr<Plan> make(const P& problem, const Context& context, PlanInfo info) {
    const PeerProblem peer = peer_problem(problem);
    use_threads(context);
    const PrimitiveDesc desc = convolution_desc(peer, algorithm);
    if (desc == nullptr) throw Error(Status::not_supported, "oneDNN has no such convolution");
    return std::make_unique<OneDnnPlan>(problem, std::move(info), peer, desc);
}

template <class P, DataType type, int algorithm>
constexpr Algorithm<P> row(const char* name, ErrorClass error_class) {
    return {name, error_class, true, reject<P, type, algorithm>, always<P>, make<P, algorithm>};
}

template <class P>
std::span<const Algorithm<P>> rows() {
    static constexpr std::array list = {
        row<P, DataType::bf16, onednn::convolution_direct>("peer:onednn_bf16", ErrorClass::bf16),
        row<P, DataType::f32, onednn::convolution_direct>("peer:onednn", ErrorClass::fp32)};
    return list;
}

}  // namespace

PeerInfo onednn_info() {
    const Library& l = library();
    return {"peer:onednn", l.why_not.empty(), l.why_not.empty() ? l.text : l.why_not};
}

template <>
std::span<const Algorithm<ConvolutionProblem>> onednn_algorithms() {
    return rows<ConvolutionProblem>();
}
template <>
std::span<const Algorithm<ConvolutionBwdDataProblem>> onednn_algorithms() {
    return rows<ConvolutionBwdDataProblem>();
}
template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> onednn_algorithms() {
    return rows<ConvolutionBwdFilterProblem>();
}

}  // namespace convlens
