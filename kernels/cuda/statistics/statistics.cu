#include "kernels/cuda/statistics/statistics.h"

#include <algorithm>
#include <limits>

#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 256;
constexpr int chunk = 16;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Shared memory takes no initial values, so that these have none of their own.
struct State {
    float min, max;
    std::uint32_t zeros, nans, infinities;
    double sum, squares;

    static __device__ __forceinline__ State empty() { return {infinity, -infinity, 0, 0, 0, 0, 0}; }

    __device__ __forceinline__ void join(const State& other) {
        min = fminf(min, other.min);
        max = fmaxf(max, other.max);
        zeros += other.zeros;
        nans += other.nans;
        infinities += other.infinities;
        sum += other.sum;
        squares += other.squares;
    }
};

__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) < infinity; }

// What a thread takes: cells `cell`, `cell` + rows, ... below `end` of one channel.
struct Cells {
    const float* data;  // the channel's
    std::int64_t cell, end;
    int rows;
    float origin;  // what its sums are about
};

// Any values and any steps, one at a time.
__device__ __noinline__ State take_any(State state, const StatisticsTensor& t, const Cells& cells) {
    for (std::int64_t cell = cells.cell; cell < cells.end; cell += cells.rows) {
        std::int64_t at[1] = {};
        locate(t.cells, cell, at);
        const float x = cells.data[at[0]];
        if (!is_finite(x)) {
            x != x ? ++state.nans : ++state.infinities;
            continue;
        }
        state.min = fminf(state.min, x);
        state.max = fmaxf(state.max, x);
        state.zeros += x == 0.0f;
        const double d = static_cast<double>(x) - cells.origin;
        state.sum += d;
        state.squares += d * d;
    }
    return state;
}

// `count` (1 to chunk) values in x, the rest of which repeats x[0]. False, with nothing done, where a value
// is not finite or the squares leave the range of f32.
__device__ __forceinline__ bool take_chunk(State& state, const float (&x)[chunk], int count, float origin) {
    const float pivot = x[0];
    float sum = 0.0f, squares = 0.0f, low = pivot, high = pivot;
    int zeros = 0;
#pragma unroll
    for (int i = 0; i < chunk; ++i) {
        const float d = x[i] - pivot;
        sum += d;
        squares += d * d;
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
        zeros += x[i] == 0.0f;
    }
    // NaN fails both. Equal values have no squares.
    if (!((squares > 1e-30f && squares < infinity) || (squares < infinity && sum == 0.0f))) return false;
    state.min = fminf(state.min, low);
    state.max = fmaxf(state.max, high);
    state.zeros += pivot == 0.0f ? zeros - (chunk - count) : zeros;
    const double shift = static_cast<double>(pivot) - origin, s = sum;
    state.sum += s + count * shift;
    state.squares += squares + shift * (2 * s + count * shift);
    return true;
}

// All cells are one step apart.
__device__ __forceinline__ State take_cells(State state, const StatisticsTensor& t, const Cells& cells) {
    const std::int64_t step = t.cells.strides[0][0] * cells.rows;
    const float* next = cells.data + cells.cell * t.cells.strides[0][0];
    for (std::int64_t cell = cells.cell; cell < cells.end; cell += chunk * cells.rows, next += chunk * step) {
        const int count =
            static_cast<int>(min(std::int64_t{chunk}, (cells.end - cell + cells.rows - 1) / cells.rows));
        float x[chunk];
        x[0] = next[0];
#pragma unroll
        for (int i = 1; i < chunk; ++i) x[i] = i < count ? next[i * step] : 0.0f;
#pragma unroll
        for (int i = 1; i < chunk; ++i) x[i] = i < count ? x[i] : x[0];
        if (!take_chunk(state, x, count, cells.origin)) {
            const std::int64_t end = min(cells.end, cell + chunk * cells.rows);
            state = take_any(state, t, {cells.data, cell, end, cells.rows, cells.origin});
        }
    }
    return state;
}

__device__ __forceinline__ float origin_of(const StatisticsTensor& t, std::int64_t channel) {
    const float first = t.data[channel * t.channel_stride];
    return is_finite(first) ? first : 0.0f;
}

// The tensor that this block belongs to, and the block's number in it.
__device__ int find_tensor(const std::uint32_t* first_blocks, int count, std::uint32_t& in_tensor) {
    __shared__ int found;
    __shared__ std::uint32_t number;
    for (int i = threadIdx.x; i < count; i += block) {
        const std::uint32_t first = first_blocks[i];
        if (first <= blockIdx.x && blockIdx.x < first_blocks[i + 1]) {
            found = i;
            number = blockIdx.x - first;
        }
    }
    __syncthreads();
    in_tensor = number;
    return found;
}

