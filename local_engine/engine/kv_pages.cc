#include "local_engine/engine/kv_pages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "local_engine/engine/planted_fault.h"

namespace reenact::local_engine {
namespace {

// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

KvPages::KvPages(const KvPagesOptions& options, EngineCounters* counters)
    : options_(options), counters_(counters), pages_(static_cast<size_t>(options.page_count)) {
  for (int32_t page = options.page_count; page > 0; --page) free_.push_back(page - 1);
}

std::optional<int32_t> KvPages::Allocate() {
  int32_t page = -1;
  if (!free_.empty()) {
    page = free_.back();
    free_.pop_back();
  } else if (!unread_.empty()) {
    page = unread_.begin()->second;
    unread_.erase(unread_.begin());
    Forget(page);
    ++counters_->cache_evictions;
  } else {
    return std::nullopt;
  }
  pages_[page].references = 1;
  return page;
}

void KvPages::Release(int32_t page) {
  Page& released = pages_[page];
  if (--released.references > 0) return;
  if (released.id == 0) {
    free_.push_back(page);
    return;
  }
  released.last_read = ++clock_;
  unread_.emplace(released.last_read, page);
}

KvPages::Prefix KvPages::Find(std::span<const int32_t> tokens, int32_t most_pages) {
  Prefix prefix;
  if (!options_.prefix_cache) return prefix;
  for (int32_t index = 0; index < most_pages; ++index) {
    const auto begin = static_cast<size_t>(index) * kPagePositions;
    const std::optional<int32_t> page = FindPage(prefix.id, tokens.subspan(begin, kPagePositions));
    if (!page.has_value()) break;
    if (++pages_[*page].references == 1) unread_.erase(pages_[*page].last_read);
    prefix.pages.push_back(*page);
    prefix.id = pages_[*page].id;
    for (const StockStep& step : pages_[*page].schedule) AppendToSchedule(step, &prefix.schedule);
  }
  return prefix;
}

PrefixId KvPages::Publish(int32_t page, PrefixId parent, std::span<const int32_t> tokens,
                          StockSchedule schedule) {
  if (!options_.prefix_cache) return 0;
  if (const std::optional<int32_t> known = FindPage(parent, tokens); known.has_value()) {
    // With a schedule, an equal page may hold other bits. What is computed behind this copy of it
    // gets a parent of its own, and is found by nobody.
    return schedule.empty() ? pages_[*known].id : ++last_id_;
  }
  Page& published = pages_[page];
  published.id = ++last_id_;
  published.parent = parent;
  published.hash = HashOf(parent, tokens);
  std::copy(tokens.begin(), tokens.end(), published.tokens.begin());
  published.schedule = std::move(schedule);
  by_hash_.emplace(published.hash, page);
  return published.id;
}

uint64_t KvPages::HashOf(PrefixId parent, std::span<const int32_t> tokens) const {
  uint64_t hash = Planted(EngineFault::kCacheIgnoresParent) ? 0 : Mix(parent);
  for (int32_t token : tokens) {
    hash = Mix(hash + 0x9e3779b97f4a7c15u + static_cast<uint64_t>(token));
  }
  return options_.hash_bits >= 64 ? hash : hash & ((uint64_t{1} << options_.hash_bits) - 1);
}

std::optional<int32_t> KvPages::FindPage(PrefixId parent, std::span<const int32_t> tokens) {
  const auto [first, last] = by_hash_.equal_range(HashOf(parent, tokens));
  for (auto entry = first; entry != last; ++entry) {
    const Page& page = pages_[entry->second];
    const bool same_parent = Planted(EngineFault::kCacheIgnoresParent) || page.parent == parent;
    const bool same_tokens = std::equal(tokens.begin(), tokens.end(), page.tokens.begin());
    if ((same_parent && same_tokens) || Planted(EngineFault::kCacheTrustsHash)) {
      return entry->second;
    }
    ++counters_->hash_collisions;
  }
  return std::nullopt;
}

void KvPages::Forget(int32_t page) {
  const auto [first, last] = by_hash_.equal_range(pages_[page].hash);
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second == page) {
      by_hash_.erase(entry);
      break;
    }
  }
  pages_[page] = Page{};
}

}  // namespace reenact::local_engine
