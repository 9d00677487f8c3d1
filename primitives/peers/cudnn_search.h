// The search for cuDNN's quickest engine for one convolution.
#pragma once

#include <memory>
#include <string>

#include "primitives/cuda/device.h"
#include "primitives/peers/cudnn_library.h"
#include "primitives/peers/peer_problem.h"

namespace convlens::cudnn {

// Owns a descriptor of the graph interface.
class Owned {
  public:
    Owned() = default;
    // Throws Error(runtime_failure) when cuDNN makes none.
    explicit Owned(DescriptorType type);
    ~Owned() {
        if (descriptor_ != nullptr) library().descriptor_destroy(descriptor_);
    }
    Owned(Owned&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    Descriptor get() const { return descriptor_; }
    // Throws Error(runtime_failure) when cuDNN refuses the value.
    void set(Attribute name, Type type, std::int64_t count, const void* values);
    // Whether cuDNN can do it.
    bool finalize() { return library().finalize(descriptor_) == success; }

  private:
    Descriptor descriptor_ = nullptr;
};

// One execution plan; a handle and a plan are used by one thread at a time.
struct Engine {
    Owned plan;
    std::size_t workspace_bytes = 0;
    ErrorClass error_class = ErrorClass::fp32;
    bool deterministic = true;
    // Throws Error(runtime_failure). Pointers are on the device.
    void run(void* stream, void* x, void* w, void* y, void* workspace) const;
};

struct Found {
    std::shared_ptr<const Engine> engine;  // null: none
    std::string why_not;
    TensorDesc w;  // the filter as the engine takes it
};

// Times the engines that cuDNN's own heuristics name first, on memory that it allocates meanwhile, and keeps
// the quickest. Done once for a problem, a kind of arithmetic and a device. tf32: engines that round f32
// operands are admitted.
const Found& search(const Context& context, const PeerProblem& problem, bool tf32);

}  // namespace convlens::cudnn
