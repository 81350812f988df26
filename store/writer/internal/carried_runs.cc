#include "store/writer/internal/carried_runs.h"

#include <functional>
#include <utility>

namespace reenact::store {

std::shared_ptr<const std::string> CarriedRuns::Share(const std::string& content) {
  // Past this many entries those that nobody holds any more are swept out.
  constexpr size_t kSweepAt = 1024;
  if (contents_.size() >= kSweepAt) {
    std::erase_if(contents_, [](const auto& entry) { return entry.second.expired(); });
  }
  std::weak_ptr<const std::string>& known = contents_[std::hash<std::string>{}(content)];
  if (std::shared_ptr<const std::string> shared = known.lock()) {
    if (*shared == content) return shared;
  }
  auto shared = std::make_shared<const std::string>(content);
  known = shared;
  return shared;
}

size_t CarriedRuns::Charge(schema::Body* body) {
  const size_t size = body->bytes.size();
  if (bytes_ + size <= kCarriedBytes) {
    bytes_ += size;
    return size;
  }
  if (!body->cut) {
    body->cut = true;
    body->original_size = size;
    body->original_digest = schema::HashBytes(body->bytes);
  }
  std::string().swap(body->bytes);
  return 0;
}

void CarriedRuns::AddRun(schema::Run run) {
  Charge(&run.input);
  const schema::Ulid id = run.id;
  runs_[id].run = std::move(run);
}

void CarriedRuns::AddComponent(const schema::Ulid& run, const schema::Component& component) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  CarriedComponent carried{component, Share(component.content.bytes)};
  carried.head.content.bytes.clear();
  found->second.components.push_back(std::move(carried));
}

void CarriedRuns::AddTags(const schema::Ulid& run, const schema::Tags& tags) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  schema::Tags& all = found->second.run.tags;
  all.insert(all.end(), tags.begin(), tags.end());
}

void CarriedRuns::EndRun(const schema::Ulid& run) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  found->second.ended = true;
  ForgetIfDone(found);
}

void CarriedRuns::ForgetIfDone(std::map<schema::Ulid, CarriedRun>::iterator run) {
  if (!run->second.ended || run->second.open_calls > 0) return;
  bytes_ -= run->second.run.input.bytes.size();
  runs_.erase(run);
}

void CarriedRuns::AddCall(schema::Event begin) {
  const auto run = runs_.find(begin.run);
  if (run != runs_.end()) ++run->second.open_calls;
  CarriedCall call;
  const size_t size = begin.request.bytes.size();
  const schema::Body facts{{},
                           begin.request.redacted,
                           begin.request.cut,
                           begin.request.original_size,
                           begin.request.original_digest,
                           {}};
  call.charged = Charge(&begin.request);
  if (call.charged < size) {
    call.request_elsewhere = true;
    begin.request = facts;
  }
  const uint64_t sequence = begin.sequence;
  call.begin = std::move(begin);
  calls_[sequence] = std::move(call);
}

schema::Event* CarriedRuns::FindCall(uint64_t sequence) {
  const auto found = calls_.find(sequence);
  return found == calls_.end() ? nullptr : &found->second.begin;
}

bool CarriedRuns::RequestIsElsewhere(uint64_t sequence) const {
  const auto found = calls_.find(sequence);
  return found != calls_.end() && found->second.request_elsewhere;
}

void CarriedRuns::EndCall(uint64_t sequence) {
  const auto found = calls_.find(sequence);
  if (found == calls_.end()) return;
  bytes_ -= found->second.charged;
  const auto run = runs_.find(found->second.begin.run);
  calls_.erase(found);
  if (run == runs_.end()) return;
  --run->second.open_calls;
  ForgetIfDone(run);
}

WriteCode CarriedRuns::CopyTo(SegmentWriter* next, SegmentWriter* previous) {
  if (runs_.empty() && calls_.empty()) return WriteCode::kOk;
  for (const auto& [id, run] : runs_) {
    const WriteCode code = CopyRun(run, next);
    if (code != WriteCode::kOk) return code;
  }
  for (const auto& [sequence, call] : calls_) {
    const WriteCode code = CopyCall(sequence, call, next, previous);
    if (code != WriteCode::kOk) return code;
  }
  return next->Commit();
}

WriteCode CarriedRuns::CopyRun(const CarriedRun& run, SegmentWriter* next) const {
  WriteCode code = next->AddRun(run.run);
  for (const CarriedComponent& carried : run.components) {
    if (code != WriteCode::kOk) break;
    schema::Component component = carried.head;
    component.content.bytes = *carried.content;
    code = next->AddComponent(run.run.id, component);
  }
  return code;
}

WriteCode CarriedRuns::CopyCall(uint64_t sequence, const CarriedCall& call, SegmentWriter* next,
                                SegmentWriter* previous) const {
  schema::Event begin = call.begin;
  if (call.request_elsewhere && previous != nullptr) {
    schema::Event stored;
    if (previous->FindOpenCall(sequence, &stored)) begin.request = std::move(stored.request);
  }
  // A call that was completed in memory, but not in a segment yet, is still an open one there.
  begin.response = {};
  begin.exchange.clear();
  begin.end_sequence = 0;
  begin.elapsed_ns = 0;
  begin.end_state = schema::EndState::kIncomplete;
  begin.end_detail.clear();
  const WriteCode code = next->AddOpenCall(begin);
  // Its run is not known here: the loss of that run is in a gap row already.
  return code == WriteCode::kInvalid ? WriteCode::kOk : code;
}

}  // namespace reenact::store
