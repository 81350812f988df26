#include "local_engine/numerics/philox.h"

#include <cstdint>
#include <set>

#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

struct KnownAnswer {
  PhiloxBlock counter;
  uint32_t key0, key1;
  PhiloxBlock expected;
};

// The vectors that the authors' Random123 library publishes for philox4x32-10.
constexpr KnownAnswer kKnownAnswers[] = {
    {{{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     0xffffffff,
     0xffffffff,
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     0xa4093822,
     0x299f31d0,
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

TEST(Philox, GivesThePublishedAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    const PhiloxBlock got = Philox4x32(known.counter, known.key0, known.key1);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], known.expected.word[i]) << i;
  }
}

TEST(Philox, EveryPartOfADrawsKeyMatters) {
  const DrawKey base = {.seed = 7, .sample_index = 0, .position = 5};
  std::set<uint32_t> draws = {DrawBits(base, 100)};
  DrawKey other = base;
  other.seed = 8;
  draws.insert(DrawBits(other, 100));
  other = base;
  other.seed = base.seed | uint64_t{1} << 40;
  draws.insert(DrawBits(other, 100));
  other = base;
  other.sample_index = 1;
  draws.insert(DrawBits(other, 100));
  other = base;
  other.position = 6;
  draws.insert(DrawBits(other, 100));
  other = base;
  other.domain = DrawDomain::kAccept;
  draws.insert(DrawBits(other, 100));
  for (uint32_t token : {101u, 102u, 103u, 104u}) draws.insert(DrawBits(base, token));
  EXPECT_EQ(draws.size(), 10u);
}

TEST(Philox, UniformIsNeverZeroOrOne) {
  EXPECT_EQ(UniformFromBits(0), 0x1p-24f);
  EXPECT_EQ(UniformFromBits(0xffffffffu), 1.0f - 0x1p-24f);
  EXPECT_EQ(UniformFromBits(0x80000000u), 0.5f + 0x1p-24f);
}

}  // namespace
}  // namespace reenact::local_engine
