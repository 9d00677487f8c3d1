// Single-precision matrix products with an epilogue: C[m][n] (+)= sum over k of A[m][k] * B[k][n].
//
// One thread. B is packed once into panels two vectors wide; A is read where it lies, row by row: either with
// a leading dimension, or through a table of pointers (the rows of a convolution, which never exist as a
// matrix). Offsets are 64-bit. Host memory. The packed form belongs to the vector target in use when it was
// made; it never changes within a process.
//
// Arithmetic: C = activation(A * B + bias + residual). An element is summed in rising k, cut into parts at
// places that depend on k alone, so its bits depend neither on m, on the place of its row, nor on how the
// caller splits the work between threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/activation.h"

namespace convlens::cpu {

// Columns of one panel (two vectors) and the most rows of one register tile, on this processor.
std::int64_t gemm_panel_columns();
std::int64_t gemm_tile_rows();

// Floats of packed B: k times n rounded up to whole vectors. Panel p (columns from p * gemm_panel_columns())
// begins at float p * gemm_panel_columns() * k.
std::size_t gemm_packed_size(std::int64_t k, std::int64_t n);
// B[k][n] at b[k * row_stride + n * column_stride]. Pads with zeros.
void gemm_pack_b(std::int64_t k, std::int64_t n, const float* b, std::int64_t row_stride,
                 std::int64_t column_stride, float* packed);

// The same with k in two levels: row outer * inner + i at data[outer * outer_stride + i * inner_stride].
struct GemmRightMatrix {
    const float* data = nullptr;
    std::int64_t outer = 1, inner = 0;
    std::int64_t outer_stride = 0, inner_stride = 0;
    std::int64_t column_stride = 1;
};
void gemm_pack_b(const GemmRightMatrix& b, std::int64_t n, float* packed);

// Of whole rows of C: pointers are at column 0 of the product.
struct GemmEpilogue {
    const float* bias = nullptr;  // n values, or null
    // Added before the activation; element m n lies where C's lies from c. It may be C itself.
    const float* residual = nullptr;
    Activation activation;
};

// C at c[m * ldc + n * column_stride].
struct GemmOutput {
    float* c = nullptr;
    std::int64_t ldc = 0;
    std::int64_t column_stride = 1;
    bool accumulate = false;  // add to what is in C
};

// Columns [n_begin, n_end) of the product only; n_begin is a multiple of gemm_panel_columns(), n_end too or
// is n. m, n and k may be any number >= 0; k = 0 leaves the epilogue of 0 (or of C).
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
          const float* packed_b, const GemmOutput& output, const GemmEpilogue& epilogue, std::int64_t n_begin,
          std::int64_t n_end);
// All columns.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
          const float* packed_b, const GemmOutput& output, const GemmEpilogue& epilogue = {});

// How m rows are cut into register tiles: `rows` each, the last may have fewer.
struct GemmTiling {
    std::int64_t tiles = 0;
    std::int64_t rows = 0;
};
GemmTiling gemm_tiling(std::int64_t m);

// A as pointers: row i of tile t is the concatenation, over runs r, of `length` floats from
// a[(t * runs + r) * gemm_tile_rows() + i]; so k = runs * length. The tiling is gemm_tiling(m).
struct GemmRows {
    const float* const* a = nullptr;
    std::int64_t m = 0;
    std::int64_t runs = 0;
    std::int64_t length = 0;
    const std::int64_t* c_offsets = nullptr;  // m values: where each row of C begins, from c
};
// Keeps one panel of B while it goes over all rows, so m should be a block whose rows of A stay in the cache.
// output.ldc is not used.
void gemm_rows(const GemmRows& rows, std::int64_t n, const float* packed_b, const GemmOutput& output,
               const GemmEpilogue& epilogue, std::int64_t n_begin, std::int64_t n_end);

}  // namespace convlens::cpu
