// Pages are found by what they hold, and by nothing else.

#include "local_engine/engine/kv_pages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

std::vector<int32_t> Tokens(int32_t first, int32_t pages) {
  std::vector<int32_t> tokens(static_cast<size_t>(pages) * kPagePositions);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// Computes and shares a text as a sequence does, and stops reading it.
void Share(KvPages* pages, const std::vector<int32_t>& tokens) {
  std::vector<int32_t> held;
  PrefixId parent = 0;
  for (size_t at = 0; at < tokens.size(); at += kPagePositions) {
    const std::optional<int32_t> page = pages->Allocate();
    ASSERT_TRUE(page.has_value());
    held.push_back(*page);
    parent = pages->Publish(*page, parent, std::span(tokens).subspan(at, kPagePositions));
  }
  for (auto page = held.rbegin(); page != held.rend(); ++page) pages->Release(*page);
}

size_t FoundPages(KvPages* pages, const std::vector<int32_t>& tokens) {
  const auto most = static_cast<int32_t>(tokens.size()) / kPagePositions;
  const KvPages::Prefix prefix = pages->Find(tokens, most);
  for (auto page = prefix.pages.rbegin(); page != prefix.pages.rend(); ++page) {
    pages->Release(*page);
  }
  return prefix.pages.size();
}

TEST(KvPages, ASharedBeginningIsFoundAndAnotherIsNot) {
  EngineCounters counters;
  KvPages pages({.page_count = 8}, &counters);
  Share(&pages, Tokens(100, 3));
  EXPECT_EQ(FoundPages(&pages, Tokens(100, 3)), 3u);
  std::vector<int32_t> other = Tokens(100, 3);
  other[40] = 7;
  EXPECT_EQ(FoundPages(&pages, other), 1u);
}

TEST(KvPages, APageBehindAnotherBeginningIsNotFound) {
  EngineCounters counters;
  KvPages pages({.page_count = 8}, &counters);
  Share(&pages, Tokens(0, 2));
  Share(&pages, Tokens(500, 1));
  std::vector<int32_t> mixed = Tokens(500, 2);
  std::copy_n(Tokens(0, 2).begin() + kPagePositions, kPagePositions,
              mixed.begin() + kPagePositions);
  EXPECT_EQ(FoundPages(&pages, mixed), 1u);
}

TEST(KvPages, AHashIsNotBelieved) {
  EngineCounters counters;
  KvPages pages({.page_count = 8, .hash_bits = 0}, &counters);
  Share(&pages, Tokens(0, 1));
  EXPECT_EQ(FoundPages(&pages, Tokens(1, 1)), 0u);
  EXPECT_GT(counters.hash_collisions, 0);
  EXPECT_EQ(FoundPages(&pages, Tokens(0, 1)), 1u);
}

// In profile "stock" a page holds the bits of its schedule, and of what came before it. One that
// was computed behind a copy is no continuation of the page that is known.
TEST(KvPages, WhatWasComputedBehindACopyIsFoundInProfileN1Alone) {
  for (const bool stock : {false, true}) {
    EngineCounters counters;
    KvPages pages({.page_count = 8}, &counters);
    const std::vector<int32_t> tokens = Tokens(0, 2);
    const std::span<const int32_t> first = std::span(tokens).first(kPagePositions);
    const std::span<const int32_t> second = std::span(tokens).last(kPagePositions);
    const auto schedule = [stock](int32_t position, int32_t step_rows) {
      return stock ? StockSchedule{{position, kPagePositions, {.step_rows = step_rows}}}
                   : StockSchedule{};
    };
    pages.Publish(*pages.Allocate(), 0, first, schedule(0, 40));
    const PrefixId copy = pages.Publish(*pages.Allocate(), 0, first, schedule(0, 1));
    pages.Publish(*pages.Allocate(), copy, second, schedule(kPagePositions, 1));
    EXPECT_EQ(FoundPages(&pages, tokens), stock ? 1u : 2u);
  }
}

TEST(KvPages, LaterPagesAreEvictedFirst) {
  EngineCounters counters;
  KvPages pages({.page_count = 3}, &counters);
  Share(&pages, Tokens(0, 3));
  EXPECT_EQ(pages.available(), 3);
  ASSERT_TRUE(pages.Allocate().has_value());
  EXPECT_EQ(counters.cache_evictions, 1);
  EXPECT_EQ(FoundPages(&pages, Tokens(0, 3)), 2u);
}

TEST(KvPages, APageThatIsReadIsNeverHandedOut) {
  EngineCounters counters;
  KvPages pages({.page_count = 2}, &counters);
  Share(&pages, Tokens(0, 2));
  const KvPages::Prefix prefix = pages.Find(Tokens(0, 2), 2);
  ASSERT_EQ(prefix.pages.size(), 2u);
  EXPECT_EQ(pages.available(), 0);
  EXPECT_FALSE(pages.Allocate().has_value());
  pages.Release(prefix.pages[1]);
  EXPECT_EQ(pages.Allocate(), prefix.pages[1]);
}

TEST(KvPages, NothingIsFoundWithoutTheCache) {
  EngineCounters counters;
  KvPages pages({.page_count = 2, .prefix_cache = false}, &counters);
  Share(&pages, Tokens(0, 2));
  EXPECT_EQ(FoundPages(&pages, Tokens(0, 2)), 0u);
  EXPECT_EQ(pages.available(), 2);
}

}  // namespace
}  // namespace reenact::local_engine
