#include "app/render/tile_pass.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

// The layouts that shaders and C++ share name GLSL's types.
namespace convlens::render {
#include "shaders/tile.h"
}

namespace convlens::render {
namespace {

constexpr std::uint32_t tile_code[] =
#include "tiles_comp.inc"
    ;

struct Push {
    std::uint64_t tiles, groups;
    std::uint32_t first_group, padding;
};

static_assert(sizeof(TileRecord) == 96 && sizeof(TileGroup) == 16);

// The largest dispatch that every device takes.
constexpr std::uint32_t max_groups = 65535;
// Far beyond any window: a bound for lists that overlap themselves without end.
constexpr std::size_t max_groups_per_refresh = std::size_t{1} << 22;

struct Span {
    std::uint64_t first = 0, last = 0;  // bytes that the tile may read
};

// Colours outside +-limit differ in no pixel; the limit keeps the range's inverse a normal number.
float finite_bound(float v) { return std::clamp(v, -4e37f, 4e37f); }

float inverse_range(float lo, float hi) {
    const double range = static_cast<double>(hi) - lo;
    return std::abs(range) < 1e-37 ? 0.0f : static_cast<float>(1.0 / range);
}

std::optional<Span> span_of(const AtlasTile& tile, int channels) {
    if (tile.address == 0 || tile.address % sizeof(float) != 0) return std::nullopt;
    using Wide = __int128;
    Wide low = 0, high = 0;
    const auto extend = [&](std::int64_t count, std::int64_t stride) {
        const Wide reach = Wide(count - 1) * stride * 4;
        (reach < 0 ? low : high) += reach;
    };
    extend(tile.width, tile.stride_x);
    extend(tile.height, tile.stride_y);
    extend(channels, tile.stride_c);
    low += tile.address;
    high += tile.address;
    high += 3;
    if (low <= 0 || high > Wide(std::numeric_limits<std::uint64_t>::max())) return std::nullopt;
    return Span{static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)};
}

// The same bytes in few pieces, ascending and apart: small gaps cost less than further copies.
std::vector<BlockPart> joined_parts(std::vector<Span> spans) {
    constexpr std::uint64_t joined_gap = 64 * 1024;
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
    std::vector<BlockPart> parts;
    for (const Span& span : spans) {
        const std::uint64_t end = span.last + 1;
        if (!parts.empty() && span.first <= parts.back().offset + parts.back().bytes + joined_gap)
            parts.back().bytes = std::max(parts.back().bytes, end - parts.back().offset);
        else
            parts.push_back({span.first, end - span.first});
    }
    return parts;
}

// Where the picture of an axis starts and how far one pixel goes. The quarter of the smallest step keeps
// whole and rational zooms on the same side of a map pixel's edge as exact arithmetic.
std::pair<float, float> axis(float source, float source_size, std::int32_t dst, std::int32_t dst_size,
                             std::int32_t clip) {
    const double scale = static_cast<double>(source_size) / dst_size;
    const double start = source + (static_cast<double>(clip) - dst) * scale + 0.25 / dst_size;
    return {static_cast<float>(start), static_cast<float>(scale)};
}

}  // namespace

struct TilePass::Work {
    struct Batch {  // workgroups of one atlas, kind and colour map
        const Texture* atlas = nullptr;
        std::uint32_t kind = 0, color_map = 0;
        bool use_view = false;
        VkDescriptorSet values = VK_NULL_HANDLE;
        std::size_t first_group = 0, groups = 0;
        bool after_barrier = false;               // may overwrite what an earlier batch of this refresh wrote
        std::optional<std::uint32_t> clear_rgba;  // instead of workgroups: fills the whole atlas
    };
    std::vector<TileRecord> tiles;
    std::vector<TileGroup> groups;
    std::vector<Batch> batches;
    std::map<std::shared_ptr<ArenaBlock>, std::vector<Span>> staged;  // offsets in blocks that are copied
    std::set<std::shared_ptr<ArenaBlock>> external;

