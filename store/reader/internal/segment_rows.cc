#include "store/reader/internal/segment_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"

#include "store/format/chain.h"
#include "store/format/pairs.h"
#include "store/format/tables.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

// An exchange has an item a read of the transport; more than this is no recording of ours.
constexpr size_t kMaxExchangeBytes = size_t{256} << 20;

std::string Text(const Statement& row, int column) {
  return std::string(row.Bytes(column));
}

schema::Moment ReadMoment(const Statement& row, int wall_column) {
  return {.wall_ns = row.Integer(wall_column), .monotonic_ns = row.Integer(wall_column + 1)};
}

// Collects the first thing that is wrong with a row, so that reading stays one straight list.
class RowCheck {
 public:
  RowCheck(const Statement& row, const RowContext& context, std::string record)
      : row_(row), context_(context), record_(std::move(record)) {}

  void Require(bool holds, std::string_view what) {
    if (!holds && status_.ok()) {
      status_ = absl::DataLossError(absl::StrCat(record_, " of ", context_.file->info.name, ": ",
                                                 absl::string_view(what.data(), what.size())));
    }
  }

  // For what is told of damaged bodies.
  void IsOfEvent(uint64_t sequence) { sequence_ = sequence; }

  schema::Tags Pairs(int column) {
    auto pairs = DecodePairs(row_.Bytes(column));
    Require(pairs.has_value(), "a list of pairs is damaged");
    return std::move(pairs).value_or(schema::Tags{});
  }

  schema::Ulid Id(int column) {
    const auto id = schema::UlidFromBytes(row_.Bytes(column));
    Require(id.has_value(), "an id is damaged");
    return id.value_or(schema::Ulid{});
  }

  template <typename Enum>
  Enum OneOf(int column, Enum last, std::string_view what) {
    const int64_t value = row_.Integer(column);
    Require(value >= 1 && value <= static_cast<int64_t>(last), what);
    return status_.ok() ? static_cast<Enum>(value) : last;
  }

  schema::Body Body(int column) {
    if (!status_.ok()) return {};
    auto body = context_.bodies->ReadColumn(row_, column, context_.with_bytes, record_);
    if (body.ok()) return *std::move(body);
    if (context_.damaged == nullptr) {
      status_ = body.status();
    } else {
      context_.damaged->push_back({sequence_, std::string(body.status().message())});
      bodies_damaged_ = true;
    }
    return {};
  }

  schema::Exchange Exchange(int column, const schema::Body& response) {
    std::string bytes;
    const std::string_view packed = row_.Bytes(column);
    if (packed.empty()) return {};
    Require(Unpack(packed, kMaxExchangeBytes, &bytes), "the exchange cannot be unpacked");
    auto exchange = schema::DecodeExchange(bytes);
    Require(exchange.has_value(), "the exchange is damaged");
    if (exchange && bodies_damaged_ && response.bytes.empty()) {
      // Status and headers stay; there is nothing to cut up.
      std::erase_if(*exchange, [](const schema::ExchangeItem& item) {
        return item.kind == schema::ExchangeItemKind::kBytes;
      });
    } else if (exchange && context_.with_bytes) {
      Require(BodySize(*exchange) == response.bytes.size(),
              "the exchange does not add up to the size of the response");
    }
    return std::move(exchange).value_or(schema::Exchange{});
  }

  uint64_t Sequence(int column) {
    const auto stored = static_cast<uint64_t>(row_.Integer(column));
    if (stored == 0) return 0;
    Require(stored > context_.sequence_offset, "the sequence belongs to another run");
    return stored - context_.sequence_offset;
  }

  const absl::Status& status() const { return status_; }

 private:
  const Statement& row_;
  const RowContext& context_;
  std::string record_;
  absl::Status status_;
  uint64_t sequence_ = 0;
  bool bodies_damaged_ = false;
};

uint64_t ReadValue(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = (value << 8) | static_cast<uint8_t>(byte);
  return value;
}

uint32_t SmallNumber(const Statement& row, int column) {
  return static_cast<uint32_t>(std::clamp<int64_t>(row.Integer(column), 0, UINT32_MAX));
}

}  // namespace

absl::Status BodyReader::Fail(int64_t ordinal, const std::string& owner,
                              const std::string& what) const {
  return absl::DataLossError(
      absl::StrCat(owner, " of ", file_->info.name, ": body ", ordinal, " ", what));
}

bool BodyReader::Fetch(int64_t ordinal, BodyFrame* frame, std::string* why) {
  if (!frame_.is_prepared() && file_->connection.Prepare(kSelectFrame, &frame_) != Failure::kNone) {
    *why = file_->connection.message();
    return false;
  }
  frame_.Reset();
  frame_.BindInteger(1, ordinal);
  if (!frame_.Step()) {
    *why = frame_.failure() == Failure::kNone ? absl::StrCat("body ", ordinal, " is missing")
                                              : file_->connection.message();
    return false;
  }
  const int64_t codec = frame_.Integer(0);
  if (codec < 0 || codec > static_cast<int64_t>(BodyCodec::kZstdPrefix)) {
    *why = absl::StrCat("codec ", codec, " is unknown");
    return false;
  }
  frame->codec = static_cast<BodyCodec>(codec);
  frame->base = frame_.Integer(1);
  frame->raw_size = static_cast<uint64_t>(frame_.Integer(2));
  frame->bytes.assign(frame_.Bytes(3));
  frame_.Reset();
  return true;
}

