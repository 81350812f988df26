#include "store/reader/internal/run_assembly.h"

#include <algorithm>

#include "store/reader/internal/run_part.h"

namespace reenact::store::internal {
namespace {

bool SameComponent(const schema::Component& a, const schema::Component& b) {
  return a.kind == b.kind && a.name == b.name && a.version == b.version && a.at == b.at;
}

template <typename Value, typename Same>
void AppendMissing(std::vector<Value> from, std::vector<Value>* to, Same same) {
  for (Value& value : from) {
    if (std::none_of(to->begin(), to->end(),
                     [&](const Value& there) { return same(there, value); }))
      to->push_back(std::move(value));
  }
}

}  // namespace

absl::Status RunAssembly::Add(SegmentReader* segment) {
  segment->LeaveOutDamagedBodies(damaged_);
  const absl::Status added = AddRowsOf(segment);
  segment->LeaveOutDamagedBodies(nullptr);  // Others may read it too.
  return added;
}

absl::Status RunAssembly::AddRowsOf(SegmentReader* segment) {
  auto marks = segment->Marks();
  if (!marks.ok()) return marks.status();
  std::erase_if(*marks, [&](const schema::Mark& mark) { return mark.run != id_; });
  AppendMissing(*std::move(marks), &result_.marks,
                [](const auto& a, const auto& b) { return a.id == b.id; });

  auto row = segment->FindRun(id_, bodies_);
  if (!row.ok()) return row.status();
  if (!row->has_value()) return absl::OkStatus();
  RunRow& run = **row;
  if (absl::Status checked = segment->CheckRows(run); !checked.ok()) return checked;
  auto components = segment->Components(run.ordinal, bodies_);
  if (!components.ok()) return components.status();
  auto events = segment->Events(run.ordinal, bodies_);
  if (!events.ok()) return events.status();
  auto gaps = segment->Gaps(run.ordinal);
  if (!gaps.ok()) return gaps.status();

  // A new segment repeats the run and its components, so that it can be read alone.
  AppendMissing(*std::move(components), &result_.components, SameComponent);
  AddEvents(*std::move(events));
  auto& all_gaps = segment->info().grouped ? own_gaps_ : process_gaps_;
  all_gaps.insert(all_gaps.end(), gaps->begin(), gaps->end());
  owner_alive_ = segment->info().owner_alive;
  if (run.end) result_.end = std::move(run.end);
  if (found_) {
    AppendMissing(std::move(run.run.tags), &result_.run.tags, std::equal_to<>());
  } else {
    result_.run = std::move(run.run);
  }
  found_ = true;
  return absl::OkStatus();
}

// The same call may be there unfinished in one segment and finished in the next.
void RunAssembly::AddEvents(std::vector<schema::Event> events) {
  for (schema::Event& event : events) {
    event.run = id_;
    const auto [there, is_new] = events_.try_emplace(event.sequence, event);
    if (!is_new && there->second.end_state == schema::EndState::kIncomplete)
      there->second = std::move(event);
  }
}

std::optional<schema::RecordedRun> RunAssembly::Finish() {
  if (!found_) return std::nullopt;
  uint64_t last_sequence = 0;
  for (auto& [sequence, event] : events_) {
    last_sequence = std::max({last_sequence, sequence, event.end_sequence});
    result_.events.push_back(std::move(event));
  }
  result_.gaps = std::move(own_gaps_);
  const schema::RunEnd* end = result_.end ? &*result_.end : nullptr;
  for (schema::Gap& gap : process_gaps_) {
    if (FallsWithin(gap, result_.run, end, last_sequence)) result_.gaps.push_back(std::move(gap));
  }
  result_.state = end != nullptr ? end->state : schema::EndState::kIncomplete;
  result_.in_progress = end == nullptr && owner_alive_;
  return std::move(result_);
}

}  // namespace reenact::store::internal
