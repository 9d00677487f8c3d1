// The processor kernels' own pool of threads. The caller of parallel_for takes part.
//
// No OpenMP: sanitizers can't see into it, and its threads can't be given a lower priority apart from the
// window's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace convlens::cpu {

class ThreadPool {
  public:
    // `threads` in all, the caller's included (at least 1; 0: one a core). `nice` is added to the workers'
    // nice value. Throws std::system_error when the system starts no more threads.
    explicit ThreadPool(int threads = 0, int nice = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const noexcept;

    // Calls body(task, thread) once for each task in [0, tasks), `thread` in [0, threads()) names the running
    // thread, so that each may own a slice of scratch memory; returns when all are done. Tasks are taken in
    // rising order. Runs inline with one task or one thread. Not reentrant, and one caller at a time. body
    // must not throw.
    template <class Body>
    void parallel_for(std::int64_t tasks, const Body& body) {
        run(tasks, const_cast<void*>(static_cast<const void*>(&body)),
            [](void* b, std::int64_t task, int thread) { (*static_cast<const Body*>(b))(task, thread); });
    }

    // CPU time in milliseconds of the calling thread and all workers so far.
    double cpu_milliseconds() const;

  private:
    using Call = void (*)(void* body, std::int64_t task, int thread);
    void run(std::int64_t tasks, void* body, Call call);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// How many tasks are worth making: 1 below `grain` operations in all (waking threads costs more than it
// saves), else enough that the threads can share them evenly, never more than `most`.
std::int64_t task_count(const ThreadPool& pool, double operations, std::int64_t most, double grain = 1e6);

}  // namespace convlens::cpu
