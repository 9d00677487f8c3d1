#include "app/interop/timeline.h"

#include <utility>

namespace convlens::interop {

void HostTimeline::add_reader(std::function<void()> fence) {
    if (!fence) return;
    const std::lock_guard lock(mutex_);
    readers_.push_back(std::move(fence));
}

std::uint64_t HostTimeline::written() const { return written_.load(); }

void HostTimeline::begin_write() {
    std::vector<std::function<void()>> readers;
    {
        const std::lock_guard lock(mutex_);
        readers.swap(readers_);
    }
    for (const std::function<void()>& reader : readers) reader();
}

void HostTimeline::end_write() noexcept { written_.fetch_add(1); }

}  // namespace convlens::interop
