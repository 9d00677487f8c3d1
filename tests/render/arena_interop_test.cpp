// Arenas of a CUDA backend, with a compute side and a graphics side that refuse when told to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/interop/arena.h"
#include "app/interop/interop.h"
#include "convlens/error.h"
#include "tests/render/scene.h"

namespace convlens::interop {
namespace {

using render::test::Scene;

// Compute on memory of the host: what CUDA would do, and refuse.
class FakeCompute final : public Compute {
  public:
    render::DeviceIdentity identity() const override { return identity_of_gpu; }
    std::unique_ptr<Mapping> import_memory(int, std::size_t bytes) override {
        if (refuse_imports) throw Error(Status::runtime_failure, "GPU A does not import the test's memory");
        ++imports;
        struct Memory : Mapping {
            Memory(int& count, std::size_t size)
                : live(count), memory(std::aligned_alloc(256, (size + 255) / 256 * 256)) {
                ++live;
            }
            ~Memory() override {
                --live;
                std::free(memory);
            }
            std::byte* data() const override { return static_cast<std::byte*>(memory); }
            int& live;
            void* memory;
        };
        return std::make_unique<Memory>(live_mappings, bytes);
    }
    std::unique_ptr<Semaphore> import_timeline(int) override {
        if (refuse_timelines)
            throw Error(Status::runtime_failure, "GPU A does not import the test's timeline");
        struct Recorder : Semaphore {
            Recorder(FakeCompute& owner, std::string to) : compute(owner), name(std::move(to)) {}
            void wait(std::uint64_t value) override {
                compute.log.push_back(name + " wait " + std::to_string(value));
            }
            void signal(std::uint64_t value) override {
                if (compute.dead) throw Error(Status::runtime_failure, "the device is gone");
                compute.log.push_back(name + " signal " + std::to_string(value));
            }
            FakeCompute& compute;
            std::string name;
        };
        return std::make_unique<Recorder>(*this, timelines++ % 2 == 0 ? "written" : "read");
    }
    std::byte* allocate(std::size_t bytes) override {
        if (bytes > free_bytes)
            throw Error(Status::runtime_failure, "GPU A has no " + std::to_string(bytes) + " bytes left");
        ++live_plain;
        return static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    }
    void release(std::byte* memory) noexcept override {
        --live_plain;
        std::free(memory);
    }
    void synchronize() override { ++synchronized; }
    void fetch(std::byte* host, const std::byte* src, std::span<const render::BlockPart> parts) override {
        for (const render::BlockPart& part : parts) {
            std::memcpy(host + part.offset, src + part.offset, part.bytes);
            fetched += part.bytes;
        }
        pieces += static_cast<int>(parts.size());
    }
    std::shared_ptr<void> pin(std::byte*, std::size_t) override { return nullptr; }

    render::DeviceIdentity identity_of_gpu{"GPU A", DeviceUuid{1, 2, 3}, "0000:01:00.0"};
    bool refuse_imports = false, refuse_timelines = false, dead = false;
    std::size_t free_bytes = std::size_t{1} << 40;
    int imports = 0, timelines = 0, live_mappings = 0, live_plain = 0, synchronized = 0, pieces = 0;
    std::size_t fetched = 0;
    std::vector<std::string> log;
};

class FakeSharing final : public render::Sharing {
  public:
    const render::DeviceIdentity& identity() const override { return identity_of_gpu; }
    const std::string& obstacle() const override { return why_not; }
    std::size_t largest_block() const override { return std::size_t{1} << 30; }
    Block export_block(std::size_t bytes, const char*) override {
        if (bytes > free_bytes)
            throw Error(Status::runtime_failure,
                        "Allocating " + std::to_string(bytes) + " bytes on GPU A failed");
        Block block;
        block.handle = block.address = next += 4096;
        block.bytes = bytes;
        live.insert(block.handle);
        return block;
    }
    Block mirror_block(std::size_t bytes, const char*, Fetch fetch) override {
        if (refuse_mirrors) throw Error(Status::runtime_failure, "no memory for a mirror");
        Block block;
        block.handle = block.address = next += 4096;
        block.bytes = bytes;
        live.insert(block.handle);
        fetches[block.handle] = std::move(fetch);
        return block;
    }
    void release(std::uint64_t handle) noexcept override {
        live.erase(handle);
        fetches.erase(handle);
    }
    render::FileDescriptor export_written() override { return {}; }
    render::FileDescriptor export_read() override { return {}; }
    void signal_written(std::uint64_t value) noexcept override { signalled = value; }