__global__ void __launch_bounds__(block) part_moments(const StatisticsMemory memory, int count) {
    __shared__ State states[block];
    std::uint32_t in_tensor = 0;
    const StatisticsTensor& t = memory.tensors[find_tensor(memory.first_blocks, count, in_tensor)];
    const int lanes = t.lanes, rows = t.rows;
    const std::uint32_t split = in_tensor / static_cast<std::uint32_t>(t.strips);
    const std::uint32_t strip = in_tensor - split * static_cast<std::uint32_t>(t.strips);
    const int lane = t.cells_fastest ? threadIdx.x / rows : threadIdx.x % lanes;
    const int row = t.cells_fastest ? threadIdx.x % rows : threadIdx.x / lanes;
    const std::int64_t channel = static_cast<std::int64_t>(strip) * lanes + lane;
    const std::int64_t end = min((split + 1) * t.split_cells, t.cells.count);
    State state = State::empty();
    if (channel < t.channels) {
        const Cells cells{t.data + channel * t.channel_stride, split * t.split_cells + row, end, rows,
                          origin_of(t, channel)};
        state = t.cells.rank == 1 ? take_cells(state, t, cells) : take_any(state, t, cells);
    }
    State& own = states[row * lanes + lane];
    own = state;
    for (int half = rows / 2; half > 0; half /= 2) {
        __syncthreads();
        if (row < half) own.join(states[(row + half) * lanes + lane]);
    }
    if (row == 0 && channel < t.channels)
        memory.parts[t.first_part + split * t.channels + channel] = {
            own.min, own.max, own.zeros, own.nans, own.infinities, 0, own.sum, own.squares};
}

// Of all channels that a thread has seen.
struct Whole {
    float min, max;
    std::uint64_t finite, zeros, nans, infinities;
    double mean, squares;

    static __device__ Whole empty() { return {infinity, -infinity, 0, 0, 0, 0, 0, 0}; }

    __device__ void join(const Whole& other) {
        min = fminf(min, other.min);
        max = fmaxf(max, other.max);
        zeros += other.zeros;
        nans += other.nans;
        infinities += other.infinities;
        if (other.finite == 0) return;
        const auto a = static_cast<double>(finite), b = static_cast<double>(other.finite);
        const double delta = other.mean - mean;
        finite += other.finite;
        mean += delta * (b / (a + b));
        squares += other.squares + delta * delta * (a * b / (a + b));
    }
};

__device__ Whole join_channel(const StatisticsTensor& t, const StatisticsPart* parts, std::int64_t channel) {
    Whole w = Whole::empty();
    double sum = 0;
#pragma unroll 4
    for (std::int64_t split = 0; split < t.splits; ++split) {
        const StatisticsPart part = parts[t.first_part + split * t.channels + channel];
        w.min = fminf(w.min, part.min);
        w.max = fmaxf(w.max, part.max);
        w.zeros += part.zeros;
        w.nans += part.nans;
        w.infinities += part.infinities;
        sum += part.sum;
        w.squares += part.squares;
    }
    w.finite = static_cast<std::uint64_t>(t.cells.count) - w.nans - w.infinities;
    if (w.finite > 0) {
        const double centre = sum / static_cast<double>(w.finite);
        w.mean = origin_of(t, channel) + centre;
        w.squares = fmax(w.squares - sum * centre, 0.0);
    }
    return w;
}

template <class Result, class Count>
__device__ __forceinline__ Result result_of(const Whole& w) {
    Result r{};
    if (w.finite > 0) {
        r.min = w.min;
        r.max = w.max;
        r.mean = static_cast<float>(w.mean);
        r.deviation = static_cast<float>(sqrt(w.squares / static_cast<double>(w.finite)));
    }
    r.zeros = static_cast<Count>(w.zeros);
    r.nans = static_cast<Count>(w.nans);
    r.infinities = static_cast<Count>(w.infinities);
    return r;
}

