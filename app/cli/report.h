// The report of the window: JSON "convlens.view/1".
#pragma once

#include <string>
#include <vector>

#include "app/cli/view_figures.h"
#include "app/commands/view_state.h"
#include "app/engine/snapshot.h"

namespace convlens::cli {

struct ReportInput {
    std::string vulkan_device, interop, interop_reason;
    int width = 0, height = 0;
    bool synchronous = false;
    const ViewFigures* figures = nullptr;
    const commands::ViewState* view = nullptr;
    engine::SnapshotPtr snapshot;    // network may be null
    std::uint64_t viewer_bytes = 0;  // the window's own graphics memory
    std::uint64_t staging_bytes = 0;
    std::uint64_t validation_messages = 0;
    std::vector<std::string> messages;
};

// Figures that were not measured are null.
std::string view_report(const ReportInput& input);
// "-": standard output. Throws Error(runtime_failure) naming the file and the reason.
void write_text(const std::string& path, const std::string& text);
// Bytes of a snapshot's own data: what the engine hands over for each pass besides the maps.
std::uint64_t snapshot_bytes(const engine::Snapshot& snapshot);

}  // namespace convlens::cli
