#include "app/measure/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "app/measure/map_moments.h"
#include "convlens/error.h"

namespace convlens::measure {
namespace {

// One batch item as channels times cells, the cells' axes folded where memory allows.
struct Item {
    const float* data = nullptr;
    std::int64_t channels = 0, channel_stride = 0;
    std::array<std::int64_t, 3> dims{1, 1, 1}, strides{0, 0, 0};  // D H W

    std::int64_t cells() const { return dims[0] * dims[1] * dims[2]; }
};

// Joins neighbouring axes that one stride can walk, toward the last axis.
void fold(Item& item) {
    for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t axis = 2; axis > 0; --axis) {
            auto& outer = item.dims[axis - 1];
            auto& inner = item.dims[axis];
            if (outer == 1 && inner != 1) continue;
            if (inner == 1) {
                inner = outer;
                item.strides[axis] = item.strides[axis - 1];
                outer = 1;
            } else if (item.strides[axis - 1] == inner * item.strides[axis]) {
                inner *= outer;
                outer = 1;
            }
        }
    }
}

Item item_of(const float* data, const TensorDesc& desc, std::int64_t n) {
    const int rank = desc.rank();
    if (rank < 1 || rank > 5)
        throw Error(Status::bad_parameter, "statistics take tensors of rank 1 to 5, not " + desc.text());
    if (desc.type != DataType::f32)
        throw Error(Status::bad_parameter, "statistics take f32 tensors, not " + desc.text());
    const std::int64_t batch = rank == 1 ? 1 : desc.dims[0];
    if (n < 0 || n >= batch)
        throw Error(Status::bad_parameter,
                    "batch item " + std::to_string(n) + " is not in 0 to " + std::to_string(batch - 1));
    Item item;
    const int channel_axis = rank == 1 ? 0 : 1;
    item.channels = desc.dims[channel_axis];
    item.channel_stride = desc.strides[channel_axis];
    for (int axis = 2; axis < rank; ++axis) {
        const auto at = static_cast<std::size_t>(axis + 3 - rank);
        item.dims[at] = desc.dims[axis];
        item.strides[at] = desc.strides[axis];
    }
    if (item.channels == 0 || item.cells() == 0) return item;
    if (data == nullptr) throw Error(Status::bad_parameter, "statistics: data is null");
    item.data = data + (rank == 1 ? 0 : n * desc.strides[0]);
    fold(item);
    return item;
}

// Calls body(pointer to the first value, count) for stretches of cells [begin, end) that the last axis walks.
template <class Body>
void for_each_stretch(const Item& item, std::int64_t begin, std::int64_t end, const Body& body) {
    const std::int64_t width = item.dims[2];
    while (begin < end) {
        const std::int64_t w = begin % width, h = begin / width % item.dims[1],
                           d = begin / width / item.dims[1];
        const std::int64_t count = std::min(width - w, end - begin);
        body(item.data + d * item.strides[0] + h * item.strides[1] + w * item.strides[2], count);
        begin += count;
    }
}

// Contiguous values go to the kernel where they lie, others through a buffer on the stack.
Moments channel(const Item& item, std::int64_t c) {
    Moments moments;
    std::array<float, moments_block> buffer;
    std::int64_t filled = 0;
    for_each_stretch(item, 0, item.cells(), [&](const float* values, std::int64_t count) {
        values += c * item.channel_stride;
        const std::int64_t stride = item.strides[2];
        if (stride == 1 && count >= 64) {
            for (std::int64_t i = 0; i < count; i += moments_block)
                contiguous_moments(values + i, std::min(moments_block, count - i), moments);
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            buffer[static_cast<std::size_t>(filled++)] = values[i * stride];
            if (filled == moments_block) {
                contiguous_moments(buffer.data(), filled, moments);
                filled = 0;
            }
        }
    });
    if (filled > 0) contiguous_moments(buffer.data(), filled, moments);
    return moments;
}

std::vector<Moments> by_channel(const Item& item, cpu::ThreadPool& pool) {
    std::vector<Moments> moments(static_cast<std::size_t>(item.channels));
    const double operations = static_cast<double>(item.channels * item.cells()) * 4;
    const std::int64_t tasks = cpu::task_count(pool, operations, item.channels);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t c = item.channels * task / tasks; c < item.channels * (task + 1) / tasks; ++c)
            moments[static_cast<std::size_t>(c)] = channel(item, c);
    });
    return moments;
}

