// Who may touch which arena: the engine writes one while the window's refresh reads the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "app/engine/snapshot.h"

namespace convlens::engine {

// One writer, one reader. The writer takes an arena that neither the reader holds nor the newest snapshot
// shows. A reader that is late keeps the writer waiting for at most `patience_ms`; then the arena of a
// snapshot that was published but not taken is written again, and the reader gets the snapshot that it holds
// once more. The reader never waits.
class ArenaExchange {
  public:
    explicit ArenaExchange(int arenas, double patience_ms = 100);
    // Writer: an arena to write, after its last reader's fence has returned. -1 when stopped.
    int begin_write();
    void publish(SnapshotPtr snapshot);
    // A snapshot with new contents for the arena that is published now (e.g. a paused engine's statistics),
    // without a write. Dropped when another arena is shown.
    void replace(SnapshotPtr snapshot);
    // Writer: from now on the reader gets `replacement`, whose memory is not of these arenas (or none); waits
    // until the reader holds nothing older and its fences have returned. After it the old memory may be
    // freed.
    void retire_all(SnapshotPtr replacement);
    // Reader: the newest snapshot; its arena is not written until end_read. Never null after the first
    // publish, replace or retire_all.
    SnapshotPtr begin_read();
    // The fence returns when the reader's work on the arena is done. Fences of one reader return in the order
    // in which they were handed over.
    void end_read(std::function<void()> reader_done);
    // begin_write and retire_all return at once from now on.
    void stop();
    // Calls all fences that are left: before memory is freed after stop().
    void wait_for_readers();
    SnapshotPtr newest() const;

  private:
    bool holds(int arena) const;
    int free_arena() const;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    SnapshotPtr published_, reading_;  // reading_: held between begin_read and end_read
    bool stopped_ = false;
    std::vector<std::function<void()>> fences_;  // per arena: returns when its last reader is done
    double patience_ms_;
};

}  // namespace convlens::engine
