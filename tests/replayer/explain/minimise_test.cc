#include "replayer/explain/minimise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace reenact::explain {
namespace {

std::vector<size_t> Numbers(size_t count) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

bool Holds(const std::vector<size_t>& part, const std::vector<size_t>& needed) {
  return std::all_of(needed.begin(), needed.end(), [&](size_t one) {
    return std::find(part.begin(), part.end(), one) != part.end();
  });
}

TEST(Minimise, FindsEverySetOfUpToThreeOutOfNine) {
  const std::vector<size_t> all = Numbers(9);
  for (size_t a = 0; a < 9; ++a) {
    for (size_t b = a; b < 9; ++b) {
      for (size_t c = b; c < 9; ++c) {
        std::vector<size_t> needed = {a};
        if (b != a) needed.push_back(b);
        if (c != b) needed.push_back(c);
        const auto found =
            Minimise(all, [&](const std::vector<size_t>& part) { return Holds(part, needed); });
        EXPECT_EQ(found, needed);
      }
    }
  }
}

TEST(Minimise, KeepsWhatCannotBeMadeSmaller) {
  EXPECT_EQ(Minimise(Numbers(5), [](const std::vector<size_t>& part) { return part.size() == 5; }),
            Numbers(5));
  EXPECT_EQ(Minimise({4}, [](const std::vector<size_t>&) { return true; }), std::vector<size_t>{4});
  EXPECT_TRUE(Minimise({}, [](const std::vector<size_t>&) { return true; }).empty());
}

TEST(Minimise, AsksSeldomWhereOneMatters) {
  size_t calls = 0;
  Minimise(Numbers(64), [&](const std::vector<size_t>& part) {
    ++calls;
    return Holds(part, {37});
  });
  EXPECT_LE(calls, 14u);
}

}  // namespace
}  // namespace reenact::explain
