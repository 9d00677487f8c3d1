// How a product of many rows, columns and groups is cut into tasks for threads.
#pragma once

#include <cstdint>

#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

struct GemmGrid {
    std::int64_t groups = 1;
    std::int64_t row_parts = 1;
    std::int64_t column_parts = 1;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t panel = 1;
    bool threaded = false;  // worth waking threads

    std::int64_t tasks() const { return groups * row_parts * column_parts; }

    struct Part {
        std::int64_t group, row_begin, row_end, column_begin, column_end;
    };
    Part part(std::int64_t task) const;

    // Calls body(part, slot) for each part. No two calls at the same time have the same slot in [0, slots).
    template <class Body>
    void run(ThreadPool& pool, int slots, const Body& body) const {
        if (!threaded) {
            for (std::int64_t task = 0; task < tasks(); ++task) body(part(task), 0);
        } else if (pool.threads() <= slots) {
            pool.parallel_for(tasks(), [&](std::int64_t task, int thread) { body(part(task), thread); });
        } else {
            pool.parallel_for(slots, [&](std::int64_t slot, int) {
                for (std::int64_t task = slot; task < tasks(); task += slots)
                    body(part(task), static_cast<int>(slot));
            });
        }
    }
};

// `columns` of each group's product of `rows` by k. Rows are cut unless there are few of them or the right
// matrix is the larger one: a part reads its own rows of A, but a whole panel of B for each of its columns.
GemmGrid gemm_grid(const ThreadPool& pool, std::int64_t groups, std::int64_t rows, std::int64_t columns,
                   std::int64_t k);

}  // namespace convlens::cpu
