// The gradient of the filter: dw[k][c][tap] = sum over t of dy[k][t] * x[c][t moved by the tap], where t runs
// over the cells of dy in all images. A product of matrices whose left one (a row for each tap and channel of
// x, a column for each t) is never stored.
//
// A block has 128 rows (tap, channel) and 32 to 128 outputs of one group, and a part of t. Both operands lie
// in shared memory as rows of 128 bytes along t, their 16-byte chunks exchanged by row; they go there through
// registers, where four channels of four (or eight) t are turned, rounded and split. So every layout of src
// and diff will do; where four channels lie side by side and aligned, they are loaded at once. Where t leads
// to is found once a step by each warp, computed or read from a table of the cells of an image.
//
// Three engines multiply: multiply-adds of f32; the matrix instructions of a warp (compute capability 8.0);
// those of four warps (9.0a), which read shared memory themselves. Arithmetic of the latter two:
//   tf32        both operands rounded to TF32
//   split_tf32  x = high + low in TF32 each, three products; needs 4 products a sum for the bound of fp32. An
//               infinite operand gives NaN
//   fp16, bf16  operands rounded to 16 bits, or tensors of that type
// The matrix instructions truncate sums: they sum few products, additions in f32 do the rest.
//
// Parts of t go through the workspace and are added in their order, then scaled and written to dst by a
// second kernel; or, on demand, are added to dst by atomics in no order (f32).
//
// Limits: 2^31 cells of dy; axes and windows of 2^29 cells; 2^31 blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/common/convolution_bwd.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

enum class FilterEngine : std::uint8_t { multiply_add, warp, warp_group };
enum class FilterMath : std::uint8_t { fp32, tf32, split_tf32, fp16, bf16 };

// What a plan knows: a value without pointers.
struct BwdFilter {
    BwdFilterParams problem;
    FilterEngine engine = FilterEngine::multiply_add;
    FilterMath math = FilterMath::fp32;
    bool table = false;          // cells of an image are tabulated
    bool early = false;          // the device starts kernels before the ones before them end
    bool atomic = false;         // parts are added to dst in no order
    bool channels_inner = true;  // rows: taps, then channels; else channels, then taps
    bool src_quads = false;      // 4 channels may be loaded at once where the pointer is aligned
    bool diff_quads = false;     // the same for outputs
    int outputs_tile = 64;
    int splits = 1;
    std::int64_t rows = 0, padded_rows = 0;        // taps x channels of a group
    std::int64_t outputs = 0, padded_outputs = 0;  // of a group
    std::int64_t cells = 0;                        // t
    std::int64_t steps = 0;                        // of 128 bytes along t
    std::size_t table_bytes = 0, workspace_bytes = 0;
    double executed_flops = 0;
    double ns = 0;  // an estimate, to compare with other kernels
};

// One sentence why it can't be done, or nothing.
std::string bwd_filter_reject(const BwdFilterParams& problem);
BwdFilter bwd_filter_params(const BwdFilterParams& problem, FilterEngine engine, FilterMath math,
                            const DeviceTraits& traits);
// Changes the parts of t (tests of the splits), or the kind of the last sum.
void bwd_filter_set(BwdFilter& params, int outputs_tile, int splits, bool table, bool atomic);

// Device memory: src, diff and dst at the element with index 0 ... 0.
void bwd_filter(const BwdFilter& params, const void* src, const void* diff, void* dst, void* workspace,
                Stream stream);

}  // namespace convlens::cuda