// A block a tensor.
__global__ void __launch_bounds__(block) join_moments(const StatisticsMemory memory) {
    __shared__ Whole wholes[block];
    const StatisticsTensor& t = memory.tensors[blockIdx.x];
    Whole& own = wholes[threadIdx.x];
    own = Whole::empty();
    for (std::int64_t channel = threadIdx.x; channel < t.channels; channel += block) {
        const Whole w = join_channel(t, memory.parts, channel);
        if (t.first_map >= 0)
            memory.map_results[t.first_map + channel] = result_of<MapResult, std::uint32_t>(w);
        own.join(w);
    }
    for (int half = block / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) own.join(wholes[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) memory.tensor_results[blockIdx.x] = result_of<TensorResult, std::uint64_t>(own);
}

__global__ void __launch_bounds__(block) count_bins(const __grid_constant__ HistogramParams p, Walk<1> walk) {
    __shared__ std::uint32_t bins[max_bins];
    for (int i = threadIdx.x; i < p.bins; i += block) bins[i] = 0;
    const float low = p.map != nullptr ? p.map->min : p.tensor->min;
    const float high = p.map != nullptr ? p.map->max : p.tensor->max;
    // In double: the distance of two floats can leave the range of f32.
    const double width = static_cast<double>(high) - low;
    const double scale = width > 0 ? p.bins / width : 0;
    __syncthreads();
    for (std::int64_t i = thread_number(); i < walk.count;
         i += static_cast<std::int64_t>(gridDim.x) * block) {
        std::int64_t at[1] = {};
        locate(walk, i, at);
        const float value = p.data[at[0]];
        if (!is_finite(value)) continue;
        const double position = width > 0 ? (static_cast<double>(value) - low) * scale : p.bins;
        atomicAdd(&bins[static_cast<int>(min(position, p.bins - 1.0))], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < p.bins; i += block)
        if (bins[i] > 0) atomicAdd(reinterpret_cast<unsigned long long*>(p.counts + i), bins[i]);
}

int power_of_two_above(std::int64_t n) {
    int power = 1;
    while (power < n && power < block) power *= 2;
    return power;
}

// Threads along channels where those are contiguous (whole cache lines of them), else along cells, a warp a
// channel where there are enough channels.
void divide(StatisticsTensor& t) {
    t.cells_fastest = t.channel_stride != 1;
    const int channels = power_of_two_above(t.channels), cells = power_of_two_above(t.cells.count);
    t.lanes = t.cells_fastest ? std::min(channels, block / std::min(32, cells))
                              : std::min(channels, std::max(32, block / cells));
    t.rows = block / t.lanes;
    constexpr std::int64_t most_splits = 32;
    t.split_cells = std::max<std::int64_t>(
        {512, std::int64_t{2} * chunk * t.rows, (t.cells.count + most_splits - 1) / most_splits});
    t.strips = (t.channels + t.lanes - 1) / t.lanes;
    t.splits = (t.cells.count + t.split_cells - 1) / t.split_cells;
}

}  // namespace

StatisticsPlan plan_statistics(const std::vector<StatisticsSource>& sources) {
    StatisticsPlan plan;
    for (const StatisticsSource& source : sources) {
        StatisticsTensor t;
        t.data = source.data;
        t.channels = source.channels;
        t.channel_stride = source.channel_stride;
        Layout cells;
        cells.rank = 3;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            cells.dims[axis] = source.dims[axis];
            cells.strides[axis] = source.strides[axis];
        }
        t.cells = make_walk(kernels::join({cells}), {0});
        if (t.channels > 0 && t.cells.count > 0) divide(t);
        plan.first_blocks.push_back(static_cast<std::uint32_t>(plan.blocks));
        t.first_part = plan.parts;
        plan.blocks += t.strips * t.splits;
        plan.parts += t.splits * t.channels;
        if (source.maps) {
            t.first_map = plan.maps;
            plan.maps += t.channels;
        }
        plan.tensors.push_back(t);
    }
    plan.first_blocks.push_back(static_cast<std::uint32_t>(plan.blocks));
    return plan;
}

void run_statistics(const StatisticsPlan& plan, const StatisticsMemory& memory, Stream stream) {
    if (plan.tensors.empty()) return;
    const auto count = static_cast<unsigned>(plan.tensors.size());
    if (plan.blocks > 0)
        part_moments<<<static_cast<unsigned>(plan.blocks), block, 0, stream>>>(memory,
                                                                               static_cast<int>(count));
    join_moments<<<count, block, 0, stream>>>(memory);
}

void run_histogram(const HistogramParams& params, int multiprocessors, Stream stream) {
    const Walk<1> walk = make_walk(params.shape, {0});
    if (walk.count == 0) return;
    const std::int64_t blocks = std::min<std::int64_t>(divide_up(walk.count, 8 * block),
                                                       std::int64_t{4} * std::max(multiprocessors, 1));
    count_bins<<<static_cast<unsigned>(blocks), block, 0, stream>>>(params, walk);
}

}  // namespace convlens::cuda
