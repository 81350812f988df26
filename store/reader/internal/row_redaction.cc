#include "store/reader/internal/row_redaction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/format/pairs.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;
using sqlite::ValueType;

// The bodies of a call stand beside it, so that its row is asked for up to three times in a row;
// calls that overlap mix a few.
constexpr size_t kRememberedRows = 4;

void NoteChange(const char* part, RedactedRow* result) {
  result->parts.emplace_back(part);
}

void SetText(const std::string& before, const std::string& after, int column, const char* part,
             RedactedRow* result) {
  if (before == after) return;
  result->columns[static_cast<size_t>(column)].bytes = after;
  NoteChange(part, result);
}

void SetPairs(const schema::Tags& before, const schema::Tags& after, int column, const char* part,
              RedactedRow* result) {
  if (before == after) return;
  EncodePairs(after, &result->columns[static_cast<size_t>(column)].bytes);
  NoteChange(part, result);
}

// Text columns of rows that hold nothing else of interest.
void RedactTexts(const RecordRedactor& redactor,
                 const std::vector<std::pair<int, const char*>>& columns, RedactedRow* result) {
  for (const auto& [column, part] : columns) {
    std::string text = result->columns[static_cast<size_t>(column)].bytes;
    redactor.Redact(&text);
    SetText(result->columns[static_cast<size_t>(column)].bytes, text, column, part, result);
  }
}

bool IsSameBody(const schema::Body& a, const schema::Body& b) {
  return a.bytes == b.bytes && a.redacted == b.redacted && a.cut == b.cut;
}

void AddBody(const Statement& row, int column, const schema::Body& before, schema::Body after,
             const char* part, RedactedRow* result) {
  if (row.IsNull(column)) return;
  RowBody& body = result->bodies.emplace_back();
  body.column = column;
  body.ordinal = row.Integer(column);
  body.changed = !IsSameBody(before, after);
  body.body = std::move(after);
  if (!body.changed) return;
  // The salt goes with what it was the salt of, and so does what the whole is known by.
  body.body.salt.reset();
  body.body.original_digest = {};
  NoteChange(part, result);
}

const char* ConditionFor(Table table) {
  switch (table) {
    case Table::kEvent:
      return " WHERE ordinal = ?1 AND sequence = ?2";
    case Table::kRun:
      return " WHERE ordinal = ?1 AND ?2 = ?2";
    default:
      return " WHERE ordinal = ?1 AND run = ?2";
  }
}

}  // namespace

ColumnValue ReadColumn(const Statement& row, int column) {
  ColumnValue value{.type = row.Type(column), .integer = 0, .bytes = {}};
  if (value.type == ValueType::kInteger) value.integer = row.Integer(column);
  if (value.type == ValueType::kText || value.type == ValueType::kBlob)
    value.bytes = row.Bytes(column);
  return value;
}

RowRedactor::RowRedactor(RecordFile* file, const RecordRedactor* redactor)
    : redactor_(redactor),
      file_(file),
      bodies_(file),
      context_{.file = file,
               .bodies = &bodies_,
               .with_bytes = true,
               .damaged = nullptr,
               .sequence_offset = 0} {}

absl::StatusOr<RowRedactor::Row> RowRedactor::Redact(const ChainedTable& table,
                                                     const Statement& row) {
  const int64_t ordinal = row.Integer(0);
  const auto found = std::find_if(
      remembered_.begin(), remembered_.end(),
      [&](const Remembered& one) { return one.table == table.id && one.ordinal == ordinal; });
  if (found != remembered_.end()) return found->row;
  auto made = Make(table, row);
  if (!made.ok()) return made.status();
  auto shared = std::make_shared<const RedactedRow>(*std::move(made));
  if (!shared->bodies.empty()) remembered_.push_front({table.id, ordinal, shared});
  if (remembered_.size() > kRememberedRows) remembered_.pop_back();
  return shared;
}

absl::StatusOr<RowRedactor::Row> RowRedactor::RedactUser(const BodyUse& use) {
  for (const Remembered& one : remembered_) {
    if (one.table == use.table->id && one.ordinal == use.ordinal) return one.row;
  }
  Statement row;
  const Failure failure =
      file_->connection.Prepare(absl::StrCat(use.table->select, ConditionFor(use.table->id)), &row);
  if (failure != Failure::kNone) return file_->Fail(failure, "reading rows failed");
  row.BindInteger(1, use.ordinal);
  row.BindInteger(2, use.key);
  if (row.Step()) return Redact(*use.table, row);
  if (row.failure() != Failure::kNone) return file_->Fail(row.failure(), "reading rows failed");
  return absl::DataLossError(
      absl::StrCat(file_->info.name, ": row ", use.ordinal, " is not where its index says"));
}

absl::StatusOr<RowBody> RowRedactor::RedactUnused(int64_t ordinal) {
  auto before = bodies_.Read(ordinal, true, "a body that nothing refers to");
  if (!before.ok()) return before.status();
  RowBody result{.column = 0, .ordinal = ordinal, .body = *before, .changed = false};
  redactor_->Redact(&result.body);
  result.changed = !IsSameBody(*before, result.body);
  if (result.changed) {
    result.body.salt.reset();
    result.body.original_digest = {};
  }
  return result;
}

