#include "tools/reenact/io/suggestion.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reenact::tools {
namespace {

constexpr size_t kMaxEdits = 2;

// Insertions, deletions, replacements; a swap of neighbours counts as two.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string ClosestWord(std::string_view word, const std::vector<std::string>& candidates) {
  std::string closest;
  size_t fewest = kMaxEdits + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + kMaxEdits || word.size() > candidate.size() + kMaxEdits) {
      continue;
    }
    const size_t edits = EditDistance(word, candidate);
    // Two edits turn any two letters into any others.
    if (edits >= fewest || edits * 2 > candidate.size()) continue;
    fewest = edits;
    closest = candidate;
  }
  return closest;
}

}  // namespace reenact::tools
