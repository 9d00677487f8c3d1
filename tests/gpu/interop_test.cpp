// CUDA and Vulkan on one GPU: no map is torn or stale, shared and staged show the same bits, memory comes
// back.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "app/engine/engine.h"
#include "app/interop/interop.h"
#include "convlens/external.h"
#include "tests/render/scene.h"

namespace convlens {
namespace {

using engine::SnapshotPtr;
using render::AtlasTile;
using render::test::Scene;

const std::string root = CONVLENS_SOURCE_DIR;

// A renderer on the first CUDA device's GPU, and what joins them.
struct Joined {
    explicit Joined(interop::Request request = interop::Request::automatic, bool validation = true)
        : device(cuda_devices().front()),
          scene(options_of(device, validation)),
          context(std::make_shared<Context>(
              ContextOptions{.backend = Backend::cuda, .threads = 2, .device = device.number})),
          link(scene.renderer(), interop::compute_of(context, device), request) {}

    static render::RendererOptions options_of(const DeviceInfo& device, bool validation) {
        render::RendererOptions options = render::test::checked(512, 512);
        options.validation = validation;
        options.wanted_devices = {interop::identity_of(device)};
        return options;
    }
    bool shares() const { return link.arena()->mode() == interop::Mode::shared; }

    DeviceInfo device;
    Scene scene;
    std::shared_ptr<Context> context;
    interop::Interop link;
};

#define NEED_SHARED(joined) \
    if (!(joined).shares()) GTEST_SKIP() << "no shared memory here: " << (joined).link.arena()->reason()

// Draws the tiles and the window, hands the arena back while the GPU may still read it, and returns the
// picture.
std::vector<std::uint8_t> show(Joined& joined, const SnapshotPtr& snapshot, std::span<const AtlasTile> tiles,
                               const std::function<void(std::function<void()>)>& end_read) {
    render::Renderer& renderer = joined.scene.renderer();
    const int width = renderer.width(), height = renderer.height();
    const std::uint64_t id = renderer.atlas("wall", 1024, 1024);
    renderer.fill("wall", tiles, true, 0xff000000u);
    const auto finished = joined.scene.refresh(
        [&](ImDrawList& list) {
            list.AddImage(render::test::texture(id), {0, 0},
                          {static_cast<float>(width), static_cast<float>(height)}, {0, 0},
                          {static_cast<float>(width) / 1024, static_cast<float>(height) / 1024});
        },
        snapshot->written);
    end_read(interop::Interop::reader(snapshot->memory, renderer, finished));
    return renderer.read_pixels();
}

AtlasTile grey_tile(std::uint64_t address, int width, int height, int size, float lo, float hi) {
    AtlasTile tile;
    tile.address = address;
    tile.stride_y = width;
    tile.width = width;
    tile.height = height;
    tile.source_w = static_cast<float>(width);
    tile.source_h = static_cast<float>(height);
    tile.dst_w = tile.dst_h = size;
    tile.color_map = render::ColorMap::grey;
    tile.lo = lo;
    tile.hi = hi;
    return tile;
}

// What stands in a float whose bytes are all equal.
float repeated(unsigned char byte) {
    float value = 0;
    std::memset(&value, byte, sizeof value);
    return value;
}

unsigned char mark_of(std::uint64_t pass) { return static_cast<unsigned char>(0x31 + pass % 61); }

// Passes that write their number everywhere, by the exchange that the engine uses. While a pass is at work
// its memory holds a value that no pass ends with. Without a wait on the processor anywhere: only the
// timelines keep order.
class Writer {
  public:
    explicit Writer(Joined& joined, int changes_every) : joined_(joined), changes_every_(changes_every) {
        exchange.publish(std::make_shared<engine::Snapshot>());
        plan(joined.link.arena(), 0);
        thread_ = std::thread([this] { loop(); });
    }
    ~Writer() {
        stop_ = true;
        exchange.stop();
        thread_.join();
        exchange.wait_for_readers();
        release();
    }
    void switch_to(std::shared_ptr<interop::ArenaAllocator> arena) {
        const std::lock_guard lock(mutex_);
        wanted_ = std::move(arena);
    }
    int side_of(std::uint64_t pass) {
        const std::lock_guard lock(mutex_);
        return sides_.at(pass);
    }
    engine::ArenaExchange exchange{2};

