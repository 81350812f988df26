#include "tests/store/schedule_told.h"

#include <iterator>
#include <map>
#include <optional>
#include <random>

#include "store/reader/store_reader.h"
#include "store/reader/verify.h"
#include "store/store_layout.h"
#include "tests/support/segment_oracle.h"

namespace reenact::testing {
namespace {

// From a few bytes to more than a chunk of the ring, seldom compressible.
std::string Padding(int index, int salt) {
  static constexpr size_t kSizes[] = {10, 10, 10, 300, 300, 4000, 9000, 40'000};
  static const std::string noise = [] {
    std::mt19937_64 random(8);
    std::string bytes(100'000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  }();
  const uint64_t state =
      (static_cast<uint64_t>(index) * 2 + static_cast<uint64_t>(salt)) * 2654435761u;
  return noise.substr((state >> 4) % 50'000, kSizes[(state >> 8) % std::size(kSizes)]);
}

std::string Name(const Told::Record& record, int index) {
  return (record.is_call ? "call " : "reading ") + std::to_string(index) + " (" +
         std::to_string(record.begin) + ", " + std::to_string(record.end) + ")";
}

using EventsBySequence = std::map<uint64_t, schema::Event>;

std::string FaultOfRecord(const Told& told, int index, const EventsBySequence& events,
                          uint64_t below) {
  const Told::Record& record = told.records[index];
  const auto found = events.find(record.begin);
  if (found == events.end()) {
    const bool may_be_missing = record.begin >= below || record.last() < told.pruned_below;
    return may_be_missing ? "" : Name(record, index) + " is lost";
  }
  const schema::Event& event = found->second;
  if (!record.is_call) {
    return event.value == static_cast<uint64_t>(index) ? "" : Name(record, index) + " has changed";
  }
  if (event.request.bytes != ScheduleRequest(index)) {
    return Name(record, index) + " has another request";
  }
  if (record.end == 0 || record.end >= below) return "";
  if (event.end_state == schema::EndState::kIncomplete) {
    return record.end < told.pruned_below ? "" : Name(record, index) + " has lost its end";
  }
  return event.response.bytes == ScheduleResponse(index)
             ? ""
             : Name(record, index) + " has another response";
}

// No value: there is no such run.
std::optional<EventsBySequence> LoadEvents(store::StoreReader* reader, const schema::Ulid& run,
                                           std::string* problem) {
  auto loaded = reader->LoadRun(run, {});
  if (absl::IsNotFound(loaded.status())) return std::nullopt;
  EventsBySequence events;
  if (!loaded.ok()) {
    *problem = std::string(loaded.status().message());
    return events;
  }
  for (schema::Event& event : loaded->events) {
    const uint64_t sequence = event.sequence;
    if (!events.emplace(sequence, std::move(event)).second) *problem = "an event is there twice";
  }
  return events;
}

std::string FaultOfForkedRuns(store::StoreReader* reader, const Told& told) {
  for (int i = 0; i < told.forked_count; ++i) {
    std::string problem;
    const auto events = LoadEvents(reader, told.forked_runs[i], &problem);
    if (!problem.empty()) return problem;
    // Its segment may have been the oldest when the parent had to make room.
    if (!events.has_value() && told.prunes == 0) return "the run of a forked child is lost";
    if (events.has_value() && events->size() != 1) return "a forked child's run has other events";
  }
  return "";
}

uint64_t DeclaredGaps(const store::StoreLayout& layout) {
  uint64_t count = 0;
  for (const std::string& name : store::ListSegments(layout)) {
    const std::string sum = QueryOne(layout.segments() + "/" + name, "SELECT sum(count) FROM gap");
    if (!sum.empty()) count += std::stoull(sum);
  }
  return count;
}

}  // namespace

std::string ScheduleRequest(int index) {
  return "request " + std::to_string(index) + " " + Padding(index, 0);
}

std::string ScheduleResponse(int index) {
  return "response " + std::to_string(index) + " " + Padding(index, 1);
}

std::string FindLoss(const std::string& store_path, const Told& told, uint64_t below) {
  auto reader = store::StoreReader::Open(store_path);
  if (!reader.ok()) {
    return told.stored_below == 0 ? "" : std::string(reader.status().message());
  }
  for (int run = 0; run < kScheduleRuns; ++run) {
    std::string problem;
    auto events = LoadEvents(reader->get(), told.runs[run], &problem);
    if (!problem.empty()) return problem;
    for (int index = 0; index < told.count; ++index) {
      if (told.records[index].run != run) continue;
      problem = FaultOfRecord(told, index, events.value_or(EventsBySequence()), below);
      if (!problem.empty()) return problem;
    }
  }
  return FaultOfForkedRuns(reader->get(), told);
}

std::string FindFault(const std::string& store_path, const Told& told) {
  const std::string loss = FindLoss(store_path, told, UINT64_MAX);
  if (!loss.empty()) return loss;
  const store::StoreLayout layout{store_path};
  const auto report = store::VerifyStore(store_path, nullptr);
  if (!report.ok()) return told.stored_below == 0 ? "" : std::string(report.status().message());
  for (const store::VerifyFinding& finding : report->findings) {
    return finding.segment + ": " + finding.record + ": " + finding.problem;
  }
  if (told.closed_well && told.prunes == 0 && DeclaredGaps(layout) != told.dropped) {
    return std::to_string(told.dropped) + " drops, of which gap rows tell " +
           std::to_string(DeclaredGaps(layout));
  }
  return told.prunes_despite_mark > 0 ? "a segment with a marked run was pruned" : "";
}

}  // namespace reenact::testing