// Channels lie side by side: each task takes a stretch of cells, all channels of it.
std::vector<Moments> by_cell(const Item& item, cpu::ThreadPool& pool) {
    const std::int64_t cells = item.cells();
    const auto channels = static_cast<std::size_t>(item.channels);
    const double operations = static_cast<double>(item.channels * cells) * 4;
    const std::int64_t tasks = cpu::task_count(pool, operations, (cells + moments_cells - 1) / moments_cells);
    std::vector<Moments> parts(static_cast<std::size_t>(tasks) * channels);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        Moments* part = parts.data() + static_cast<std::size_t>(task) * channels;
        for_each_stretch(item, cells * task / tasks, cells * (task + 1) / tasks,
                         [&](const float* values, std::int64_t count) {
                             for (std::int64_t i = 0; i < count; i += moments_cells)
                                 channel_moments(values + i * item.strides[2],
                                                 std::min(moments_cells, count - i), item.strides[2],
                                                 item.channels, part);
                         });
    });
    for (std::size_t i = channels; i < parts.size(); ++i) parts[i % channels].join(parts[i]);
    parts.resize(channels);
    return parts;
}

std::vector<Moments> moments_of(const Item& item, cpu::ThreadPool& pool) {
    if (item.channels == 0) return {};
    if (item.cells() == 0) return std::vector<Moments>(static_cast<std::size_t>(item.channels));
    const bool channels_last = item.channel_stride == 1 && item.channels >= moments_lanes() &&
                               (item.strides[2] != 1 || item.dims[2] == 1);
    return channels_last ? by_cell(item, pool) : by_channel(item, pool);
}

MapStatistics statistics(const Moments& m) {
    MapStatistics s;
    s.count = m.finite + m.nans + m.infinities;
    s.nan_count = m.nans;
    s.inf_count = m.infinities;
    if (m.finite > 0) {
        s.min = m.min;
        s.max = m.max;
        s.mean = m.mean;
        s.deviation = std::sqrt(m.squares / static_cast<double>(m.finite));
    }
    if (s.count > 0) s.zero_share = static_cast<double>(m.zeros) / static_cast<double>(s.count);
    return s;
}

Moments moments(const MapStatistics& s) {
    Moments m;
    m.nans = s.nan_count;
    m.infinities = s.inf_count;
    m.finite = s.count - s.nan_count - s.inf_count;
    m.zeros = std::llround(s.zero_share * static_cast<double>(s.count));
    if (m.finite > 0) {
        m.min = s.min;
        m.max = s.max;
        m.mean = s.mean;
        m.squares = s.deviation * s.deviation * static_cast<double>(m.finite);
    }
    return m;
}

template <class Body>
void for_each_value(const Item& item, const Body& body) {
    // Channels inside when they lie side by side, else outside: in the order of memory.
    const bool inside = item.channel_stride == 1;
    for (std::int64_t outer = 0; outer < (inside ? 1 : item.channels); ++outer)
        for_each_stretch(item, 0, item.cells(), [&](const float* values, std::int64_t count) {
            values += outer * item.channel_stride;
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t c = 0; c < (inside ? item.channels : 1); ++c)
                    body(values[i * item.strides[2] + c]);
        });
}

}  // namespace

std::vector<MapStatistics> map_statistics(const float* data, const TensorDesc& desc, std::int64_t n,
                                          cpu::ThreadPool& pool) {
    std::vector<MapStatistics> result;
    for (const Moments& m : moments_of(item_of(data, desc, n), pool)) result.push_back(statistics(m));
    return result;
}

MapStatistics joined(const std::vector<MapStatistics>& maps) {
    Moments all;
    for (const MapStatistics& map : maps) all.join(moments(map));
    return statistics(all);
}

Histogram map_histogram(const float* data, const TensorDesc& desc, std::int64_t n, std::int64_t channel,
                        int bins) {
    Item item = item_of(data, desc, n);
    if (bins < 1) throw Error(Status::bad_parameter, "a histogram needs at least one bin");
    if (channel < -1 || channel >= item.channels)
        throw Error(Status::bad_parameter, "channel " + std::to_string(channel) + " is not in 0 to " +
                                               std::to_string(item.channels - 1));
    Histogram histogram;
    histogram.counts.assign(static_cast<std::size_t>(bins), 0);
    if (item.data == nullptr) return histogram;
    if (channel >= 0) {
        item.data += channel * item.channel_stride;
        item.channels = 1;
    }
    float lo = std::numeric_limits<float>::infinity(), hi = -lo;
    for_each_value(item, [&](float v) {
        if (std::isfinite(v)) {
            lo = std::min(lo, v);
            hi = std::max(hi, v);
        } else {
            ++(std::isnan(v) ? histogram.nan_count : histogram.inf_count);
        }
    });
    if (lo > hi) return histogram;  // no finite value
    histogram.lo = lo;
    histogram.hi = hi;
    // In double: the distance of two floats can leave the range of float.
    const double width = static_cast<double>(hi) - static_cast<double>(lo);
    const double scale = width > 0 ? bins / width : 0;
    for_each_value(item, [&](float v) {
        if (!std::isfinite(v)) return;
        const double position = width > 0 ? (static_cast<double>(v) - lo) * scale : bins;
        ++histogram.counts[static_cast<std::size_t>(std::min<double>(position, bins - 1))];
    });
    return histogram;
}

}  // namespace convlens::measure
