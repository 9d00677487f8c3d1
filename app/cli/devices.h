// Where a window's network runs, and the graphics device beside it.
#pragma once

#include <memory>
#include <vector>

#include "app/cli/options.h"
#include "app/interop/compute.h"
#include "app/render/renderer.h"
#include "convlens/context.h"

namespace convlens::cli {

// On CUDA both are one GPU where that can be: --device is CUDA's number then, Vulkan's on the processor.
// First the renderer is made as choose_graphics says, then the context.
class Devices {
  public:
    // Throws as context_options does.
    Devices(const CommonOptions& common, int nice);
    void choose_graphics(render::RendererOptions& renderer) const;
    // With --backend auto a device that does not start is left for the processor, and standard error says so.
    std::shared_ptr<Context> open(const render::Renderer& renderer);
    // Of the opened context; null on the processor.
    std::shared_ptr<interop::Compute> compute(const std::shared_ptr<Context>& context) const;

  private:
    const CommonOptions common_;
    ContextOptions options_;
    std::vector<DeviceInfo> cuda_;  // empty: the processor computes
};

}  // namespace convlens::cli
