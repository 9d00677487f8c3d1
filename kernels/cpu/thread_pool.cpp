#include "kernels/cpu/thread_pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace convlens::cpu {
namespace {

void relax() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

// About 20 us: layers of a pass follow each other faster than a sleeping thread wakes.
constexpr int spins_before_sleep = 400;

double milliseconds(clockid_t clock) {
    timespec t{};
    if (clock_gettime(clock, &t) != 0) return 0.0;
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

struct ThreadPool::Impl {
    int threads = 1;
    std::vector<std::thread> workers;
    // A job is published by raising `generation`, on which idle workers sleep. A worker joins by counting
    // itself into `job` while that is open, and takes tasks until none is left. The caller closes the job
    // when all tasks are taken and waits only for those that joined: a worker that the system runs late,
    // because the machine is busy, costs nothing.
    std::atomic<std::uint32_t> generation{0};
    std::atomic<std::uint64_t> job{0};  // generation << 32 | open_bit | number of workers inside
    static constexpr std::uint64_t open_bit = std::uint64_t{1} << 31;
    static constexpr std::uint64_t inside_mask = open_bit - 1;
    std::atomic<bool> quit{false};
    std::atomic<std::int64_t> next{0};
    std::int64_t tasks = 0;
    void* body = nullptr;
    Call call = nullptr;

    void take_tasks(int thread) {
        for (;;) {
            const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
            if (task >= tasks) return;
            call(body, task, thread);
        }
    }

    void start_workers(int nice) {
        workers.reserve(static_cast<std::size_t>(threads - 1));
        for (int i = 1; i < threads; ++i) workers.emplace_back([this, i, nice] { work(i, nice); });
    }

    void stop_workers() {
        quit.store(true, std::memory_order_release);
        generation.fetch_add(1, std::memory_order_acq_rel);
        generation.notify_all();
        for (auto& worker : workers) worker.join();
    }

    void work(int thread, int nice) {
        if (nice != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice);
        std::uint32_t seen = 0;
        for (;;) {
            for (int spin = 0; generation.load(std::memory_order_acquire) == seen; ++spin) {
                if (spin < spins_before_sleep) {
                    relax();
                } else {
                    generation.wait(seen, std::memory_order_acquire);
                }
            }
            seen = generation.load(std::memory_order_acquire);
            if (quit.load(std::memory_order_acquire)) return;
            if (!join(seen)) continue;
            take_tasks(thread);
            const std::uint64_t before = job.fetch_sub(1, std::memory_order_acq_rel);
            if ((before & inside_mask) == 1 && (before & open_bit) == 0) job.notify_one();
        }
    }

    // Counts the calling worker into the job of this generation; false when it is closed or another is
    // published.
    bool join(std::uint32_t wanted) {
        std::uint64_t seen = job.load(std::memory_order_acquire);
        while ((seen >> 32) == wanted && (seen & open_bit) != 0)
            if (job.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire))
                return true;
        return false;
    }

    // Closes the job and waits for the workers inside.
    void close() {
        std::uint64_t left = job.fetch_and(~open_bit, std::memory_order_acq_rel) & ~open_bit;
        for (int spin = 0; (left & inside_mask) != 0; ++spin) {
            if (spin < spins_before_sleep * 4) {
                relax();
            } else {
                job.wait(left, std::memory_order_acquire);
            }
            left = job.load(std::memory_order_acquire);
        }
    }
};

ThreadPool::ThreadPool(int threads, int nice) : impl_(std::make_unique<Impl>()) {
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    impl_->threads = threads;
    try {
        impl_->start_workers(nice);
    } catch (...) {
        // A thread that is destroyed before it was joined would end the program.
        impl_->stop_workers();
        throw;
    }
}

ThreadPool::~ThreadPool() { impl_->stop_workers(); }

int ThreadPool::threads() const noexcept { return impl_->threads; }

void ThreadPool::run(std::int64_t tasks, void* body, Call call) {
    if (tasks <= 0) return;
    if (tasks == 1 || impl_->threads == 1) {
        for (std::int64_t task = 0; task < tasks; ++task) call(body, task, 0);
        return;
    }
    Impl& impl = *impl_;
    impl.tasks = tasks;
    impl.body = body;
    impl.call = call;
    impl.next.store(0, std::memory_order_relaxed);
    const std::uint32_t generation = impl.generation.load(std::memory_order_relaxed) + 1;
    impl.job.store(std::uint64_t{generation} << 32 | Impl::open_bit, std::memory_order_release);
    impl.generation.store(generation, std::memory_order_release);
    impl.generation.notify_all();
    impl.take_tasks(0);
    impl.close();
}

double ThreadPool::cpu_milliseconds() const {
    double sum = milliseconds(CLOCK_THREAD_CPUTIME_ID);
    for (const auto& worker : impl_->workers) {
        clockid_t clock{};
        if (pthread_getcpuclockid(const_cast<std::thread&>(worker).native_handle(), &clock) == 0)
            sum += milliseconds(clock);
    }
    return sum;
}

std::int64_t task_count(const ThreadPool& pool, double operations, std::int64_t most, double grain) {
    if (operations < grain || pool.threads() == 1 || most <= 1) return 1;
    // Four a thread: a thread that is interrupted leaves its share to the others.
    return std::min<std::int64_t>(most, static_cast<std::int64_t>(pool.threads()) * 4);
}

}  // namespace convlens::cpu