absl::StatusOr<schema::Body> BodyReader::Read(int64_t ordinal, bool bytes,
                                              const std::string& owner) {
  static constexpr char kSelectBeside[] =
      "SELECT ordinal, raw_size, digest, flags, original_size, original_digest, salt FROM body"
      " WHERE ordinal = ?1";

  enum : int { kOrdinal, kRawSize, kDigest, kFlags, kOriginalSize, kOriginalDigest, kSalt };

  if (!row_.is_prepared()) {
    if (const Failure failure = file_->connection.Prepare(kSelectBeside, &row_);
        failure != Failure::kNone)
      return file_->Fail(failure, "reading bodies failed");
  }
  row_.Reset();
  row_.BindInteger(1, ordinal);
  if (!row_.Step()) {
    if (row_.failure() != Failure::kNone) return file_->Fail(row_.failure(), owner);
    return Fail(ordinal, owner, "is missing");
  }
  schema::Body body;
  body.redacted = (row_.Integer(kFlags) & kBodyRedacted) != 0;
  body.cut = (row_.Integer(kFlags) & kBodyCut) != 0;
  if (body.cut) {
    body.original_size = static_cast<uint64_t>(row_.Integer(kOriginalSize));
    const std::string_view original = row_.Bytes(kOriginalDigest);
    if (original.size() != body.original_digest.size())
      return Fail(ordinal, owner, "has no digest of the whole");
    std::memcpy(body.original_digest.data(), original.data(), original.size());
  }
  const std::string salt = Text(row_, kSalt);
  const std::string digest = Text(row_, kDigest);
  row_.Reset();
  if (salt.size() != 32) return Fail(ordinal, owner, "has no salt");
  std::memcpy(body.salt.emplace().data(), salt.data(), salt.size());
  if (!bytes) return body;
  std::string why;
  const auto fetch = [this](int64_t wanted, BodyFrame* frame, std::string* reason) {
    return Fetch(wanted, frame, reason);
  };
  if (!decoder_.Decode(ordinal, fetch, &body.bytes, &why))
    return Fail(ordinal, owner, "cannot be read: " + why);
  if (schema::AsBytes(BodyDigest(salt, body.bytes)) != digest)
    return Fail(ordinal, owner, "does not match its digest");
  return body;
}

absl::StatusOr<schema::Body> BodyReader::ReadColumn(const Statement& row, int column, bool bytes,
                                                    const std::string& owner) {
  if (row.IsNull(column)) return schema::Body();
  return Read(row.Integer(column), bytes, owner);
}

absl::StatusOr<RunRow> ReadRunRow(const Statement& row, const RowContext& context) {
  RunRow result;
  schema::Run& run = result.run;
  result.ordinal = row.Integer(run_column::kOrdinal);
  RowCheck check(row, context, "run");
  run.id = check.Id(run_column::kId);
  RowCheck named(row, context, absl::StrCat("run ", ToString(run.id)));
  if (!row.Bytes(run_column::kParent).empty()) run.parent = named.Id(run_column::kParent);
  run.origin = named.OneOf(run_column::kOrigin, schema::RunOrigin::kImported, "unknown origin");
  run.service = Text(row, run_column::kService);
  run.entry = Text(row, run_column::kEntry);
  run.input = named.Body(run_column::kInputBody);
  run.trace_id = Text(row, run_column::kTraceId);
  run.process = named.Pairs(run_column::kProcess);
  run.started = ReadMoment(row, run_column::kStartedWallNs);
  if (!check.status().ok()) return check.status();
  if (!named.status().ok()) return named.status();
  return result;
}

absl::StatusOr<schema::RunEnd> ReadRunEndRow(const Statement& row, const RowContext& context) {
  schema::RunEnd end;
  RowCheck check(row, context, absl::StrCat("run end ", row.Integer(run_end_column::kOrdinal)));
  end.at = ReadMoment(row, run_end_column::kAtWallNs);
  end.state =
      check.OneOf(run_end_column::kState, schema::EndState::kIncomplete, "unknown end state");
  end.detail = Text(row, run_end_column::kDetail);
  end.output = check.Body(run_end_column::kOutputBody);
  if (!check.status().ok()) return check.status();
  return end;
}

absl::StatusOr<schema::Component> ReadComponentRow(const Statement& row,
                                                   const RowContext& context) {
  schema::Component component;
  component.kind = Text(row, component_column::kKind);
  component.name = Text(row, component_column::kName);
  component.version = Text(row, component_column::kVersion);
  component.at = ReadMoment(row, component_column::kAtWallNs);
  RowCheck check(row, context, absl::StrCat("component ", component.kind, " ", component.name));
  component.content = check.Body(component_column::kContentBody);
  if (!check.status().ok()) return check.status();
  return component;
}

