#include "harness.h"

namespace convlens::test {
namespace {

void check_lengths(const Dims& dims, int axis, const std::vector<std::int64_t>& lengths, Lay to) {
    ConcatProblem p;
    p.axis = axis;
    Dims total = dims;
    total[axis] = 0;
    std::vector<Guarded> data;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        Dims own = dims;
        own[axis] = lengths[i];
        total[axis] += lengths[i];
        p.srcs.push_back(make_desc(own, all_lays[i % 3]));
        data.emplace_back(p.srcs.back());
        data.back().fill([&](const Index& index) { return noise(index, i + 1); });
    }
    p.dst = make_desc(total, to);
    std::vector<const void*> sources;
    for (auto& d : data) sources.push_back(d.data());
    run_all(
        p, sources, p.dst,
        [&](const Index& index) {
            Index at = index;
            std::size_t which = 0;
            auto& along = at[static_cast<std::size_t>(axis)];
            while (along >= lengths[which]) along -= lengths[which++];
            return double(data[which].get(at));
        },
        0, 2);
}

TEST(Concat, EveryAxisLayoutAndCount) {
    for (int axis = 0; axis < 4; ++axis)
        for (const Lay to : all_lays) {
            check_lengths({2, 3, 5, 4}, axis, {1}, to);
            check_lengths({2, 3, 5, 4}, axis, {3, 0, 7, 1, 16, 5}, to);
        }
    for (std::int64_t c = 1; c <= 33; ++c) check_lengths({1, 0, 3, 2}, 1, {c, 34 - c, 3}, Lay::channels_last);
    check_lengths({2, 1, 64, 65}, 1, {24, 40}, Lay::channels_last);
    check_lengths({7}, 0, {3, 4, 9}, Lay::packed);
}

TEST(Concat, OtherTypes) {
    for (const DataType type : {DataType::i64, DataType::u8, DataType::f16}) {
        ConcatProblem p;
        p.axis = 1;
        p.srcs = {TensorDesc::packed({2, 3}, type), TensorDesc::packed({2, 2}, type)};
        p.dst = TensorDesc::packed({2, 5}, type);
        Guarded a(p.srcs[0]), b(p.srcs[1]), dst(p.dst);
        for (std::size_t i = 0; i < p.srcs[0].bytes(); ++i) a.data()[i] = static_cast<std::uint8_t>(i + 1);
        for (std::size_t i = 0; i < p.srcs[1].bytes(); ++i) b.data()[i] = static_cast<std::uint8_t>(i + 101);
        execute(*make_plan(context(), p), context(),
                {.sources = std::vector<const void*>{a.data(), b.data()}, .dst = dst.data()});
        const std::size_t size = size_of(type);
        EXPECT_EQ(std::memcmp(dst.data() + 5 * size, a.data() + 3 * size, 3 * size), 0);
        EXPECT_EQ(std::memcmp(dst.data() + 3 * size, b.data(), 2 * size), 0);
        EXPECT_EQ(dst.damage(), "");
    }
}

}  // namespace
}  // namespace convlens::test
