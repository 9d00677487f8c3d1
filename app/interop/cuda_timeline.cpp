#include "app/interop/cuda_timeline.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace convlens::interop {

CudaTimeline::CudaTimeline(std::shared_ptr<Compute> compute, std::shared_ptr<render::Sharing> sharing)
    : compute_(std::move(compute)), sharing_(std::move(sharing)) {
    const render::FileDescriptor written = sharing_->export_written();
    write_semaphore_ = compute_->import_timeline(written.get());
    const render::FileDescriptor read = sharing_->export_read();
    read_semaphore_ = compute_->import_timeline(read.get());
}

void CudaTimeline::add_reader(std::uint64_t value) { reader_ = std::max(reader_, value); }

void CudaTimeline::begin_write() {
    if (reader_ <= waited_) return;
    read_semaphore_->wait(reader_);
    waited_ = reader_;
}

void CudaTimeline::end_write() noexcept {
    const std::uint64_t value = written_.load() + 1;
    try {
        write_semaphore_->signal(value);
    } catch (const std::exception&) {
        // Compute is in no state to signal: nothing of it runs any more.
        sharing_->signal_written(value);
    }
    written_.store(value);
}

}  // namespace convlens::interop
