// Single-precision products whose common index comes first in both operands: C[i][j] (+)= sum over cells of
// A[cell][i] * B[cell][j]. That is what a filter's gradient is made of.
//
// One thread. Cells come in lines: within one the cells of A lie `a_step` floats apart and those of B
// `b_step`; lines lie anywhere. A cell of B is one or two whole vectors. Host memory.
//
// Arithmetic: one call sums its cells in order from zero, then adds that to C, so the bits depend only on how
// the caller cuts the cells into calls.
#pragma once

#include <cstdint>

namespace convlens::cpu {

// Floats of one vector.
std::int64_t outer_product_lanes();

struct OuterLines {
    const float* const* a = nullptr;  // cell 0 of each line, row 0
    const float* const* b = nullptr;  // cell 0 of each line
    std::int64_t lines = 0;
    std::int64_t cells = 0;  // of a line
    std::int64_t a_step = 0, b_step = 0;
};

// rows x vectors * lanes floats of C, row by row; `add`: to what is in C. Row i of A is float i of a cell.
void outer_product(const OuterLines& lines, std::int64_t rows, int vectors, bool add, float* c);

}  // namespace convlens::cpu