    std::set<const Texture*> atlases() const {
        std::set<const Texture*> result;
        for (const Batch& batch : batches) result.insert(batch.atlas);
        return result;
    }
    // Batches of one atlas may overlap: the later one wins.
    Batch& begin_batch(const Texture& atlas, std::uint32_t kind, std::uint32_t map) {
        Batch batch{.atlas = &atlas, .kind = kind, .color_map = map, .first_group = groups.size()};
        batch.after_barrier = std::any_of(batches.begin(), batches.end(),
                                          [&](const Batch& earlier) { return earlier.atlas == &atlas; });
        return batches.emplace_back(batch);
    }
    void push(Batch& batch, const TileRecord& tile) {
        const auto count = [](std::int32_t size, int step) {
            return static_cast<std::uint32_t>((size + step - 1) / step);
        };
        const std::uint32_t across = count(tile.clip_x1 - tile.clip_x0, TILE_GROUP_WIDTH);
        const std::uint32_t down = count(tile.clip_y1 - tile.clip_y0, TILE_GROUP_HEIGHT);
        if (groups.size() + std::size_t{across} * down > max_groups_per_refresh) return;
        for (std::uint32_t y = 0; y < down; ++y)
            for (std::uint32_t x = 0; x < across; ++x)
                groups.push_back({static_cast<std::uint32_t>(tiles.size()), x, y, 0});
        batch.groups += std::size_t{across} * down;
        tiles.push_back(tile);
    }
};

TilePass::TilePass(Device& device, DescriptorPool& pool, std::shared_ptr<ArenaBook> book)
    : device_(device),
      book_(std::move(book)),
      nothing_(device,
               {.bytes = 256, .usage = VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, .name = "no values"}),
      no_values_(device, nothing_.handle(), 256),
      layout_(device, {pool.storage_layout(), no_values_.layout()}, VK_SHADER_STAGE_COMPUTE_BIT,
              sizeof(Push)),
      shader_(device, tile_code) {}

TilePass::~TilePass() {
    for (const auto& [key, pipeline] : pipelines_) vkDestroyPipeline(device_.handle(), pipeline, nullptr);
}

VkPipeline TilePass::pipeline(std::uint32_t kind, std::uint32_t color_map, bool use_view) {
    VkPipeline& result = pipelines_[{kind, color_map, use_view}];
    if (result != VK_NULL_HANDLE) return result;
    const std::uint32_t values[3] = {kind, color_map, use_view ? 1u : 0u};
    const VkSpecializationMapEntry entries[3] = {{0, 0, 4}, {1, 4, 4}, {2, 8, 4}};
    const VkSpecializationInfo special{3, entries, sizeof values, values};
    const VkComputePipelineCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader_.handle(),
                  .pName = "main",
                  .pSpecializationInfo = &special},
        .layout = layout_.handle()};
    check(vkCreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &result),
          "Creating a tile pipeline");
    return result;
}

namespace {

bool has_finite_source(const AtlasTile& tile) {
    return std::isfinite(tile.source_x) && std::isfinite(tile.source_y) && std::isfinite(tile.source_w) &&
           std::isfinite(tile.source_h);
}

// Channels that the shader reads.
int channels_read(const AtlasTile& tile) {
    if (tile.kind == TileKind::aggregate) return tile.channels;
    return tile.kind == TileKind::picture && tile.channels >= 3 ? 3 : 1;
}

// The part of the tile inside the atlas; false when nothing is.
bool clip_to(const AtlasTile& tile, int width, int height, TileRecord& record) {
    if (tile.dst_w <= 0 || tile.dst_h <= 0) return false;
    const auto clip = [](std::int64_t v, int limit) {
        return static_cast<std::int32_t>(std::clamp<std::int64_t>(v, 0, limit));
    };
    record.clip_x0 = record.dst_x = clip(tile.dst_x, width);
    record.clip_y0 = record.dst_y = clip(tile.dst_y, height);
    record.clip_x1 = clip(std::int64_t{tile.dst_x} + tile.dst_w, width);
    record.clip_y1 = clip(std::int64_t{tile.dst_y} + tile.dst_h, height);
    return record.clip_x1 > record.clip_x0 && record.clip_y1 > record.clip_y0;
}

// `window`: the view that holds the whole tile, or null; `base`: the address of its block.
void describe_source(const AtlasTile& tile, const ValueViews::Window* window, std::uint64_t base,
                     TileRecord& record) {
    const int channels = channels_read(tile);
    const std::int64_t unit = window != nullptr ? 1 : sizeof(float);
    record.address = window != nullptr ? (tile.address - base - window->first) / sizeof(float) : tile.address;
    // The stride of an axis of one element means nothing and may be any number.
    record.stride_x = tile.width > 1 ? tile.stride_x * unit : 0;
    record.stride_y = tile.height > 1 ? tile.stride_y * unit : 0;
    record.stride_c = channels > 1 ? tile.stride_c * unit : 0;
    record.width = tile.width;
    record.height = tile.height;
    record.channels = channels;
    std::tie(record.source_x, record.scale_x) =
        axis(tile.source_x, tile.source_w, tile.dst_x, tile.dst_w, record.clip_x0);
    std::tie(record.source_y, record.scale_y) =
        axis(tile.source_y, tile.source_h, tile.dst_y, tile.dst_h, record.clip_y0);
    record.lo = finite_bound(tile.lo);
    record.inverse_range = std::isfinite(tile.lo) && std::isfinite(tile.hi)
                               ? inverse_range(record.lo, finite_bound(tile.hi))
                               : 0.0f;
}

}  // namespace