absl::StatusOr<EventRow> ReadEventRow(const Statement& row, const RowContext& context) {
  EventRow result;
  schema::Event& event = result.event;
  result.ordinal = row.Integer(event_column::kOrdinal);
  result.run = row.Integer(event_column::kRun);
  const auto stored = static_cast<uint64_t>(row.Integer(event_column::kSequence));
  RowCheck check(row, context, absl::StrCat("event ", stored - context.sequence_offset));
  event.sequence = check.Sequence(event_column::kSequence);
  check.IsOfEvent(event.sequence);
  event.end_sequence = check.Sequence(event_column::kEndSequence);
  event.scope = Text(row, event_column::kScope);
  event.boundary = check.OneOf(event_column::kBoundary, schema::Boundary::kEnv, "unknown boundary");
  event.name = Text(row, event_column::kName);
  event.provider = Text(row, event_column::kProvider);
  event.endpoint = Text(row, event_column::kEndpoint);
  event.request_headers = check.Pairs(event_column::kRequestHeaders);
  event.request = check.Body(event_column::kRequestBody);
  event.response = check.Body(event_column::kResponseBody);
  event.exchange = check.Exchange(event_column::kExchange, event.response);
  const std::string_view value = row.Bytes(event_column::kValue);
  check.Require(value.empty() || value.size() == 8, "the value is damaged");
  event.value = ReadValue(value);
  event.started = ReadMoment(row, event_column::kStartedWallNs);
  event.elapsed_ns = row.Integer(event_column::kElapsedNs);
  event.end_state =
      check.OneOf(event_column::kEndState, schema::EndState::kIncomplete, "unknown end state");
  event.end_detail = Text(row, event_column::kEndDetail);
  event.attempt = SmallNumber(row, event_column::kAttempt);
  event.in_flight = SmallNumber(row, event_column::kInFlight);
  event.meta = check.Pairs(event_column::kMeta);
  if (!check.status().ok()) return check.status();
  return result;
}

absl::StatusOr<EventRow> ReadOpenCallRow(const Statement& row, const RowContext& context) {
  EventRow result;
  schema::Event& event = result.event;
  result.run = row.Integer(open_call_column::kRun);
  const auto stored = static_cast<uint64_t>(row.Integer(open_call_column::kSequence));
  RowCheck check(row, context, absl::StrCat("open call ", stored - context.sequence_offset));
  event.sequence = check.Sequence(open_call_column::kSequence);
  event.scope = Text(row, open_call_column::kScope);
  event.boundary =
      check.OneOf(open_call_column::kBoundary, schema::Boundary::kEnv, "unknown boundary");
  event.name = Text(row, open_call_column::kName);
  event.provider = Text(row, open_call_column::kProvider);
  event.endpoint = Text(row, open_call_column::kEndpoint);
  event.request_headers = check.Pairs(open_call_column::kRequestHeaders);
  event.request = check.Body(open_call_column::kRequestBody);
  event.started = ReadMoment(row, open_call_column::kStartedWallNs);
  event.attempt = SmallNumber(row, open_call_column::kAttempt);
  event.in_flight = SmallNumber(row, open_call_column::kInFlight);
  event.meta = check.Pairs(open_call_column::kMeta);
  event.end_state = schema::EndState::kIncomplete;
  if (!check.status().ok()) return check.status();
  return result;
}

schema::Gap ReadGapRow(const Statement& row, const RowContext& context) {
  const auto sequence = [&](int column) {
    const auto stored = static_cast<uint64_t>(row.Integer(column));
    return stored > context.sequence_offset ? stored - context.sequence_offset : 0;
  };
  return {.at = ReadMoment(row, gap_column::kAtWallNs),
          .reason = Text(row, gap_column::kReason),
          .count = static_cast<uint64_t>(row.Integer(gap_column::kCount)),
          .bytes = static_cast<uint64_t>(row.Integer(gap_column::kBytes)),
          .first_sequence = sequence(gap_column::kFirstSequence),
          .last_sequence = sequence(gap_column::kLastSequence)};
}

absl::StatusOr<schema::Mark> ReadMarkRow(const Statement& row, const RowContext& context) {
  schema::Mark mark;
  RowCheck check(row, context, absl::StrCat("mark ", row.Integer(mark_column::kOrdinal)));
  mark.id = check.Id(mark_column::kId);
  mark.run = check.Id(mark_column::kRun);
  mark.title = Text(row, mark_column::kTitle);
  mark.severity = static_cast<int32_t>(row.Integer(mark_column::kSeverity));
  mark.notes = Text(row, mark_column::kNotes);
  mark.at = ReadMoment(row, mark_column::kAtWallNs);
  if (!check.status().ok()) return check.status();
  return mark;
}

}  // namespace reenact::store::internal