  private:
    void plan(std::shared_ptr<interop::ArenaAllocator> arena, int number) {
        arena_ = std::move(arena);
        side_ = 1024 + 512 * (number % 5);
        const auto bytes = static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_) * sizeof(float);
        for (auto& block : blocks_) block = arena_->allocate(bytes, "numbers");
    }
    void release() {
        for (auto& block : blocks_) arena_->release(block);
    }
    void write(int at, std::uint64_t pass) {
        const network::Block& block = blocks_[static_cast<std::size_t>(at)];
        {
            const network::ComputeWrites writes(arena_->timeline());
            for (int i = 0; i < 4; ++i) joined_.context->fill(block.data, 0x20, block.bytes);
            joined_.context->fill(block.data, mark_of(pass), block.bytes);
        }
        // What is fetched has been computed when it is published.
        if (arena_->mode() != interop::Mode::shared) joined_.context->synchronize();
    }
    SnapshotPtr snapshot_of(int at, std::uint64_t pass) {
        auto snapshot = std::make_shared<engine::Snapshot>();
        snapshot->pass = pass;
        snapshot->arena = at;
        snapshot->network = std::make_shared<engine::NetworkInfo>();
        snapshot->memory = arena_;
        if (arena_->timeline() != nullptr) snapshot->written = arena_->timeline()->written();
        snapshot->address = {blocks_[static_cast<std::size_t>(at)].device_address};
        const std::lock_guard lock(mutex_);
        sides_[pass] = side_;
        return snapshot;
    }
    void loop() {
        try {
            for (std::uint64_t pass = 1; !stop_; ++pass) {
                std::shared_ptr<interop::ArenaAllocator> wanted;
                {
                    const std::lock_guard lock(mutex_);
                    wanted = std::exchange(wanted_, nullptr);
                }
                if (wanted != nullptr || pass % static_cast<std::uint64_t>(changes_every_) == 0) {
                    // As a new model: new memory is written before the old goes.
                    const auto old_blocks = blocks_;
                    const auto old_arena = arena_;
                    plan(wanted != nullptr ? wanted : arena_, static_cast<int>(pass / 7));
                    write(0, pass);
                    exchange.retire_all(snapshot_of(0, pass));
                    for (const auto& block : old_blocks) old_arena->release(block);
                    continue;
                }
                const int at = exchange.begin_write();
                if (at < 0) break;
                write(at, pass);
                exchange.publish(snapshot_of(at, pass));
            }
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
    }

    Joined& joined_;
    const int changes_every_;
    std::shared_ptr<interop::ArenaAllocator> arena_;
    std::array<network::Block, 2> blocks_;
    int side_ = 0;
    std::mutex mutex_;
    std::map<std::uint64_t, int> sides_;
    std::shared_ptr<interop::ArenaAllocator> wanted_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// Every pixel shows the middle of the range round the number of the pass.
int wrong_pixels(const std::vector<std::uint8_t>& rgb, int width, int size) {
    int wrong = 0;
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            const int value = rgb[static_cast<std::size_t>(3 * (y * width + x))];
            wrong += value < 118 || value > 138;
        }
    return wrong;
}

void show_numbers(Joined& joined, int refreshes, bool with_switches) {
    Writer writer(joined, 40);
    int bad = 0, shown = 0;
    std::uint64_t last_pass = 0, changes = 0;
    for (int i = 0; shown < refreshes && i < 20 * refreshes; ++i) {
        if (i % 50 == 49) joined.scene.renderer().resize(256 + 64 * (i / 50 % 5), 512 - 64 * (i / 50 % 4));
        if (with_switches && i % 100 == 99)
            writer.switch_to(
                joined.link.switch_to(i % 200 == 99 ? interop::Request::staged : interop::Request::shared));
        const SnapshotPtr snapshot = writer.exchange.begin_read();
        if (snapshot->network == nullptr) {
            writer.exchange.end_read({});
            std::this_thread::yield();
            continue;
        }
        const int side = writer.side_of(snapshot->pass);
        const float value = repeated(mark_of(snapshot->pass));
        const int size = std::min({256, joined.scene.renderer().width(), joined.scene.renderer().height()});
        const AtlasTile tile = grey_tile(snapshot->address[0], side, side, size, 0, 2 * value);
        const auto rgb = show(joined, snapshot, {&tile, 1}, [&](std::function<void()> fence) {
            writer.exchange.end_read(std::move(fence));
        });
        const int wrong = wrong_pixels(rgb, joined.scene.renderer().width(), size);
        if (wrong > 0 && ++bad < 5)
            ADD_FAILURE() << "refresh " << i << ", pass " << snapshot->pass << ": " << wrong << " of "
                          << size * size << " pixels are of another pass";
        changes += snapshot->pass != last_pass;
        last_pass = snapshot->pass;
        ++shown;
    }
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(shown, refreshes);
    EXPECT_GT(changes, static_cast<std::uint64_t>(refreshes / 4)) << "few passes were seen";
    std::printf("%d refreshes, %llu passes shown of %llu\n", shown, static_cast<unsigned long long>(changes),
                static_cast<unsigned long long>(last_pass));
}

TEST(GpuInterop, NoMapIsTornOrStaleInSharedMemory) {
    Joined joined;
    NEED_SHARED(joined);
    show_numbers(joined, 1000, false);
    EXPECT_EQ(joined.scene.renderer().figures().copied_bytes, 0u);
    joined.scene.expect_no_messages();
}

TEST(GpuInterop, NoMapIsTornOrStaleWhileTheWayIsSwitched) {
    Joined joined;
    NEED_SHARED(joined);
    show_numbers(joined, 600, true);
    joined.scene.expect_no_messages();
}

TEST(GpuInterop, StagedWithoutAnySharing) {
    Joined joined(interop::Request::staged);
    EXPECT_EQ(joined.link.arena()->mode(), interop::Mode::staged);
    show_numbers(joined, 200, false);
    EXPECT_GT(joined.scene.renderer().figures().copied_bytes, 0u);
    joined.scene.expect_no_messages();
}

// Compute is held up until the refreshes that show it have been handed over: would the window's thread wait
// for it, this test would never end.
// Without validation: its layers take the host's signal for late, since they do not see those of CUDA.
TEST(GpuInterop, ARefreshNeverWaitsForCompute) {
    Joined joined(interop::Request::automatic, false);
    NEED_SHARED(joined);
    const auto arena = joined.link.arena();
    constexpr int side = 512;
    const network::Block block = arena->allocate(std::size_t{side} * side * sizeof(float), "numbers");
    const auto compute = interop::compute_of(joined.context, joined.device);
    const auto sharing = joined.scene.renderer().sharing();
    const render::FileDescriptor written = sharing->export_written();
    const auto timeline = compute->import_timeline(written.get());
    timeline->wait(1);
    joined.context->fill(block.data, mark_of(1), block.bytes);
    timeline->signal(2);

    render::Renderer& renderer = joined.scene.renderer();
    const AtlasTile tile = grey_tile(block.device_address, side, side, 256, 0, 2 * repeated(mark_of(1)));
    std::function<void()> finished;
    for (int i = 0; i < 2; ++i) {
        const std::uint64_t id = renderer.atlas("wall", 256, 256);
        renderer.fill("wall", {&tile, 1}, true, 0xff000000u);
        finished = joined.scene.refresh(
            [&](ImDrawList& list) {
                list.AddImage(render::test::texture(id), {0, 0}, {256, 256});
            },
            2);
    }
    sharing->signal_written(1);
    finished();
    EXPECT_EQ(wrong_pixels(renderer.read_pixels(), renderer.width(), 256), 0);
    joined.context->synchronize();
    arena->release(block);
}

// ---- with the engine and real networks ----

struct Window {
    explicit Window(Joined& to) : joined(to), engine(options_of(to)) {}
    static engine::EngineOptions options_of(Joined& joined) {
        engine::EngineOptions options;
        options.context = joined.context;
        options.allocator = joined.link.arena();
        return options;
    }
    static input::FramePtr frame(int number) {
        auto frame = std::make_shared<input::Frame>();
        frame->width = 96 + 8 * (number % 3);
        frame->height = 96;
        frame->name = std::to_string(number);
        for (int i = 0; i < frame->width * frame->height * 3; ++i)
            frame->rgb.push_back(static_cast<std::uint8_t>((i * (number + 3) + number * 31) % 251));
        return frame;
    }
    // Every map that lies in memory, one pixel of the atlas for each of many places; and what it belongs to.
    std::vector<std::uint8_t> maps(std::string& key) {
        const SnapshotPtr snapshot = engine.begin_read();
        if (snapshot->network == nullptr || snapshot->frame == nullptr) {
            engine.end_read();
            return {};
        }
        std::vector<AtlasTile> tiles;
        int at = 0;
        for (std::size_t i = 0; i < snapshot->address.size() && at < 256; ++i) {
            const TensorDesc& desc = snapshot->network->tensors[i].desc;
            if (snapshot->address[i] == 0 || desc.rank() != 4 || desc.is_empty()) continue;
            AtlasTile tile = grey_tile(snapshot->address[i], static_cast<int>(desc.dims[3]),
                                       static_cast<int>(desc.dims[2]), 16, -2, 2);
            tile.stride_x = desc.strides[3];
            tile.stride_y = desc.strides[2];
            tile.dst_x = at % 16 * 16;
            tile.dst_y = at / 16 * 16;
            ++at;
            tiles.push_back(tile);
        }
        key = snapshot->network->model_name + " " + network::to_string(snapshot->network->mode) + " " +
              snapshot->frame->name + " " + std::to_string(snapshot->statistics_layer);
        shown_pass = snapshot->pass;
        const auto memory = std::dynamic_pointer_cast<interop::ArenaAllocator>(snapshot->memory);
        mode = memory->mode();
        return show(joined, snapshot, tiles,
                    [&](std::function<void()> fence) { engine.end_read(std::move(fence)); });
    }
    void expect_no_messages() {
        for (const auto& message : engine.take_messages())
            if (message.kind == engine::Message::Kind::error) ADD_FAILURE() << message.text;
    }

