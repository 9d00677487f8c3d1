#include "app/engine/arena_exchange.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace convlens::engine {
namespace {

bool shows(const SnapshotPtr& snapshot, int arena) {
    return snapshot != nullptr && snapshot->network != nullptr && snapshot->arena == arena;
}

}  // namespace

ArenaExchange::ArenaExchange(int arenas, double patience_ms)
    : fences_(static_cast<std::size_t>(std::max(1, arenas))), patience_ms_(patience_ms) {}

bool ArenaExchange::holds(int arena) const { return shows(reading_, arena); }

int ArenaExchange::free_arena() const {
    for (int arena = 0; arena < static_cast<int>(fences_.size()); ++arena)
        if (!holds(arena) && !shows(published_, arena)) return arena;
    return -1;
}

int ArenaExchange::begin_write() {
    std::unique_lock lock(mutex_);
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double, std::milli>(patience_ms_));
    bool patient = true;
    while (!stopped_) {
        int arena = free_arena();
        if (arena < 0 && fences_.size() == 1 && reading_ == nullptr) {
            // A single arena is shown until it is written again; meanwhile its maps can't be read.
            auto bare = std::make_shared<Snapshot>(*published_);
            bare->host.assign(bare->host.size(), nullptr);
            bare->address.assign(bare->address.size(), 0);
            published_ = std::move(bare);
            arena = 0;
        }
        if (arena < 0 && !patient && reading_ != nullptr && published_ != nullptr &&
            reading_->arena != published_->arena) {
            published_ = reading_;
            arena = free_arena();
        }
        if (arena >= 0) {
            // Nobody can take this arena while its fence is awaited: the reader only gets what is published.
            auto fence = std::exchange(fences_[static_cast<std::size_t>(arena)], {});
            lock.unlock();
            if (fence) fence();
            return arena;
        }
        if (patient)
            patient = changed_.wait_until(lock, deadline) != std::cv_status::timeout;
        else
            changed_.wait(lock);
    }
    return -1;
}

void ArenaExchange::publish(SnapshotPtr snapshot) {
    const std::lock_guard lock(mutex_);
    published_ = std::move(snapshot);
}

void ArenaExchange::replace(SnapshotPtr snapshot) {
    const std::lock_guard lock(mutex_);
    if (published_ == nullptr || published_->network == nullptr || published_->arena == snapshot->arena)
        published_ = std::move(snapshot);
}

void ArenaExchange::retire_all(SnapshotPtr replacement) {
    std::unique_lock lock(mutex_);
    published_ = replacement;
    const SnapshotPtr old = reading_;
    // The reader may take the replacement meanwhile; only what it held before matters.
    changed_.wait(lock,
                  [&] { return stopped_ || old == nullptr || old->network == nullptr || reading_ != old; });
    std::vector<std::function<void()>> fences(fences_.size());
    fences.swap(fences_);
    lock.unlock();
    for (auto& fence : fences)
        if (fence) fence();
}

SnapshotPtr ArenaExchange::begin_read() {
    const std::lock_guard lock(mutex_);
    reading_ = published_;
    return reading_;
}

void ArenaExchange::end_read(std::function<void()> reader_done) {
    {
        const std::lock_guard lock(mutex_);
        if (reading_ == nullptr) return;
        const auto arena = static_cast<std::size_t>(reading_->arena);
        if (reader_done && arena < fences_.size()) fences_[arena] = std::move(reader_done);
        reading_ = nullptr;
    }
    changed_.notify_all();
}

void ArenaExchange::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
}

void ArenaExchange::wait_for_readers() {
    std::vector<std::function<void()>> fences;
    {
        const std::lock_guard lock(mutex_);
        fences.swap(fences_);
        fences_.resize(fences.size());
    }
    for (auto& fence : fences)
        if (fence) fence();
}

SnapshotPtr ArenaExchange::newest() const {
    const std::lock_guard lock(mutex_);
    return published_;
}

}  // namespace convlens::engine
