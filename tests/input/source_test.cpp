// Folders, patterns, and what a source refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "app/input/file.h"
#include "app/input/source.h"
#include "convlens/error.h"
#include "tests/input/encode.h"

namespace convlens {
namespace {

using namespace test;
using namespace input;

std::string refusal(const std::string& text) {
    try {
        open_source(text);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::bad_parameter);
        return error.what();
    }
    ADD_FAILURE() << text << " was opened";
    return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(FolderSource, SortedSteppedAndWrapped) {
    const ScratchFolder folder;
    const Bytes png = encode_png(2, 3, 2, 8, raster(2, 3, 3));
    for (const char* name : {"img10.png", "img2.png", "Apple.PNG", ".hidden.png"}) folder.write(name, png);
    folder.write("notes.txt", std::string("no picture"));
    std::filesystem::create_directory(folder.path("sub.png"));
    const auto source = open_source(folder.folder());
    EXPECT_EQ(source->count(), 3);
    EXPECT_EQ(source->text(), folder.folder());
    std::vector<std::string> names = {source->current()->name};
    std::vector<std::uint64_t> numbers = {source->current()->number};
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(source->step(1));
        names.push_back(source->current()->name);
        EXPECT_GT(source->current()->number, numbers.back());
        numbers.push_back(source->current()->number);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"Apple.PNG", "img2.png", "img10.png", "Apple.PNG"}));
    EXPECT_TRUE(source->step(-1));
    EXPECT_EQ(source->current()->name, "img10.png");
    EXPECT_EQ(source->position(), 2);
}

TEST(FolderSource, BrokenPicturesAreSkippedWithAMessage) {
    const ScratchFolder folder;
    folder.write("a.png", std::string("not a png"));
    folder.write("b.png", encode_png(2, 3, 2, 8, raster(2, 3, 3)));
    folder.write("c.jpg", Bytes{});
    folder.write("d.png", encode_png(4, 3, 2, 8, raster(4, 3, 3)));
    const auto source = open_source(folder.folder());
    EXPECT_EQ(source->current()->name, "b.png");
    auto messages = source->take_messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_TRUE(has(messages[0], "a.png")) << messages[0];
    EXPECT_TRUE(source->step(1));
    EXPECT_EQ(source->current()->name, "d.png");
    messages = source->take_messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_TRUE(has(messages[0], "c.jpg"));
    // All others gone: the source keeps what it has.
    std::filesystem::remove(folder.path("b.png"));
    std::filesystem::remove(folder.path("d.png"));
    EXPECT_FALSE(source->step(1));
    EXPECT_EQ(source->current()->name, "d.png");
    EXPECT_EQ(source->current()->width, 4);
}

TEST(FolderSource, NothingToShow) {
    const ScratchFolder folder;
    EXPECT_TRUE(has(refusal(folder.folder()), "holds no pictures"));
    folder.write("a.png", std::string("not a png"));
    const std::string text = refusal(folder.folder());
    EXPECT_TRUE(has(text, "a.png") && has(text, folder.folder())) << text;
}

TEST(Source, WhatThisBuildLacksIsSaid) {
    EXPECT_TRUE(has(refusal("camera"), "no camera module"));
    EXPECT_TRUE(has(refusal("camera:3"), "no camera module"));
    EXPECT_TRUE(has(refusal("draw"), "no drawing pad"));
    EXPECT_TRUE(has(refusal("film.mp4"), "no video module"));
    EXPECT_TRUE(has(refusal(""), "empty"));
    EXPECT_TRUE(has(refusal("/nowhere/at/all.png"), "does not exist"));
    const ScratchFolder folder;
    const auto source = open_source(folder.write("one.png", encode_png(2, 2, 2, 8, raster(2, 2, 3))));
    EXPECT_FALSE(source->step(1));
    EXPECT_FALSE(source->is_live());
    EXPECT_EQ(source->count(), 1);
}

int grey(const FramePtr& f, int x, int y) { return f->rgb[(static_cast<std::size_t>(y) * f->width + x) * 3]; }

