#include "schema/internal/anomaly_list.h"

#include <algorithm>
#include <utility>

namespace reenact::schema::internal {

void AnomalyList::Note(std::string_view name) {
  if (findings_.size() >= kMaxFindings) return;
  if (std::find(findings_.begin(), findings_.end(), name) == findings_.end()) {
    findings_.emplace_back(name);
  }
}

void AnomalyList::NoteAll(const std::vector<std::string>& names) {
  for (const std::string& name : names) Note(name);
}

void AnomalyList::NoteAt(std::string_view name, std::string_view unit, int64_t index) {
  auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                           [&](const Kind& known) { return known.name == name; });
  if (kind == kinds_.end()) kind = kinds_.insert(kind, Kind{.name = std::string(name)});
  if (++kind->count > kMaxPlaces) return;
  Note(std::string(name) + ":" + std::string(unit) + "=" + std::to_string(index));
}

std::vector<std::string> AnomalyList::Take() {
  std::vector<std::string> taken = std::exchange(findings_, {});
  for (const Kind& kind : std::exchange(kinds_, {})) {
    if (kind.count <= kMaxPlaces) continue;
    taken.push_back(kind.name + ":more=" + std::to_string(kind.count - kMaxPlaces));
  }
  return taken;
}

}  // namespace reenact::schema::internal
