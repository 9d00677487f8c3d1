// `peer:cudnn` on CUDA: forward, data gradient and filter gradient by cuDNN 9.x, each by the engine that was
// the quickest of those that cuDNN's heuristics name, timed once for a problem.
//
// Tensors lie as the problem says; the filter as the tensors do (channels-last beside channels-last ones).
// The engine's workspace is the caller's. Pointers must be multiples of 16 bytes. f32 rows: `peer:cudnn`
// admits no rounding of operands, `peer:cudnn_tf32` does.
#include <array>
#include <cstring>
#include <mutex>

#include "primitives/cuda/kernel_plan.h"
#include "primitives/peers/cudnn_search.h"
#include "primitives/peers/peers.h"

namespace convlens {
namespace {

using cudnn::Found;
using cudnn::library;

class CudnnPlan final : public cuda_rows::CudaPlan {
  public:
    CudnnPlan(const Problem& problem, PlanInfo info, const PeerProblem& peer, const Found& found)
        : CudaPlan(problem, with_figures(std::move(info), found)), peer_(peer), found_(found) {}

  private:
    static PlanInfo with_figures(PlanInfo info, const Found& found) {
        info.workspace_bytes = found.engine->workspace_bytes;
        info.error_class = found.engine->error_class;
        info.deterministic = found.engine->deterministic;
        return info;
    }
    // Plain K C R S to the layout that the engine takes.
    void pack_impl(const void* weights, void* packed) const override {
        const TensorDesc& to = found_.w;
        if (to.is_packed()) {
            std::memcpy(packed, weights, info().packed_bytes);
            return;
        }
        const std::size_t size = size_of(to.type);
        const auto* from = static_cast<const std::byte*>(weights);
        auto* into = static_cast<std::byte*>(packed);
        const std::int64_t outer = to.dims[0], channels = to.dims[1];
        std::int64_t cells = 1;
        for (int axis = 2; axis < to.rank(); ++axis) cells *= to.dims[axis];
        for (std::int64_t k = 0; k < outer; ++k)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t cell = 0; cell < cells; ++cell)
                    std::memcpy(into + static_cast<std::size_t>((k * cells + cell) * channels + c) * size,
                                from + static_cast<std::size_t>((k * channels + c) * cells + cell) * size,
                                size);
    }
    static void* at(const void* pointer, const TensorDesc& desc) {
        auto* place = static_cast<std::byte*>(const_cast<void*>(pointer)) +
                      static_cast<std::size_t>(desc.offset) * size_of(desc.type);
        if (reinterpret_cast<std::uintptr_t>(place) % 16 != 0)
            throw Error(Status::runtime_failure,
                        "peer:cudnn needs tensors that begin at multiples of 16 bytes; align them");
        return place;
    }
    void launch(cuda::Stream stream, const ExecuteArgs& args) const override {
        void *x = nullptr, *w = nullptr, *y = nullptr;
        switch (peer_.direction) {
            case PeerDirection::fwd:
                x = at(args.sources[0], peer_.x), w = at(args.weights, {}), y = at(args.dst, peer_.y);
                break;
            case PeerDirection::bwd_data:
                x = at(args.dst, peer_.x), w = at(args.weights, {}), y = at(args.sources[0], peer_.y);
                break;
            case PeerDirection::bwd_filter:
                x = at(args.sources[0], peer_.x), w = at(args.dst, peer_.w), y = at(args.sources[1], peer_.y);
        }
        static std::mutex one_at_a_time;  // plans share a handle
        const std::scoped_lock lock(one_at_a_time);
        found_.engine->run(static_cast<void*>(stream), x, w, y, args.workspace);
    }
    PeerProblem peer_;
    Found found_;
};

template <class P, DataType type, bool tf32>
std::string reject(const P& problem, const Context& context) {
    if (!library().why_not.empty()) return library().why_not;
    const PeerProblem peer = peer_problem(problem);
    if (peer.x.type != type) return std::string("this row is for tensors of ") + to_string(type);
    if (auto reason = reject_for_peers(peer); !reason.empty()) return reason;
    return cudnn::search(context, peer, tf32).why_not;
}

template <class P, bool tf32>
std::unique_ptr<Plan> make(const P& problem, const Context& context, PlanInfo info) {
    const PeerProblem peer = peer_problem(problem);
    const Found& found = cudnn::search(context, peer, tf32);
    if (found.engine == nullptr) throw Error(Status::not_supported, found.why_not);
    return std::make_unique<CudnnPlan>(problem, std::move(info), peer, found);
}

template <class P, DataType type, bool tf32 = false>
constexpr Algorithm<P> row(const char* name, ErrorClass error_class) {
    return {name, error_class, true, reject<P, type, tf32>, always<P>, make<P, tf32>};
}

template <class P>
std::span<const Algorithm<P>> rows() {
    static constexpr std::array list = {row<P, DataType::f16>("peer:cudnn_fp16", ErrorClass::fp16),
                                        row<P, DataType::bf16>("peer:cudnn_bf16", ErrorClass::bf16),
                                        row<P, DataType::f32, true>("peer:cudnn_tf32", ErrorClass::tf32),
                                        row<P, DataType::f32>("peer:cudnn", ErrorClass::fft)};
    return list;
}

}  // namespace

PeerInfo cudnn_info() {
    const cudnn::Library& l = library();
    return {"peer:cudnn", l.why_not.empty(), l.why_not.empty() ? l.text : l.why_not};
}

template <>
std::span<const Algorithm<ConvolutionProblem>> cudnn_algorithms() {
    return rows<ConvolutionProblem>();
}
template <>
std::span<const Algorithm<ConvolutionBwdDataProblem>> cudnn_algorithms() {
    return rows<ConvolutionBwdDataProblem>();
}
template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> cudnn_algorithms() {
    return rows<ConvolutionBwdFilterProblem>();
}

}  // namespace convlens
