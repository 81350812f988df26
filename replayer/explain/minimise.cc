#include "replayer/explain/minimise.h"

#include <algorithm>
#include <utility>

namespace reenact::explain {
namespace {

// Part `index` of `all` cut into `parts`, or everything but it.
std::vector<size_t> Cut(const std::vector<size_t>& all, size_t parts, size_t index, bool without) {
  const size_t begin = all.size() * index / parts;
  const size_t end = all.size() * (index + 1) / parts;
  std::vector<size_t> cut;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool inside = i >= begin && i < end;
    if (inside != without) cut.push_back(all[i]);
  }
  return cut;
}

}  // namespace

std::vector<size_t> Minimise(std::vector<size_t> all,
                             const std::function<bool(const std::vector<size_t>&)>& does_it) {
  size_t parts = 2;
  while (all.size() >= 2) {
    bool reduced = false;
    // Single parts first: where one matters, all others go at once. With two parts each is the
    // other's complement.
    for (const bool without : {false, true}) {
      if (without && parts == 2) continue;
      for (size_t i = 0; i < parts && !reduced; ++i) {
        std::vector<size_t> candidate = Cut(all, parts, i, without);
        if (candidate.empty() || !does_it(candidate)) continue;
        all = std::move(candidate);
        parts = without ? std::max<size_t>(parts - 1, 2) : 2;
        reduced = true;
      }
      if (reduced) break;
    }
    if (reduced) {
      parts = std::min(parts, all.size());
      continue;
    }
    if (parts >= all.size()) break;
    parts = std::min(parts * 2, all.size());
  }
  return all;
}

}  // namespace reenact::explain
