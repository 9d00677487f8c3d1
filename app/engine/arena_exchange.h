// Who may touch which arena: the engine writes one while the window's refresh reads the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "app/engine/snapshot.h"

namespace convlens::engine {

// The writer takes an arena that no reader holds; the newest published snapshot wins. A reader that is late
// keeps the writer waiting for at most `patience_ms`; then an arena that is published but not taken is
// written again.
class ArenaExchange {
  public:
    explicit ArenaExchange(int arenas, double patience_ms = 100);
    // Writer: an arena to write, after its last reader's fence has returned. -1 when stopped.
    int begin_write();
    void publish(SnapshotPtr snapshot);
    // A snapshot with new contents for the same arena (e.g. a paused engine's statistics), without a write.
    void replace(SnapshotPtr snapshot);
    // Writer: waits until no reader holds any arena and forgets fences; before arenas are freed.
    void retire_all(SnapshotPtr empty);
    // Reader.
    SnapshotPtr begin_read();
    void end_read(std::function<void()> reader_done);
    void stop();

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    SnapshotPtr published_, reading_;
    bool published_taken_ = false, stopped_ = false;
    std::vector<std::function<void()>> fences_;  // per arena: returns when its last reader is done
    double patience_ms_;
};

}  // namespace convlens::engine
