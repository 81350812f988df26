#include "store/writer/internal/row_lookup.h"

#include <string.h>

#include <algorithm>

#include "store/format/pairs.h"
#include "store/format/tables.h"

namespace reenact::store {
namespace {

using sqlite::Failure;
using sqlite::ResetAtEnd;
using sqlite::Statement;

constexpr size_t kMaxRememberedRuns = 4096;

// Losses may come many times a second; the same one is told twice only in close succession.
constexpr char kHasGap[] =
    "SELECT 1 FROM (SELECT * FROM gap ORDER BY ordinal DESC LIMIT 128) WHERE at_wall_ns = ?1 AND"
    " at_monotonic_ns = ?2 AND reason = ?3 AND count = ?4 AND bytes = ?5 AND first_sequence = ?6 "
    "AND"
    " last_sequence = ?7";
constexpr char kHasComponent[] =
    "SELECT 1 FROM component WHERE run = ?1 AND kind = ?2 AND name = ?3 AND version = ?4 AND"
    " at_wall_ns = ?5 AND at_monotonic_ns = ?6";

void CopyBytes(std::string_view from, uint8_t* to, size_t size) {
  if (from.size() == size) ::memcpy(to, from.data(), size);
}

}  // namespace

size_t RowLookup::UlidHash::operator()(const schema::Ulid& id) const noexcept {
  size_t hash = 0;
  ::memcpy(&hash, id.bytes.data() + id.bytes.size() - sizeof(hash), sizeof(hash));
  return hash;
}

Failure RowLookup::Open(sqlite::Connection* connection) {
  const std::pair<Statement*, std::string> all[] = {
      {&find_run_, kFindRun},
      {&find_run_id_, "SELECT id FROM run WHERE ordinal = ?1"},
      {&has_run_end_, "SELECT 1 FROM run_end WHERE run = ?1"},
      {&has_tag_, "SELECT 1 FROM run_tag WHERE run = ?1 AND key = ?2 AND value = ?3"},
      {&has_component_, kHasComponent},
      {&has_event_, "SELECT 1 FROM event WHERE sequence = ?1"},
      {&has_gap_, kHasGap},
      {&has_mark_, "SELECT 1 FROM mark WHERE id = ?1"},
      {&find_meta_, "SELECT value FROM meta WHERE key = ?1 ORDER BY ordinal DESC LIMIT 1"},
      {&insert_open_call_, kInsertOpenCall},
      {&delete_open_call_, kDeleteOpenCall},
      {&select_open_call_, std::string(kSelectOpenCalls) + kOfSequence},
      {&list_open_calls_, "SELECT sequence, request_body FROM open_call"},
      {&find_body_, std::string(kBodyTable.select) + kOfOrdinal},
      {&find_frame_, kSelectFrame},
  };
  for (const auto& [statement, sql] : all) {
    if (const Failure failure = connection->Prepare(sql, statement); failure != Failure::kNone) {
      return failure;
    }
  }
  int64_t max_sequence = 0;
  const Failure failure =
      connection->QueryInteger("SELECT coalesce(max(sequence), 0) FROM event", &max_sequence);
  if (failure != Failure::kNone) return failure;
  max_sequence_ = static_cast<uint64_t>(max_sequence);
  return LoadOpenCalls();
}

Failure RowLookup::Exists(Statement* statement, bool* found) {
  *found = statement->Step();
  const Failure failure = statement->failure();
  statement->Reset();
  return failure;
}

Failure RowLookup::FindRun(const schema::Ulid& id, int64_t* ordinal) {
  if (const auto known = runs_.find(id); known != runs_.end()) {
    *ordinal = known->second;
    return Failure::kNone;
  }
  const ResetAtEnd reset(&find_run_);
  find_run_.BindBlob(1, id.AsBytes());
  *ordinal = find_run_.Step() ? find_run_.Integer(0) : 0;
  if (*ordinal != 0) RememberRun(id, *ordinal);
  return find_run_.failure();
}

void RowLookup::RememberRun(const schema::Ulid& id, int64_t ordinal) {
  if (runs_.size() >= kMaxRememberedRuns) runs_.clear();
  runs_[id] = ordinal;
}

Failure RowLookup::HasRunEnd(int64_t run, bool* found) {
  has_run_end_.BindInteger(1, run);
  return Exists(&has_run_end_, found);
}

Failure RowLookup::HasTag(int64_t run, std::string_view key, std::string_view value, bool* found) {
  has_tag_.BindInteger(1, run);
  has_tag_.BindText(2, key);
  has_tag_.BindText(3, value);
  return Exists(&has_tag_, found);
}

Failure RowLookup::HasComponent(int64_t run, const schema::Component& component, bool* found) {
  has_component_.BindInteger(1, run);
  has_component_.BindText(2, component.kind);
  has_component_.BindText(3, component.name);
  has_component_.BindText(4, component.version);
  has_component_.BindInteger(5, component.at.wall_ns);
  has_component_.BindInteger(6, component.at.monotonic_ns);
  return Exists(&has_component_, found);
}

Failure RowLookup::HasEvent(uint64_t sequence, bool* found) {
  // Nearly always a new one.
  if (sequence > max_sequence_) {
    *found = false;
    return Failure::kNone;
  }
  has_event_.BindInteger(1, static_cast<int64_t>(sequence));
  return Exists(&has_event_, found);
}

void RowLookup::RememberEvent(uint64_t sequence) {
  max_sequence_ = std::max(max_sequence_, sequence);
}

Failure RowLookup::HasGap(const schema::Gap& gap, bool* found) {
  has_gap_.BindInteger(1, gap.at.wall_ns);
  has_gap_.BindInteger(2, gap.at.monotonic_ns);
  has_gap_.BindText(3, gap.reason);
  has_gap_.BindInteger(4, static_cast<int64_t>(gap.count));
  has_gap_.BindInteger(5, static_cast<int64_t>(gap.bytes));
  has_gap_.BindInteger(6, static_cast<int64_t>(gap.first_sequence));
  has_gap_.BindInteger(7, static_cast<int64_t>(gap.last_sequence));
  return Exists(&has_gap_, found);
}

Failure RowLookup::HasMark(const schema::Ulid& id, bool* found) {
  has_mark_.BindBlob(1, id.AsBytes());
  return Exists(&has_mark_, found);
}

Failure RowLookup::FindMeta(std::string_view key, std::optional<std::string>* value) {
  value->reset();
  const ResetAtEnd reset(&find_meta_);
  find_meta_.BindText(1, key);
  if (find_meta_.Step()) value->emplace(find_meta_.Bytes(0));
  return find_meta_.failure();
}

std::vector<uint64_t> RowLookup::OpenCalls() const {
  std::vector<uint64_t> sequences;
  sequences.reserve(open_calls_.size());
  for (const auto& [sequence, body] : open_calls_) sequences.push_back(sequence);
  std::sort(sequences.begin(), sequences.end());
  return sequences;
}

Failure RowLookup::LoadOpenCalls() {
  const ResetAtEnd reset(&list_open_calls_);
  open_calls_.clear();
  while (list_open_calls_.Step()) {
    open_calls_[static_cast<uint64_t>(list_open_calls_.Integer(0))] = list_open_calls_.Integer(1);
  }
  return list_open_calls_.failure();
}

Failure RowLookup::InsertOpenCall(const schema::Event& begin, int64_t run, int64_t request_body) {
  using namespace open_call_column;  // NOLINT(google-build-using-namespace)
  std::string headers;
  std::string meta;
  EncodePairs(begin.request_headers, &headers);
  EncodePairs(begin.meta, &meta);
  Statement& row = insert_open_call_;
  row.BindInteger(kSequence + 1, static_cast<int64_t>(begin.sequence));
  row.BindInteger(kRun + 1, run);
  row.BindText(kScope + 1, begin.scope);
  row.BindInteger(kBoundary + 1, static_cast<int64_t>(begin.boundary));
  row.BindText(kName + 1, begin.name);
  row.BindText(kProvider + 1, begin.provider);
  row.BindText(kEndpoint + 1, begin.endpoint);
  row.BindBlob(kRequestHeaders + 1, headers);
  if (request_body == 0) {
    row.BindNull(kRequestBody + 1);
  } else {
    row.BindInteger(kRequestBody + 1, request_body);
  }
  row.BindInteger(kStartedWallNs + 1, begin.started.wall_ns);
  row.BindInteger(kStartedMonotonicNs + 1, begin.started.monotonic_ns);
  row.BindInteger(kAttempt + 1, begin.attempt);
  row.BindInteger(kInFlight + 1, begin.in_flight);
  row.BindBlob(kMeta + 1, meta);
  const Failure failure = row.Run();
  if (failure == Failure::kNone) open_calls_[begin.sequence] = request_body;
  return failure;
}

Failure RowLookup::DeleteOpenCall(uint64_t sequence) {
  delete_open_call_.BindInteger(1, static_cast<int64_t>(sequence));
  const Failure failure = delete_open_call_.Run();
  if (failure == Failure::kNone) open_calls_.erase(sequence);
  return failure;
}

Failure RowLookup::FindOpenRequest(uint64_t sequence, OpenRequest* request) {
  *request = OpenRequest{};
  const auto found = open_calls_.find(sequence);
  if (found == open_calls_.end() || found->second == 0) return Failure::kNone;
  find_body_.BindInteger(1, found->second);
  if (find_body_.Step()) {
    request->ordinal = found->second;
    CopyBytes(find_body_.Bytes(body_column::kSalt), request->salt.data(), request->salt.size());
    CopyBytes(find_body_.Bytes(body_column::kDigest), request->digest.data(),
              request->digest.size());
  }
  const Failure failure = find_body_.failure();
  find_body_.Reset();
  return failure;
}

bool RowLookup::FetchFrame(int64_t ordinal, BodyFrame* frame, std::string* why) {
  const ResetAtEnd reset(&find_frame_);
  find_frame_.BindInteger(1, ordinal);
  if (!find_frame_.Step()) {
    *why = "body " + std::to_string(ordinal) + " is not there";
    return false;
  }
  frame->codec = static_cast<BodyCodec>(find_frame_.Integer(0));
  frame->base = find_frame_.Integer(1);
  frame->raw_size = static_cast<uint64_t>(find_frame_.Integer(2));
  frame->bytes.assign(find_frame_.Bytes(3));
  return true;
}

Failure RowLookup::ReadBody(int64_t ordinal, schema::Body* body, std::string* why) {
  if (ordinal == 0) return Failure::kNone;
  const ResetAtEnd reset(&find_body_);
  find_body_.BindInteger(1, ordinal);
  if (!find_body_.Step()) {
    *why = "body " + std::to_string(ordinal) + " is not there";
    return find_body_.failure() == Failure::kNone ? Failure::kCorrupt : find_body_.failure();
  }
  const int64_t flags = find_body_.Integer(body_column::kFlags);
  body->redacted = (flags & kBodyRedacted) != 0;
  body->cut = (flags & kBodyCut) != 0;
  body->original_size = static_cast<uint64_t>(find_body_.Integer(body_column::kOriginalSize));
  CopyBytes(find_body_.Bytes(body_column::kOriginalDigest), body->original_digest.data(),
            body->original_digest.size());
  Salt salt{};
  CopyBytes(find_body_.Bytes(body_column::kSalt), salt.data(), salt.size());
  body->salt = salt;
  BodyDecoder decoder;
  const auto fetch = [this](int64_t id, BodyFrame* frame, std::string* problem) {
    return FetchFrame(id, frame, problem);
  };
  return decoder.Decode(ordinal, fetch, &body->bytes, why) ? Failure::kNone : Failure::kCorrupt;
}

Failure RowLookup::ReadOpenCall(uint64_t sequence, schema::Event* begin, OpenCallRefs* refs) {
  using namespace open_call_column;  // NOLINT(google-build-using-namespace)
  Statement& row = select_open_call_;
  const ResetAtEnd reset(&row);
  row.BindInteger(1, static_cast<int64_t>(sequence));
  if (!row.Step()) return row.failure() == Failure::kNone ? Failure::kConstraint : row.failure();
  *begin = schema::Event{};
  begin->sequence = sequence;
  begin->scope = row.Bytes(kScope);
  begin->boundary = static_cast<schema::Boundary>(row.Integer(kBoundary));
  begin->name = row.Bytes(kName);
  begin->provider = row.Bytes(kProvider);
  begin->endpoint = row.Bytes(kEndpoint);
  begin->started = {row.Integer(kStartedWallNs), row.Integer(kStartedMonotonicNs)};
  begin->attempt = static_cast<uint32_t>(row.Integer(kAttempt));
  begin->in_flight = static_cast<uint32_t>(row.Integer(kInFlight));
  begin->request_headers = DecodePairs(row.Bytes(kRequestHeaders)).value_or(Pairs{});
  begin->meta = DecodePairs(row.Bytes(kMeta)).value_or(Pairs{});
  *refs = {.run = row.Integer(kRun), .request_body = row.Integer(kRequestBody)};
  const ResetAtEnd reset_run(&find_run_id_);
  find_run_id_.BindInteger(1, refs->run);
  if (find_run_id_.Step()) {
    begin->run = schema::UlidFromBytes(find_run_id_.Bytes(0)).value_or(schema::Ulid{});
  }
  return find_run_id_.failure();
}

Failure RowLookup::RolledBack() {
  runs_.clear();
  return LoadOpenCalls();
}

void RowLookup::Abandon() {
  for (Statement* statement :
       {&find_run_, &find_run_id_, &has_run_end_, &has_tag_, &has_component_, &has_event_,
        &has_gap_, &has_mark_, &find_meta_, &insert_open_call_, &delete_open_call_,
        &select_open_call_, &list_open_calls_, &find_body_, &find_frame_}) {
    statement->Abandon();
  }
}

}  // namespace reenact::store
