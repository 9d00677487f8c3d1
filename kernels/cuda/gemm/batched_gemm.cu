#include "kernels/cuda/gemm/batched_gemm.h"

#include <algorithm>
#include <iterator>

#include "kernels/cuda/gemm/batched_gemm.cuh"
#include "kernels/cuda/gemm/batched_gemm_split.h"

namespace convlens::cuda {
namespace {

using namespace batched;

struct Tile {
    int rows, columns;
    Start start;
};

template <class S>
constexpr Tile tile_of() {
    return {S::rows, S::columns, start_aligned<S>};
}

//                          thread   warps  slices depth stages blocks
using Middle = Shape<false, 4, 8, 2, 2, 1, 16, 3, 3>;   // 64 x 64
using Narrow = Shape<false, 4, 12, 4, 1, 1, 16, 3, 3>;  // 128 x 48
using Flat = Shape<false, 4, 8, 1, 2, 4, 32, 3, 2>;     // 32 x 64
using Thin = Shape<false, 2, 8, 1, 2, 4, 32, 3, 2>;     // 16 x 64

enum Index { middle, narrow, flat, thin, middle_split, tall_split, thin_split, narrow_split };
const Tile tiles[] = {
    tile_of<Middle>(),      tile_of<Narrow>(),     tile_of<Flat>(),      tile_of<Thin>(),
    {64, 64, split_middle}, {128, 64, split_tall}, {16, 64, split_thin}, {128, 48, split_narrow},
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int choose(const BatchedGemm& gemm, const DeviceTraits& traits) {
    const auto blocks = [&](int tile) {
        return gemm.batch * ceil_div(gemm.rows, tiles[tile].rows) *
               ceil_div(gemm.columns, tiles[tile].columns);
    };
    const bool vectors = gemm.depth % 4 == 0 && reinterpret_cast<std::uintptr_t>(gemm.a) % 16 == 0 &&
                         gemm.a_row % 4 == 0 && gemm.a_batch % 4 == 0;
    if (gemm.may_split && vectors && traits.major >= 8) {
        if (gemm.rows <= 16 || blocks(middle_split) < traits.multiprocessors) return thin_split;
        if (gemm.columns <= 48 && blocks(narrow_split) >= traits.multiprocessors) return narrow_split;
        return blocks(tall_split) >= 2 * traits.multiprocessors ? tall_split : middle_split;
    }
    if (gemm.rows <= 16) return thin;
    if (gemm.rows <= 32 || blocks(middle) < traits.multiprocessors / 2) return flat;
    if (gemm.columns <= 48 && blocks(narrow) >= traits.multiprocessors) return narrow;
    return middle;
}

}  // namespace

void batched_gemm(const BatchedGemm& gemm, const DeviceTraits& traits, Stream stream) {
    const int tile = gemm.tile >= 0 ? std::min<int>(gemm.tile, std::size(tiles) - 1) : choose(gemm, traits);
    tiles[tile].start(gemm, stream);
}

}  // namespace convlens::cuda