    render::DeviceIdentity identity_of_gpu{"GPU A (Vulkan)", DeviceUuid{1, 2, 3}, ""};
    std::string why_not;
    std::size_t free_bytes = std::size_t{1} << 40;
    bool refuse_mirrors = false;
    std::uint64_t next = 0, signalled = 0;
    std::set<std::uint64_t> live;
    std::map<std::uint64_t, Fetch> fetches;
};

struct Sides {
    std::shared_ptr<FakeCompute> compute = std::make_shared<FakeCompute>();
    std::shared_ptr<FakeSharing> sharing = std::make_shared<FakeSharing>();
    std::shared_ptr<CudaTimeline> timeline = std::make_shared<CudaTimeline>(compute, sharing);
    CudaArena arena(Mode mode, bool may_stage = true) const {
        return CudaArena(compute, sharing, mode == Mode::shared ? timeline : nullptr, {mode, "test"},
                         may_stage);
    }
};

TEST(CudaArena, SharedBlocksAreExportedAndImported) {
    Sides sides;
    auto arena = sides.arena(Mode::shared);
    EXPECT_NE(std::string(arena.name()).find("shared"), std::string::npos);
    const network::Block block = arena.allocate(1000, "activations");
    EXPECT_NE(block.data, nullptr);
    EXPECT_NE(block.device_address, 0u);
    EXPECT_EQ(sides.compute->live_mappings, 1);
    EXPECT_EQ(arena.mode(), Mode::shared);
    EXPECT_EQ(arena.staging_bytes(), 0u);
    EXPECT_EQ(arena.timeline(), sides.timeline.get());
    arena.release(block);
    EXPECT_EQ(sides.compute->synchronized, 1) << "work on the block may still run";
    EXPECT_EQ(sides.compute->live_mappings, 0);
    EXPECT_TRUE(sides.sharing->live.empty());
    arena.release(block);  // once is enough
    arena.release({});
}

TEST(CudaArena, ARefusedImportIsStagedAndSaysSo) {
    Sides sides;
    auto arena = sides.arena(Mode::shared);
    const network::Block shared = arena.allocate(1000, "activations");
    sides.compute->refuse_imports = true;
    const network::Block staged = arena.allocate(2000, "activations");
    EXPECT_EQ(arena.mode(), Mode::staged);
    EXPECT_NE(arena.reason().find("does not import"), std::string::npos);
    EXPECT_NE(staged.data, nullptr);
    EXPECT_NE(staged.device_address, 0u);
    EXPECT_GE(arena.staging_bytes(), 2000u);
    EXPECT_EQ(sides.sharing->live.size(), 2u) << "the exported block that was refused is gone";
    arena.release(staged);
    arena.release(shared);
    EXPECT_EQ(arena.staging_bytes(), 0u);
    EXPECT_EQ(sides.compute->live_plain + sides.compute->live_mappings, 0);
    EXPECT_TRUE(sides.sharing->live.empty());
}

TEST(CudaArena, ARefusedImportIsAnErrorWhereSharingWasDemanded) {
    Sides sides;
    auto arena = sides.arena(Mode::shared, false);
    sides.compute->refuse_imports = true;
    try {
        (void)arena.allocate(1000, "activations");
        ADD_FAILURE() << "the import was refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::not_supported);
        EXPECT_NE(std::string(error.what()).find("activations"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("staged"), std::string::npos) << "the remedy";
    }
    EXPECT_TRUE(sides.sharing->live.empty());
    EXPECT_EQ(arena.mode(), Mode::shared);
}

TEST(CudaArena, ExhaustedMemoryLeavesNothingBehind) {
    Sides sides;
    auto shared = sides.arena(Mode::shared), staged = sides.arena(Mode::staged);
    sides.sharing->free_bytes = sides.compute->free_bytes = 4096;
    EXPECT_THROW((void)shared.allocate(8192, "activations"), Error);
    EXPECT_EQ(shared.mode(), Mode::shared) << "want of memory is no refusal to share";
    EXPECT_THROW((void)staged.allocate(8192, "activations"), Error);
    sides.sharing->free_bytes = 8192;
    sides.compute->refuse_imports = true;
    EXPECT_THROW((void)shared.allocate(8192, "activations"), Error);
    EXPECT_EQ(shared.mode(), Mode::shared) << "neither is a refusal for want of memory";
    sides.sharing->refuse_mirrors = true;
    EXPECT_THROW((void)staged.allocate(4096, "activations"), Error);
    EXPECT_EQ(sides.compute->live_plain + sides.compute->live_mappings, 0);
    EXPECT_TRUE(sides.sharing->live.empty());
    EXPECT_EQ(staged.staging_bytes(), 0u);
}

TEST(CudaTimeline, QueuesBothWaysAndRises) {
    Sides sides;
    auto& log = sides.compute->log;
    { const ComputeWrites writes(*sides.timeline); }
    EXPECT_EQ(sides.timeline->written(), 1u);
    sides.timeline->add_reader(7);
    sides.timeline->add_reader(5);
    { const ComputeWrites writes(*sides.timeline); }
    { const ComputeWrites writes(*sides.timeline); }
    EXPECT_EQ(log, (std::vector<std::string>{"written signal 1", "read wait 7", "written signal 2",
                                             "written signal 3"}));
    EXPECT_EQ(sides.timeline->written(), 3u);
    sides.compute->dead = true;
    try {
        const ComputeWrites writes(*sides.timeline);
        throw std::runtime_error("kernel failed");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(sides.sharing->signalled, 4u) << "a reader never waits for a write that will not come";
    EXPECT_EQ(sides.timeline->written(), 4u);
}

// On this machine's Vulkan: a mirror of memory that no shader can see shows what compute wrote, and copies
// only that.
TEST(CudaArena, AMirrorShowsWhatIsFetched) {
    Scene scene(render::test::checked(64, 64));
    const auto compute = std::make_shared<FakeCompute>();
    const auto sharing = scene.renderer().sharing();
    CudaArena arena(compute, sharing, nullptr, {Mode::staged, "test"}, true);
    constexpr int side = 512;
    const network::Block block = arena.allocate(std::size_t{4} * side * side * 4, "activations");
    std::vector<render::AtlasTile> tiles;
    for (const int plane : {0, 3}) {
        auto* values = reinterpret_cast<float*>(block.data) + std::ptrdiff_t{plane} * side * side;
        for (int i = 0; i < side * side; ++i) values[i] = plane == 0 ? 1.0f : 0.0f;
        render::AtlasTile tile;
        tile.address = block.device_address + static_cast<std::uint64_t>(plane) * side * side * 4;
        tile.stride_y = side;
        tile.width = tile.height = side;
        tile.source_w = tile.source_h = side;
        tile.dst_w = tile.dst_h = 32;
        tile.dst_x = plane == 0 ? 0 : 32;
        tile.color_map = render::ColorMap::grey;
        tiles.push_back(tile);
    }
    const auto draw = [&] {
        const std::uint64_t id = scene.renderer().atlas("wall", 64, 64);
        scene.renderer().fill("wall", tiles, true, 0xff0000ffu);
        scene.refresh([&](ImDrawList& list) { list.AddImage(render::test::texture(id), {0, 0}, {64, 64}); });
        EXPECT_EQ(scene.renderer().last_read(), 0u) << "no memory of another API is read";
        scene.read();
    };
    draw();
    EXPECT_EQ(scene.pixel(10, 10), 0xffffffu);
    EXPECT_EQ(scene.pixel(40, 10), 0x000000u);
    EXPECT_EQ(scene.pixel(10, 40), 0xff0000u);
    EXPECT_EQ(compute->pieces, 2) << "planes between the two are not copied";
    EXPECT_EQ(compute->fetched, std::size_t{2} * side * side * 4);
    EXPECT_EQ(scene.renderer().figures().copied_bytes, compute->fetched);
    EXPECT_GE(scene.renderer().figures().fetch_ms, 0);
    for (int i = 0; i < side * side; ++i) reinterpret_cast<float*>(block.data)[i] = 0.0f;
    draw();
    EXPECT_EQ(scene.pixel(10, 10), 0x000000u) << "each refresh fetches anew";
    arena.release(block);
    draw();  // the address is of no block any more
    EXPECT_EQ(scene.pixel(10, 10), 0x000000u);
    EXPECT_EQ(compute->live_plain, 0);
    scene.expect_no_messages();
}

// A GPU without Vulkan: software draws, and what the network computes is staged, whatever is asked but
// `shared`.
TEST(Interop, VulkanOnAnotherDeviceThanCudaIsStaged) {
    Scene scene(render::test::checked(64, 64));
    const auto compute = std::make_shared<FakeCompute>();
    Interop link(scene.renderer(), compute, Request::automatic);
    EXPECT_EQ(link.arena()->mode(), Mode::staged);
    EXPECT_NE(link.arena()->reason().find("GPU A"), std::string::npos) << link.arena()->reason();
    EXPECT_EQ(compute->imports, 0) << "an import from another GPU is not even tried";
    EXPECT_THROW((void)link.switch_to(Request::shared), Error);
    EXPECT_EQ(link.switch_to(Request::staged)->mode(), Mode::staged);
    EXPECT_THROW(Interop(scene.renderer(), compute, Request::shared), Error);
    // What is fetched to a mirror binds no reader.
    EXPECT_FALSE(Interop::reader(link.arena(), scene.renderer(), [] {}));
}

TEST(Interop, OnTheProcessorTheWayIsSwitchedToo) {
    Scene scene(render::test::checked(64, 64));
    Interop link(scene.renderer(), nullptr, Request::automatic);
    EXPECT_EQ(link.arena()->mode(), Mode::host);
    const auto staged = link.switch_to(Request::staged);
    EXPECT_EQ(staged->mode(), Mode::staged);
    const network::Block block = staged->allocate(5000, "activations");
    EXPECT_GE(staged->staging_bytes(), 5000u);
    staged->release(block);
    EXPECT_EQ(staged->staging_bytes(), 0u);
    EXPECT_EQ(link.switch_to(Request::shared)->mode(), Mode::host);
    bool called = false;
    Interop::reader(staged, scene.renderer(), [&] { called = true; })();
    EXPECT_TRUE(called) << "the processor waits for the refresh itself";
}

TEST(Interop, ADriverThatExportsNothingIsStaged) {
    Facts facts;
    facts.cuda = true;
    facts.compute_uuid = facts.vulkan_uuid = DeviceUuid{4};
    facts.compute_device = facts.vulkan_device = "GPU A";
    facts.export_obstacle = "it has no VK_KHR_external_memory_fd";
    const Choice choice = choose_interop(Request::automatic, facts);
    EXPECT_EQ(choice.mode, Mode::staged);
    EXPECT_NE(choice.reason.find(facts.export_obstacle), std::string::npos);
    facts.vulkan_exports = true;
    facts.import_obstacle = "GPU A does not import a timeline of another API";
    EXPECT_EQ(choose_interop(Request::automatic, facts).reason, facts.import_obstacle);
}

}  // namespace
}  // namespace convlens::interop