    Joined& joined;
    engine::Engine engine;
    std::uint64_t shown_pass = 0;
    interop::Mode mode = interop::Mode::host;
};

const std::string models[] = {root + "/assets/models/face-landmarks.onnx",
                              root + "/assets/models/efficientnet-lite0.onnx"};

// Passes over one picture give the same bits, so every picture of the same thing is the first one, whichever
// way its maps came to the screen. Changes of model, mode, way, picture and window size all the while.
TEST(GpuInterop, RealNetworksShowTheSameBitsEachWay) {
    Joined joined;
    NEED_SHARED(joined);
    Window window(joined);
    window.engine.open_model(models[0]);
    window.engine.set_frame(Window::frame(0));
    ASSERT_TRUE(window.engine.run_passes(1));
    std::map<std::string, std::vector<std::uint8_t>> first;
    std::map<std::string, int> ways;  // bit 1 shared, 2 staged
    std::uint64_t last_pass = 0;
    int compared = 0, differing = 0, passes = 0;
    for (int i = 0; i < 1000; ++i) {
        if (i % 10 == 9) window.engine.set_frame(Window::frame(i / 10 % 4));
        if (i % 60 == 59) window.engine.open_model(models[i / 60 % 2]);
        if (i % 90 == 89) window.engine.set_mode(i / 90 % 2 ? network::Mode::explore : network::Mode::lean);
        if (i % 130 == 129)
            window.engine.set_allocator(
                joined.link.switch_to(i / 130 % 2 ? interop::Request::shared : interop::Request::staged));
        const int tall = i / 75 % 3;
        if (i % 75 == 74) joined.scene.renderer().resize(320 + 64 * tall, 300 + 32 * tall);
        std::string key;
        const auto rgb = window.maps(key);
        if (rgb.empty()) continue;
        passes += window.shown_pass != last_pass;
        last_pass = window.shown_pass;
        // The part of the window that every size shows.
        const auto width = static_cast<std::size_t>(joined.scene.renderer().width());
        std::vector<std::uint8_t> part;
        for (std::size_t y = 0; y < 256; ++y)
            part.insert(part.end(), rgb.begin() + static_cast<std::ptrdiff_t>(y * width * 3),
                        rgb.begin() + static_cast<std::ptrdiff_t>((y * width + 256) * 3));
        ways[key] |= window.mode == interop::Mode::shared ? 1 : 2;
        const auto [entry, fresh] = first.try_emplace(key, part);
        if (fresh) continue;
        ++compared;
        if (entry->second != part && ++differing < 4)
            ADD_FAILURE() << "refresh " << i << " shows other bits of " << key << ", "
                          << interop::to_string(window.mode);
    }
    EXPECT_EQ(differing, 0);
    const auto both =
        std::count_if(ways.begin(), ways.end(), [](const auto& way) { return way.second == 3; });
    EXPECT_GT(both, 0) << "nothing was seen both ways";
    EXPECT_GT(compared, 500);
    std::printf("%d refreshes compared over %zu things, %td of them both ways; %d passes seen\n", compared,
                first.size(), both, passes);
    window.expect_no_messages();
    joined.scene.expect_no_messages();
}

TEST(GpuInterop, MemoryComesBackAfterTwoHundredModels) {
    Joined joined;
    NEED_SHARED(joined);
    Window window(joined);
    window.engine.set_frame(Window::frame(0));
    std::string key;
    const auto open = [&](int number) {
        window.engine.open_model(models[number % 2]);
        ASSERT_TRUE(window.engine.run_passes(1));
        (void)window.maps(key);
    };
    const auto settled = [&] {
        for (int i = 0; i < 4; ++i) (void)window.maps(key);  // what was put off is destroyed
        return memory_state(*joined.context).free_bytes;
    };
    for (int i = 0; i < 6; ++i) open(i);
    const std::size_t before = settled();
    const std::uint64_t vulkan_before = joined.scene.renderer().memory_budget().first;
    for (int i = 0; i < 200; ++i) open(i);
    const std::size_t after = settled();
    const std::uint64_t vulkan_after = joined.scene.renderer().memory_budget().first;
    std::printf("free before %zu, after %zu; Vulkan uses %llu, then %llu\n", before, after,
                static_cast<unsigned long long>(vulkan_before),
                static_cast<unsigned long long>(vulkan_after));
    // The driver gives memory in pieces of 2 MiB.
    EXPECT_LE(before, after + (std::size_t{4} << 20));
    EXPECT_LE(vulkan_after, vulkan_before + (std::uint64_t{4} << 20));
    window.expect_no_messages();
    joined.scene.expect_no_messages();
}

// A network that needs more than there is leaves the shown one as it was.
TEST(GpuInterop, ExhaustedMemoryIsARefusedBlock) {
    Joined joined;
    NEED_SHARED(joined);
    std::vector<network::Block> blocks;
    const auto arena = joined.link.arena();
    std::string refusal;
    try {
        for (int i = 0; i < 1000; ++i) blocks.push_back(arena->allocate(arena->largest_block(), "all of it"));
    } catch (const Error& error) {
        refusal = error.what();
        EXPECT_EQ(error.status(), Status::runtime_failure);
    }
    EXPECT_NE(refusal.find("bytes"), std::string::npos) << refusal;
    EXPECT_FALSE(blocks.empty());
    for (const auto& block : blocks) arena->release(block);
    const network::Block small = arena->allocate(1 << 20, "again");
    joined.context->fill(small.data, 1, small.bytes);
    joined.context->synchronize();
    arena->release(small);
    EXPECT_EQ(arena->mode(), interop::Mode::shared) << arena->reason();
    std::printf("%zu blocks of %zu bytes, then: %s\n", blocks.size(), arena->largest_block(),
                refusal.c_str());
}

}  // namespace
}  // namespace convlens
