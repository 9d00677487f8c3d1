// The inner loops of map statistics: moments of blocks of values, vectorised.
#pragma once

#include <cstdint>
#include <limits>

namespace convlens::measure {

// Moments of the finite values of a set, and counts of the rest. Sets are joined exactly as if their values
// had been taken together (Chan's formula), so long maps are summed in blocks that stay in the cache.
struct Moments {
    float min = std::numeric_limits<float>::infinity();
    float max = -std::numeric_limits<float>::infinity();
    double mean = 0;
    double squares = 0;  // sum of squared distances from the mean
    std::int64_t finite = 0, zeros = 0, nans = 0, infinities = 0;

    void join(const Moments& other);
};

// Most contiguous values and most cells that the functions below take: what stays in the first cache.
inline constexpr std::int64_t moments_block = 4096;
inline constexpr std::int64_t moments_cells = 512;
// Fewest channels that channel_moments() takes.
std::int64_t moments_lanes();

// Joins `count` (at most moments_block) contiguous values to `into`: two passes over the block.
void contiguous_moments(const float* values, std::int64_t count, Moments& into);
// For each channel c of `channels` (at least moments_lanes()) the values at values[cell * stride + c] of
// `cells` (at most moments_cells) cells, joined to into[c].
void channel_moments(const float* values, std::int64_t cells, std::int64_t stride, std::int64_t channels,
                     Moments* into);

}  // namespace convlens::measure
