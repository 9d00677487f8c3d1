#include "app/engine/arena_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "app/engine/clock.h"

namespace convlens::engine {
namespace {

using std::chrono::milliseconds;

SnapshotPtr snapshot(std::uint64_t pass, int arena) {
    static const auto network = std::make_shared<const NetworkInfo>();
    auto s = std::make_shared<Snapshot>();
    s->pass = pass;
    s->arena = arena;
    s->network = network;
    s->host.assign(3, nullptr);
    return s;
}

SnapshotPtr empty() { return std::make_shared<Snapshot>(); }

TEST(ArenaExchange, GivesAnArenaThatNobodyShows) {
    ArenaExchange exchange(2);
    exchange.publish(empty());
    const int first = exchange.begin_write();
    exchange.publish(snapshot(1, first));
    const int second = exchange.begin_write();
    EXPECT_NE(first, second);
    EXPECT_EQ(exchange.begin_read()->pass, 1u);
    exchange.publish(snapshot(2, second));
    EXPECT_EQ(exchange.newest()->pass, 2u);
    exchange.end_read({});
    EXPECT_EQ(exchange.begin_write(), first);
}

TEST(ArenaExchange, NewestPublishedWins) {
    ArenaExchange exchange(3);
    exchange.publish(empty());
    for (std::uint64_t pass = 1; pass <= 20; ++pass) exchange.publish(snapshot(pass, exchange.begin_write()));
    EXPECT_EQ(exchange.begin_read()->pass, 20u);
}

TEST(ArenaExchange, FenceReturnsBeforeTheArenaIsWrittenAgain) {
    ArenaExchange exchange(2);
    exchange.publish(snapshot(1, exchange.begin_write()));
    const int read = exchange.begin_read()->arena;
    bool fenced = false;
    exchange.end_read([&] { fenced = true; });
    exchange.publish(snapshot(2, exchange.begin_write()));
    EXPECT_FALSE(fenced) << "the other arena has no reader";
    EXPECT_EQ(exchange.begin_write(), read);
    EXPECT_TRUE(fenced);
    fenced = false;
    exchange.publish(snapshot(3, read));
    exchange.publish(snapshot(4, exchange.begin_write()));
    exchange.begin_write();
    EXPECT_FALSE(fenced) << "a fence is called once";
}

TEST(ArenaExchange, LateReaderLosesTheUntakenSnapshotAfterThePatience) {
    ArenaExchange exchange(2, 30);
    exchange.publish(snapshot(1, exchange.begin_write()));
    EXPECT_EQ(exchange.begin_read()->pass, 1u);
    exchange.publish(snapshot(2, exchange.begin_write()));
    const double before = now_ms();
    const int again = exchange.begin_write();
    EXPECT_GE(now_ms() - before, 25);
    EXPECT_EQ(again, 1) << "the arena of pass 2, which nobody took";
    exchange.end_read({});
    // While that arena is written the reader gets what it had.
    EXPECT_EQ(exchange.begin_read()->pass, 1u);
    exchange.end_read({});
    exchange.publish(snapshot(3, again));
    EXPECT_EQ(exchange.begin_read()->pass, 3u);
}

TEST(ArenaExchange, ReaderOfTheNewestKeepsItAsLongAsItWants) {
    ArenaExchange exchange(2, 5);
    exchange.publish(snapshot(1, exchange.begin_write()));
    const int held = exchange.begin_read()->arena;
    for (int i = 0; i < 5; ++i) {
        const int arena = exchange.begin_write();
        EXPECT_NE(arena, held);
        exchange.publish(snapshot(2, arena));
    }
}

TEST(ArenaExchange, StopEndsAWaitingWriter) {
    ArenaExchange exchange(2, 1e9);
    exchange.publish(snapshot(1, exchange.begin_write()));
    exchange.begin_read();
    exchange.publish(snapshot(2, exchange.begin_write()));
    std::thread stopper([&] {
        std::this_thread::sleep_for(milliseconds(20));
        exchange.stop();
    });
    EXPECT_EQ(exchange.begin_write(), -1);
    stopper.join();
    EXPECT_EQ(exchange.begin_write(), -1);
}

TEST(ArenaExchange, ReplaceKeepsToTheArenaThatIsShown) {
    ArenaExchange exchange(2);
    exchange.publish(snapshot(1, 0));
    exchange.replace(snapshot(7, 0));
    EXPECT_EQ(exchange.newest()->pass, 7u);
    exchange.replace(snapshot(8, 1));
    EXPECT_EQ(exchange.newest()->pass, 7u) << "the other arena may be half written";
}

TEST(ArenaExchange, ASingleArenaIsShownWithoutItsMapsWhileItIsWritten) {
    ArenaExchange exchange(1);
    auto first = std::make_shared<Snapshot>(*snapshot(1, exchange.begin_write()));
    const float value = 0;
    first->host.assign(2, &value);
    first->address.assign(2, 17);
    exchange.publish(first);
    EXPECT_EQ(exchange.begin_write(), 0);
    const auto shown = exchange.begin_read();
    EXPECT_EQ(shown->pass, 1u);
    EXPECT_EQ(shown->host, std::vector<const float*>(2, nullptr));
    EXPECT_EQ(shown->address, std::vector<std::uint64_t>(2, 0));
}

TEST(ArenaExchange, RetireWaitsForTheReaderAndItsFences) {
    ArenaExchange exchange(2);
    exchange.publish(snapshot(1, exchange.begin_write()));
    exchange.begin_read();
    std::atomic<bool> released{false}, fenced{false}, retired{false};
    std::thread reader([&] {
        std::this_thread::sleep_for(milliseconds(30));
        released = true;
        exchange.end_read([&] {
            std::this_thread::sleep_for(milliseconds(10));
            fenced = true;
        });
        // What comes after is the replacement; the writer need not wait for it.
        EXPECT_EQ(exchange.begin_read()->pass, 2u);
    });
    exchange.retire_all(snapshot(2, 0));
    retired = true;
    EXPECT_TRUE(released && fenced);
    reader.join();
}

TEST(ArenaExchange, RetireDoesNotWaitForAnEmptySnapshot) {
    ArenaExchange exchange(2);
    exchange.publish(empty());
    exchange.begin_read();
    exchange.retire_all(snapshot(1, 0));
    EXPECT_EQ(exchange.newest()->pass, 1u);
}

// The contents of an arena never change while a reader looks, whatever the pace of the two: plain memory, so
// that the thread sanitizer sees what the values do not show.
void race(int arenas, int reader_us, int writer_us, double patience_ms) {
    constexpr int passes = 400, values = 64;
    ArenaExchange exchange(arenas, patience_ms);
    exchange.publish(empty());
    std::vector<std::vector<std::uint64_t>> memory(static_cast<std::size_t>(arenas),
                                                   std::vector<std::uint64_t>(values, 0));
    std::atomic<bool> ended{false};
    std::thread writer([&] {
        for (std::uint64_t pass = 1; pass <= passes; ++pass) {
            const int arena = exchange.begin_write();
            if (arena < 0) return;
            for (auto& value : memory[static_cast<std::size_t>(arena)]) value = pass;
            if (writer_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(writer_us));
            exchange.publish(snapshot(pass, arena));
        }
        ended = true;
    });
    std::uint64_t last = 0;
    int torn = 0, backwards = 0;
    while (!ended || last < passes) {
        const auto s = exchange.begin_read();
        if (s->network != nullptr) {
            const auto& arena = memory[static_cast<std::size_t>(s->arena)];
            if (reader_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(reader_us));
            torn += static_cast<int>(
                std::count_if(arena.begin(), arena.end(), [&](std::uint64_t v) { return v != s->pass; }));
            backwards += s->pass < last ? 1 : 0;
            last = s->pass;
        }
        exchange.end_read([] {});
    }
    writer.join();
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(backwards, 0);
    EXPECT_EQ(last, static_cast<std::uint64_t>(passes));
}

TEST(ArenaExchange, AnArenaNeverChangesUnderAReader) {
    race(2, 0, 0, 100);
    race(2, 300, 0, 100);
    race(2, 0, 300, 100);
    race(2, 1500, 0, 1);
    race(3, 200, 100, 1);
}

}  // namespace
}  // namespace convlens::engine