absl::StatusOr<RedactedRow> RowRedactor::Make(const ChainedTable& table, const Statement& row) {
  RedactedRow result;
  for (int column = 0; column < table.chained_columns; ++column)
    result.columns.push_back(ReadColumn(row, column));
  absl::Status done;
  switch (table.id) {
    case Table::kMeta:
      RedactMeta(row, &result);
      break;
    case Table::kBody:
      break;
    case Table::kRun:
      done = RedactRun(row, &result);
      break;
    case Table::kRunEnd:
      done = RedactRunEnd(row, &result);
      break;
    case Table::kRunTag:
      RedactTag(row, &result);
      break;
    case Table::kComponent:
      done = RedactComponent(row, &result);
      break;
    case Table::kEvent:
      done = RedactEvent(row, &result);
      break;
    case Table::kGap:
      RedactTexts(*redactor_, {{gap_column::kReason, "reason"}}, &result);
      break;
    case Table::kMark:
      RedactTexts(*redactor_, {{mark_column::kTitle, "title"}, {mark_column::kNotes, "notes"}},
                  &result);
      break;
  }
  if (!done.ok()) return done;
  return result;
}

absl::Status RowRedactor::RedactRun(const Statement& row, RedactedRow* result) {
  const auto read = ReadRunRow(row, context_);
  if (!read.ok()) return read.status();
  const schema::Run& before = read->run;
  schema::Run after = before;
  redactor_->Redact(&after);
  SetText(before.service, after.service, run_column::kService, "service", result);
  SetText(before.entry, after.entry, run_column::kEntry, "entry", result);
  SetText(before.trace_id, after.trace_id, run_column::kTraceId, "trace id", result);
  SetPairs(before.process, after.process, run_column::kProcess, "process", result);
  AddBody(row, run_column::kInputBody, before.input, std::move(after.input), "input", result);
  return absl::OkStatus();
}

absl::Status RowRedactor::RedactRunEnd(const Statement& row, RedactedRow* result) {
  const auto before = ReadRunEndRow(row, context_);
  if (!before.ok()) return before.status();
  schema::RunEnd after = *before;
  redactor_->Redact(&after);
  SetText(before->detail, after.detail, run_end_column::kDetail, "detail", result);
  AddBody(row, run_end_column::kOutputBody, before->output, std::move(after.output), "output",
          result);
  return absl::OkStatus();
}

absl::Status RowRedactor::RedactComponent(const Statement& row, RedactedRow* result) {
  const auto before = ReadComponentRow(row, context_);
  if (!before.ok()) return before.status();
  schema::Component after = *before;
  redactor_->Redact(&after);
  SetText(before->kind, after.kind, component_column::kKind, "kind", result);
  SetText(before->name, after.name, component_column::kName, "name", result);
  SetText(before->version, after.version, component_column::kVersion, "version", result);
  AddBody(row, component_column::kContentBody, before->content, std::move(after.content), "content",
          result);
  return absl::OkStatus();
}

absl::Status RowRedactor::RedactEvent(const Statement& row, RedactedRow* result) {
  const auto read = ReadEventRow(row, context_);
  if (!read.ok()) return read.status();
  const schema::Event& before = read->event;
  schema::Event after = before;
  redactor_->RedactBegin(&after);
  redactor_->RedactEnd(&after, &after.meta);
  SetText(before.scope, after.scope, event_column::kScope, "scope", result);
  SetText(before.name, after.name, event_column::kName, "name", result);
  SetText(before.provider, after.provider, event_column::kProvider, "provider", result);
  SetText(before.endpoint, after.endpoint, event_column::kEndpoint, "endpoint", result);
  SetText(before.end_detail, after.end_detail, event_column::kEndDetail, "end", result);
  SetPairs(before.request_headers, after.request_headers, event_column::kRequestHeaders,
           "request headers", result);
  SetPairs(before.meta, after.meta, event_column::kMeta, "facts", result);
  if (absl::Status done = RedactExchange(before.exchange, after.exchange, result); !done.ok())
    return done;
  for (const auto& [fact, value] : after.meta) {
    if (fact == "opaque_encoding" || fact == "request_opaque_encoding")
      result->opaque_encoding = value;
  }
  AddBody(row, event_column::kRequestBody, before.request, std::move(after.request), "request",
          result);
  AddBody(row, event_column::kResponseBody, before.response, std::move(after.response), "response",
          result);
  return absl::OkStatus();
}

absl::Status RowRedactor::RedactExchange(const schema::Exchange& before,
                                         const schema::Exchange& after, RedactedRow* result) {
  if (before == after) return absl::OkStatus();
  std::string& packed = result->columns[event_column::kExchange].bytes;
  if (!encoder_.Pack(schema::EncodeExchange(after), &packed))
    return absl::ResourceExhaustedError("no memory for an exchange");
  NoteChange("exchange", result);
  return absl::OkStatus();
}

void RowRedactor::RedactTag(const Statement& row, RedactedRow* result) {
  const schema::Tags before = {{std::string(row.Bytes(run_tag_column::kKey)),
                                std::string(row.Bytes(run_tag_column::kValue))}};
  schema::Tags after = before;
  redactor_->Redact(&after);
  SetText(before[0].first, after[0].first, run_tag_column::kKey, "key", result);
  SetText(before[0].second, after[0].second, run_tag_column::kValue, "value", result);
}

// What the writer says of itself stays: names of files and processes, no word of a host's.
void RowRedactor::RedactMeta(const Statement& row, RedactedRow* result) {
  const schema::Tags before = {
      {std::string(row.Bytes(meta_column::kKey)), std::string(row.Bytes(meta_column::kValue))}};
  if (absl::StartsWith(before[0].first, kMetaPrefix)) return;
  schema::Tags after = before;
  redactor_->Redact(&after);
  SetText(before[0].first, after[0].first, meta_column::kKey, "key", result);
  SetText(before[0].second, after[0].second, meta_column::kValue, "value", result);
}

}  // namespace reenact::store::internal
