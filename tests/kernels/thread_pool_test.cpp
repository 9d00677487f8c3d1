#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

namespace convlens::cpu {
namespace {

TEST(ThreadPool, EveryTaskRunsOnce) {
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const std::int64_t tasks : {0, 1, 2, 3, 7, 64, 1000, 20000}) {
            std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
            std::atomic<bool> thread_in_range{true};
            pool.parallel_for(tasks, [&](std::int64_t task, int thread) {
                runs[static_cast<std::size_t>(task)].fetch_add(1);
                if (thread < 0 || thread >= threads) thread_in_range = false;
            });
            for (std::size_t i = 0; i < runs.size(); ++i) ASSERT_EQ(runs[i].load(), 1) << "task " << i;
            EXPECT_TRUE(thread_in_range.load());
        }
    }
}

TEST(ThreadPool, ReturnsOnlyWhenAllIsDone) {
    ThreadPool pool(4);
    std::vector<std::int64_t> values(256);
    for (std::int64_t round = 0; round < 2000; ++round) {
        // Plain memory: a data race or an early return shows here and under the thread sanitizer.
        pool.parallel_for(16, [&](std::int64_t task, int) {
            for (std::int64_t i = 0; i < 16; ++i)
                values[static_cast<std::size_t>(task * 16 + i)] = round + task;
        });
        const std::int64_t sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
        ASSERT_EQ(sum, 256 * round + 16 * (15 * 16 / 2));
    }
}

TEST(ThreadPool, ScratchOfAThreadIsNeverShared) {
    ThreadPool pool(4);
    std::vector<std::atomic<int>> inside(4);
    std::atomic<int> collisions{0};
    pool.parallel_for(5000, [&](std::int64_t, int thread) {
        auto& counter = inside[static_cast<std::size_t>(thread)];
        if (counter.fetch_add(1) != 0) collisions.fetch_add(1);
        std::this_thread::yield();
        counter.fetch_sub(1);
    });
    EXPECT_EQ(collisions.load(), 0);
}

TEST(ThreadPool, OnePoolWithinAnotherAndSideBySide) {
    std::atomic<std::int64_t> sum{0};
    ThreadPool outer(2);
    std::vector<std::unique_ptr<ThreadPool>> inner;
    for (int i = 0; i < 2; ++i) inner.push_back(std::make_unique<ThreadPool>(2));
    outer.parallel_for(40, [&](std::int64_t task, int thread) {
        inner[static_cast<std::size_t>(thread)]->parallel_for(
            10, [&](std::int64_t part, int) { sum += task * 10 + part; });
    });
    EXPECT_EQ(sum.load(), 399 * 400 / 2);

    std::vector<std::thread> callers;
    sum = 0;
    for (int caller = 0; caller < 3; ++caller)
        callers.emplace_back([&] {
            ThreadPool own(3);
            for (int i = 0; i < 200; ++i) own.parallel_for(5, [&](std::int64_t, int) { ++sum; });
        });
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(sum.load(), 3 * 200 * 5);
}

TEST(ThreadPool, DestructionWhileIdleAndAsleep) {
    for (int i = 0; i < 100; ++i) ThreadPool pool(3);
    ThreadPool pool(3);
    pool.parallel_for(10, [](std::int64_t, int) {});
    // Long enough that the workers sleep.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> runs{0};
    pool.parallel_for(10, [&](std::int64_t, int) { ++runs; });
    EXPECT_EQ(runs.load(), 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST(ThreadPool, CountsItsProcessorTime) {
    ThreadPool pool(2);
    const double before = pool.cpu_milliseconds();
    std::atomic<std::uint64_t> sink{0};
    pool.parallel_for(4, [&](std::int64_t, int) {
        for (std::uint64_t i = 0; i < 3000000; ++i) sink.fetch_add(i, std::memory_order_relaxed);
    });
    EXPECT_GT(pool.cpu_milliseconds(), before);
}

TEST(TaskCount, FewTasksForLittleWork) {
    ThreadPool one(1), many(4);
    EXPECT_EQ(task_count(one, 1e9, 100), 1);
    EXPECT_EQ(task_count(many, 10, 100), 1);
    EXPECT_EQ(task_count(many, 1e9, 3), 3);
    EXPECT_GE(task_count(many, 1e9, 1000), 4);
    EXPECT_GE(task_count(many, 1e9, 0), 1);
}

// The system may start some threads and refuse the rest: those that run must end before the exception leaves.
TEST(ThreadPool, RefusedThreadsAreAnException) {
    pthread_attr_t usual{}, huge{};
    ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
    ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
    // A few such stacks fill the address space.
    ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 44), 0);
    ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
    EXPECT_THROW(ThreadPool(64), std::system_error);
    ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&huge);
    std::atomic<int> runs{0};
    ThreadPool pool(4);
    pool.parallel_for(100, [&](std::int64_t, int) { ++runs; });
    EXPECT_EQ(runs.load(), 100);
}

}  // namespace
}  // namespace convlens::cpu