void TilePass::add(const TileFill& fill, Work& work) const {
    const Texture& atlas = *fill.atlas;
    if (fill.clear) work.begin_batch(atlas, TILE_KIND_CLEAR, 0).clear_rgba = fill.clear_rgba;
    // One batch for each kind, colour map and view, whatever their order in the list.
    struct Key {
        std::uint32_t kind = TILE_KIND_CLEAR, color_map = 0;
        bool use_view = false;
        VkDescriptorSet values = VK_NULL_HANDLE;
        auto operator<=>(const Key&) const = default;
    };
    std::map<Key, std::vector<TileRecord>> sorted;
    for (const AtlasTile& tile : fill.tiles) {
        TileRecord record{};
        if (!clip_to(tile, atlas.image.width(), atlas.image.height(), record)) continue;
        const std::uint32_t kind = static_cast<std::uint32_t>(tile.kind);
        const int channels = channels_read(tile);
        std::shared_ptr<ArenaBlock> block;
        std::optional<Span> span;
        if (kind < TILE_KIND_CLEAR && tile.width > 0 && tile.height > 0 && channels > 0 &&
            has_finite_source(tile))
            span = span_of(tile, channels);
        if (span) block = book_->find(span->first, span->last);
        if (block == nullptr) {
            sorted[Key{.values = no_values_.any().set}].push_back(record);
            continue;
        }
        const std::uint64_t base = block->address();
        if (block->copy || block->is_mirror)
            work.staged[block].push_back({span->first - base, span->last - base});
        if (block->external) work.external.insert(block);
        const ValueViews::Window* window = block->views->find(span->first - base, span->last - base);
        describe_source(tile, window, base, record);
        const std::uint32_t map = std::min(static_cast<std::uint32_t>(tile.color_map), color_map_count - 1);
        sorted[{kind, kind == TILE_KIND_PICTURE ? 0u : map, window != nullptr,
                window != nullptr ? window->set : block->views->any().set}]
            .push_back(record);
    }
    for (const auto& [key, records] : sorted) {
        Work::Batch& batch = work.begin_batch(atlas, key.kind, key.color_map);
        batch.use_view = key.use_view;
        batch.values = key.values;
        for (const TileRecord& record : records) work.push(batch, record);
    }
}

void TilePass::copy_staged(VkCommandBuffer commands, const Work& work, TileFigures& figures) const {
    if (std::none_of(work.staged.begin(), work.staged.end(),
                     [](const auto& entry) { return static_cast<bool>(entry.first->copy); }))
        return;
    VkMemoryBarrier2 barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                             .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                             .srcAccessMask = VK_ACCESS_2_SHADER_READ_BIT,
                             .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                             .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT};
    const VkDependencyInfo info{
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
    for (const auto& [block, spans] : work.staged) {
        if (!block->copy) continue;
        std::vector<VkBufferCopy> regions;
        for (const BlockPart& part : joined_parts(spans)) {
            regions.push_back({part.offset, part.offset, part.bytes});
            figures.copied_bytes += part.bytes;
        }
        vkCmdCopyBuffer(commands, block->memory.handle(), block->copy.handle(),
                        static_cast<std::uint32_t>(regions.size()), regions.data());
    }
    barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
               .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
               .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
               .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
               .dstAccessMask = VK_ACCESS_2_SHADER_READ_BIT};
    vkCmdPipelineBarrier2(commands, &info);
}

