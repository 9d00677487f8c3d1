// The choice of the way from compute to the screen, and the order of writes and reads.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "app/interop/policy.h"
#include "app/interop/timeline.h"
#include "convlens/error.h"

namespace convlens::interop {
namespace {

Facts cuda_facts() {
    Facts facts;
    facts.cuda = facts.vulkan_exports = facts.cuda_imports = true;
    facts.compute_device = "GPU A";
    facts.vulkan_device = "GPU A (Vulkan)";
    facts.compute_uuid = facts.vulkan_uuid = DeviceUuid{1, 2, 3};
    return facts;
}

TEST(Interop, ProcessorKernelsShareHostMemory) {
    Facts facts;
    facts.vulkan_device = "llvmpipe";
    for (const Request request : {Request::automatic, Request::shared}) {
        const Choice choice = choose_interop(request, facts);
        EXPECT_STREQ(to_string(choice.mode), "host");
        EXPECT_NE(choice.reason.find("llvmpipe"), std::string::npos);
    }
    EXPECT_STREQ(to_string(choose_interop(Request::staged, facts).mode), "staged");
}

TEST(Interop, EachObstacleIsNamedAndStagedInstead) {
    EXPECT_EQ(choose_interop(Request::automatic, cuda_facts()).mode, Mode::shared);
    EXPECT_EQ(choose_interop(Request::staged, cuda_facts()).mode, Mode::staged);
    std::vector<Facts> obstacles(5, cuda_facts());
    obstacles[0].compute_uuid.reset();
    obstacles[1].vulkan_uuid.reset();
    obstacles[2].vulkan_uuid = DeviceUuid{9};
    obstacles[3].vulkan_exports = false;
    obstacles[4].cuda_imports = false;
    for (const Facts& facts : obstacles) {
        const Choice choice = choose_interop(Request::automatic, facts);
        EXPECT_EQ(choice.mode, Mode::staged);
        EXPECT_FALSE(choice.reason.empty());
        try {
            choose_interop(Request::shared, facts);
            ADD_FAILURE() << "shared was demanded";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::not_supported);
            EXPECT_NE(std::string(error.what()).find(choice.reason), std::string::npos);
        }
    }
}

TEST(Interop, ThePlaceOnTheBusStandsInForAMissingUuid) {
    Facts facts = cuda_facts();
    facts.compute_uuid.reset();
    facts.compute_pci = "0000:3B:00.0";
    EXPECT_EQ(choose_interop(Request::automatic, facts).mode, Mode::staged);
    facts.vulkan_pci = "0000:3b:00.0";
    EXPECT_EQ(choose_interop(Request::automatic, facts).mode, Mode::shared);
    facts.vulkan_pci = "0000:3c:00.0";
    EXPECT_EQ(choose_interop(Request::automatic, facts).mode, Mode::staged);
    facts.compute_uuid = DeviceUuid{1, 2, 3};
    EXPECT_EQ(choose_interop(Request::automatic, facts).mode, Mode::shared) << "UUIDs come first";
}

std::vector<DeviceInfo> two_gpus() {
    std::vector<DeviceInfo> devices(2);
    devices[0] = {.number = 0, .name = "GPU A", .uuid = {1}, .pci = "0000:01:00.0", .compute_major = 9};
    devices[1] = {.number = 1, .name = "GPU B", .uuid = {2}, .pci = "0000:02:00.0", .compute_major = 8};
    return devices;
}

TEST(Backend, IsFoundOrRefusedWithTheReason) {
    const auto gpus = two_gpus();
    EXPECT_EQ(choose_backend("auto", -1, gpus, "").backend, Backend::cuda);
    EXPECT_EQ(choose_backend("auto", 1, gpus, "").device, 1);
    EXPECT_EQ(choose_backend("cpu", -1, gpus, "").backend, Backend::cpu);
    EXPECT_EQ(choose_backend("cpu", 7, gpus, "").backend, Backend::cpu) << "Vulkan's number then";
    EXPECT_THROW((void)choose_backend("cuda", 2, gpus, ""), Error);
    auto old_first = two_gpus();
    old_first[0].compute_major = 6;
    EXPECT_EQ(choose_backend("auto", -1, old_first, "").device, 1) << "the first that runs the kernels";
    EXPECT_THROW((void)choose_backend("auto", 0, old_first, ""), Error);
    old_first.pop_back();
    EXPECT_EQ(choose_backend("auto", -1, old_first, "").backend, Backend::cpu);
    EXPECT_NE(choose_backend("auto", -1, old_first, "").reason.find("compute capability 6.0"),
              std::string::npos);
    EXPECT_THROW((void)choose_backend("cuda", -1, old_first, ""), Error);
    // A driver older than the toolkit, no driver, no GPU: the library says which.
    const std::string why = "the NVIDIA driver is for CUDA 11.4, this program needs CUDA 13.0";
    const BackendChoice choice = choose_backend("auto", -1, {}, why);
    EXPECT_EQ(choice.backend, Backend::cpu);
    EXPECT_EQ(choice.reason, why);
    try {
        (void)choose_backend("cuda", -1, {}, why);
        ADD_FAILURE() << "there is no device";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::not_supported);
        EXPECT_NE(std::string(error.what()).find(why), std::string::npos);
    }
}

TEST(Backend, AWindowComputesWhereItDraws) {
    const auto gpus = two_gpus();
    EXPECT_EQ(device_of_window(-1, gpus, identity_of(gpus[1])), 1);
    EXPECT_EQ(device_of_window(0, gpus, identity_of(gpus[1])), 0) << "asked for";
    EXPECT_EQ(device_of_window(-1, gpus, {"llvmpipe", DeviceUuid{9}, ""}), 0);
    EXPECT_EQ(device_of_window(-1, gpus, {"by its place", std::nullopt, "0000:02:00.0"}), 1);
}

TEST(Interop, RequestsAreParsed) {
    EXPECT_EQ(parse_request("auto"), Request::automatic);
    EXPECT_EQ(parse_request("shared"), Request::shared);
    EXPECT_EQ(parse_request("staged"), Request::staged);
    EXPECT_FALSE(parse_request("Shared"));
    EXPECT_FALSE(parse_request(""));
}

TEST(HostTimeline, WritesWaitForReadersAndRise) {
    HostTimeline timeline;
    std::vector<int> order;
    EXPECT_EQ(timeline.written(), 0u);
    timeline.add_reader({});
    timeline.add_reader([&] { order.push_back(1); });
    timeline.add_reader([&] { order.push_back(2); });
    {
        const ComputeWrites writes(timeline);
        order.push_back(3);
        EXPECT_EQ(timeline.written(), 0u);
    }
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(timeline.written(), 1u);
    try {
        const ComputeWrites writes(timeline);
        throw std::runtime_error("kernel failed");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(timeline.written(), 2u) << "a failed write still signals";
    EXPECT_EQ(order.size(), 3u) << "a fence is called once";
}

}  // namespace
}  // namespace convlens::interop
