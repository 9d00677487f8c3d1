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
    bool split;
    Start start;
};

template <class S>
constexpr Tile tile_of() {
    return {S::rows, S::columns, S::split, start_aligned<S>};
}

//                   split  thread  warps  slices depth stages blocks
using Large = Shape<false, 8, 8, 2, 4, 1, 16, 2, 2>;   // 128 x 128
using Middle = Shape<false, 4, 8, 2, 2, 1, 16, 3, 4>;  // 64 x 64
using Flat = Shape<false, 4, 8, 1, 2, 4, 32, 3, 2>;    // 32 x 64
using Thin = Shape<false, 2, 8, 1, 2, 4, 32, 3, 2>;    // 16 x 64

const Tile tiles[] = {
    tile_of<Large>(),
    tile_of<Middle>(),
    tile_of<Flat>(),
    tile_of<Thin>(),
    {128, 128, true, split_large},
    {64, 64, true, split_middle},
    {128, 64, true, split_tall},
    {16, 64, true, split_thin},
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int choose(const BatchedGemm& gemm, const DeviceTraits& traits) {
    const bool split = gemm.may_split && traits.major >= 8;
    const auto blocks = [&](int tile) {
        return gemm.batch * ceil_div(gemm.rows, tiles[tile].rows) *
               ceil_div(gemm.columns, tiles[tile].columns);
    };
    const int large = split ? 4 : 0, middle = split ? 5 : 1, flat = split ? 5 : 2, thin = split ? 7 : 3;
    if (gemm.rows <= 16) return thin;
    if (gemm.rows <= 32) return flat;
    if (gemm.columns > 64 && gemm.rows > 64 && blocks(large) >= 2 * traits.multiprocessors) return large;
    if (blocks(middle) >= traits.multiprocessors / 2) return middle;
    return flat;
}

}  // namespace

void batched_gemm(const BatchedGemm& gemm, const DeviceTraits& traits, Stream stream) {
    const int tile = gemm.tile >= 0 ? std::min<int>(gemm.tile, std::size(tiles) - 1) : choose(gemm, traits);
    tiles[tile].start(gemm, stream);
}

}  // namespace convlens::cuda
