// Which page holds what: free pages, pages of running sequences, and full pages that later requests
// with the same beginning may share. Knows page numbers and tokens, not the memory behind them.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_KV_PAGES_H_
#define REENACT_LOCAL_ENGINE_ENGINE_KV_PAGES_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "local_engine/engine.h"
#include "local_engine/engine/backend.h"

namespace reenact::local_engine {

// Names a full page together with everything before it. Numbers are never used twice, so that a
// page whose parent was evicted can be found by nobody. 0: the beginning of a text.
using PrefixId = uint64_t;

struct KvPagesOptions {
  int32_t page_count = 0;
  bool prefix_cache = true;
  int32_t hash_bits = 64;
};

class KvPages {
 public:
  // `counters` outlives it.
  KvPages(const KvPagesOptions& options, EngineCounters* counters);

  // Pages that Allocate can give: free ones, and shared ones that nobody reads now.
  int32_t available() const { return static_cast<int32_t>(free_.size() + unread_.size()); }

  // A page for one sequence, which forgets what it held: a free one, else the shared page that was
  // read last the longest ago. Nothing when every page is being read.
  std::optional<int32_t> Allocate();

  // The caller reads `page` no more. Release the later pages of a sequence first: they are of no
  // use without the earlier ones.
  void Release(int32_t page);

  struct Prefix {
    std::vector<int32_t> pages;
    PrefixId id = 0;         // Of the last page.
    StockSchedule schedule;  // As the pages were computed.
  };

  // The longest known beginning of `tokens`, at most `most_pages`. The tokens of every page are
  // compared; a hash alone is believed by nobody. The caller releases the pages.
  Prefix Find(std::span<const int32_t> tokens, int32_t most_pages);

  // Makes a full page findable: its 32 tokens after the prefix `parent`. Where an equal page is
  // known already this one stays private. `schedule` says how it was computed, in profile "stock",
  // where nothing that comes behind a private page is found: it was not computed on the known one.
  // Returns the name of the longer prefix, 0 when the cache is off.
  PrefixId Publish(int32_t page, PrefixId parent, std::span<const int32_t> tokens,
                   StockSchedule schedule = {});

 private:
  struct Page {
    int32_t references = 0;
    PrefixId id = 0;  // 0: private.
    PrefixId parent = 0;
    uint64_t hash = 0;
    uint64_t last_read = 0;
    std::array<int32_t, kPagePositions> tokens = {};
    StockSchedule schedule;
  };

  uint64_t HashOf(PrefixId parent, std::span<const int32_t> tokens) const;
  std::optional<int32_t> FindPage(PrefixId parent, std::span<const int32_t> tokens);
  void Forget(int32_t page);

  KvPagesOptions options_;
  EngineCounters* counters_;
  std::vector<Page> pages_;
  std::vector<int32_t> free_;
  std::map<uint64_t, int32_t> unread_;  // Shared pages without a reader, by last_read.
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
  PrefixId last_id_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_KV_PAGES_H_