TEST(Pattern, SizesOptionsAndDefaults) {
    for (const std::string& name : pattern_names()) {
        const auto source = open_source("pattern:" + name + ":31x17");
        const FramePtr frame = source->current();
        EXPECT_EQ(frame->width, 31);
        EXPECT_EQ(frame->height, 17);
        EXPECT_EQ(frame->rgb.size(), 31u * 17 * 3);
        EXPECT_EQ(frame->name, "pattern:" + name + ":31x17");
        EXPECT_EQ(source->text(), frame->name);
        EXPECT_EQ(make_pattern(name)->width, 224);
        EXPECT_NE(*std::max_element(frame->rgb.begin(), frame->rgb.end()),
                  *std::min_element(frame->rgb.begin(), frame->rgb.end()));
    }
}

TEST(Pattern, Contents) {
    const FramePtr impulse = make_pattern("impulse:9x5:x=2:y=3");
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 9; ++x) EXPECT_EQ(grey(impulse, x, y), x == 2 && y == 3 ? 255 : 0);
    const FramePtr checker = make_pattern("checker:cell=3:12x9");
    for (int y = 0; y < 9; ++y)
        for (int x = 0; x < 12; ++x) EXPECT_EQ(grey(checker, x, y), (x / 3 + y / 3) % 2 ? 255 : 0);
    const FramePtr edge = make_pattern("edge:10x6"), down = make_pattern("edge:10x6:angle=90");
    for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 10; ++x) {
            EXPECT_EQ(grey(edge, x, y), x < 5 ? 0 : 255);
            EXPECT_EQ(grey(down, x, y), y < 3 ? 0 : 255);
        }
    const FramePtr gradient = make_pattern("gradient:256x2");
    for (int x = 0; x < 256; ++x) EXPECT_EQ(grey(gradient, x, 1), x);
    const FramePtr grating = make_pattern("grating:100x3:frequency=10:phase=90");
    for (int x = 0; x < 100; ++x)
        EXPECT_NEAR(grey(grating, x, 1), 127.5 + 127.5 * std::cos(2 * std::numbers::pi * (x + 0.5 - 50) / 10),
                    0.51);
    const FramePtr noise = make_pattern("noise:3x2:seed=4");  // the same on every machine
    EXPECT_EQ((std::vector<int>{noise->rgb[0], noise->rgb[1], noise->rgb[2]}),
              (std::vector<int>{110, 228, 219}));
    EXPECT_NE(make_pattern("noise:8x8:seed=1")->rgb, make_pattern("noise:8x8:seed=2")->rgb);
}

TEST(PatternErrors, OptionAndRemedyAreNamed) {
    for (const char* text : {"", "chess", "checker:", "checker:0x5", "checker:5000x5", "checker:12x",
                             "checker:x12", "checker:cell=0", "checker:cell=a", "checker:cell=",
                             "checker:angle=3", "noise:seed=-1", "noise:seed=1.5", "impulse:4x4:x=4",
                             "impulse:4x4:y=-1", "grating:frequency=inf", "edge:angle=nan"}) {
        const std::string sentence = refusal(std::string("pattern:") + text);
        EXPECT_TRUE(has(sentence, std::string("pattern:") + text)) << sentence;
    }
    EXPECT_TRUE(has(refusal("pattern:chess"), "checker"));
    EXPECT_TRUE(has(refusal("pattern:grating:speed=3"), "frequency, angle, phase"));
}

TEST(WriteFile, OldFileStaysWhenTheNewOneFails) {
    const ScratchFolder folder;
    const std::string path = folder.write("r.json", std::string("old"));
    write_file(path, "new");
    const Bytes got = read_file(path, 100, "report");
    EXPECT_EQ(text_of(got), "new");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.folder()), {}), 1);
    for (const std::string& bad :
         {folder.folder(), folder.path("no/such/folder"), std::string("/dev/full"), std::string("")}) {
        try {
            write_file(bad, "bytes");
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::runtime_failure);
            EXPECT_TRUE(has(error.what(), "'" + bad + "'")) << error.what();
        }
    }
}

}  // namespace
}  // namespace convlens