void TilePass::fetch_mirrors(const Work& work, TileFigures& figures) const {
    using Clock = std::chrono::steady_clock;
    for (const auto& [block, spans] : work.staged) {
        if (!block->is_mirror) continue;
        const Clock::time_point start = Clock::now();
        // An earlier refresh may still read what is about to be overwritten.
        device_.wait(std::min(block->last_read, device_.timeline().last()));
        const std::vector<BlockPart> parts = joined_parts(spans);
        {
            const std::lock_guard lock(block->fetch_mutex);
            if (!block->fetch) continue;
            block->fetch(block->memory.mapped(), parts);
        }
        block->last_read = device_.timeline().peek_next();
        for (const BlockPart& part : parts) figures.copied_bytes += part.bytes;
        figures.fetch_ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
}

void TilePass::pass_blocks(VkCommandBuffer commands, const Work& work, bool acquire) const {
    std::vector<VkBufferMemoryBarrier2> barriers;
    for (const auto& block : work.external) {
        // Chained to the wait for compute's timeline, which is for the same stage; the end of a refresh is
        // signalled after all of its commands.
        VkBufferMemoryBarrier2 barrier{.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                       .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                       .srcQueueFamilyIndex = device_.family(),
                                       .dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                       .buffer = block->memory.handle(),
                                       .size = VK_WHOLE_SIZE};
        if (acquire) {
            barrier.dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
            barrier.dstAccessMask = VK_ACCESS_2_SHADER_READ_BIT;
            std::swap(barrier.srcQueueFamilyIndex, barrier.dstQueueFamilyIndex);
        }
        barriers.push_back(barrier);
    }
    if (barriers.empty()) return;
    const VkDependencyInfo info{.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                .bufferMemoryBarrierCount = static_cast<std::uint32_t>(barriers.size()),
                                .pBufferMemoryBarriers = barriers.data()};
    vkCmdPipelineBarrier2(commands, &info);
}

TileFigures TilePass::record(VkCommandBuffer commands, std::span<const TileFill> fills, Buffer& buffer) {
    TileFigures figures;
    Work work;
    for (const TileFill& fill : fills) add(fill, work);
    if (work.batches.empty()) return figures;

    const std::size_t tile_bytes = work.tiles.size() * sizeof(TileRecord);
    const std::size_t groups_at = (tile_bytes + 255) / 256 * 256;
    const std::size_t group_bytes = work.groups.size() * sizeof(TileGroup);
    grow(device_, buffer,
         {.bytes = groups_at + group_bytes,
          .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
          .name = "tiles"});
    std::memcpy(buffer.mapped(), work.tiles.data(), tile_bytes);
    std::memcpy(buffer.mapped() + groups_at, work.groups.data(), group_bytes);
    figures.uploaded_bytes = tile_bytes + group_bytes;
    fetch_mirrors(work, figures);
    copy_staged(commands, work, figures);
    figures.reads_external = !work.external.empty();
    pass_blocks(commands, work, true);

    const ImageUse written{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT,
                           VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
                           VK_IMAGE_LAYOUT_GENERAL};
    for (const Texture* atlas : work.atlases())
        transition(commands, atlas->image.handle(), texture_idle, written);
    for (const Work::Batch& batch : work.batches) {
        if (batch.after_barrier) transition(commands, batch.atlas->image.handle(), written, written);
        if (batch.clear_rgba) {
            clear_image(commands, batch.atlas->image.handle(), *batch.clear_rgba);
            continue;
        }
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                          pipeline(batch.kind, batch.color_map, batch.use_view));
        const VkDescriptorSet sets[2] = {batch.atlas->storage, batch.values};
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_.handle(), 0, 2, sets, 0,
                                nullptr);
        for (std::size_t done = 0; done < batch.groups; done += max_groups) {
            const Push push{buffer.address(), buffer.address() + groups_at,
                            static_cast<std::uint32_t>(batch.first_group + done), 0};
            vkCmdPushConstants(commands, layout_.handle(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                               &push);
            vkCmdDispatch(commands,
                          static_cast<std::uint32_t>(std::min<std::size_t>(batch.groups - done, max_groups)),
                          1, 1);
            ++figures.dispatches;
        }
    }
    for (const Texture* atlas : work.atlases())
        transition(commands, atlas->image.handle(), written, texture_idle);
    pass_blocks(commands, work, false);
    return figures;
}

}  // namespace convlens::render
