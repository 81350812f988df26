// How bodies get into the new file: kept with their frames where they can be, encoded again where
// they or their prefixes changed.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "store/format/chain.h"
#include "store/reader/internal/segment_rewriter.h"
#include "store/store_layout.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

// What of a body's row is its frame: the columns behind the chain.
constexpr int kFirstFrameColumn = body_column::kCodec;

struct BodyColumn {
  const ChainedTable* table;
  int column;
  const char* sql;  // Ordinal, key of BodyUse, body.
};

constexpr BodyColumn kBodyColumns[] = {
    {&kRunTable, run_column::kInputBody,
     "SELECT ordinal, 0, input_body FROM run WHERE input_body IS NOT NULL"},
    {&kRunEndTable, run_end_column::kOutputBody,
     "SELECT ordinal, run, output_body FROM run_end WHERE output_body IS NOT NULL"},
    {&kComponentTable, component_column::kContentBody,
     "SELECT ordinal, run, content_body FROM component WHERE content_body IS NOT NULL"},
    {&kEventTable, event_column::kRequestBody,
     "SELECT ordinal, sequence, request_body FROM event WHERE request_body IS NOT NULL"},
    {&kEventTable, event_column::kResponseBody,
     "SELECT ordinal, sequence, response_body FROM event WHERE response_body IS NOT NULL"},
};

std::string_view SaltBytes(const Salt& salt) {
  return {reinterpret_cast<const char*>(salt.data()), salt.size()};
}

}  // namespace

absl::Status SegmentRewriter::ReadBodyUses() {
  uses_.clear();
  for (const BodyColumn& column : kBodyColumns) {
    Statement rows;
    if (const Failure failure = file_->connection.Prepare(column.sql, &rows);
        failure != Failure::kNone)
      return file_->Fail(failure, "reading rows failed");
    while (rows.Step())
      uses_[rows.Integer(2)].push_back(
          {column.table, rows.Integer(0), rows.Integer(1), column.column});
    if (rows.failure() != Failure::kNone) return file_->Fail(rows.failure(), "reading rows failed");
  }
  return absl::OkStatus();
}

// What the policy leaves of a body, in the eyes of each row that uses it; the same but for bodies
// that are read in different ways.
absl::StatusOr<std::vector<RowBody>> SegmentRewriter::VariantsOf(int64_t ordinal) {
  std::vector<RowBody> variants;
  const auto found = uses_.find(ordinal);
  if (found == uses_.end()) {
    auto unused = rows_.RedactUnused(ordinal);
    if (!unused.ok()) return unused.status();
    variants.push_back(*std::move(unused));
    return variants;
  }
  std::vector<std::pair<BodyUse, size_t>> others;
  for (const BodyUse& use : found->second) {
    const auto row = rows_.RedactUser(use);
    if (!row.ok()) return row.status();
    const auto body = std::find_if(
        (*row)->bodies.begin(), (*row)->bodies.end(),
        [&](const RowBody& one) { return one.column == use.column && one.ordinal == ordinal; });
    if (body == (*row)->bodies.end()) return Damaged("a body is not where its index says");
    const auto same = std::find_if(variants.begin(), variants.end(), [&](const RowBody& one) {
      return one.body.bytes == body->body.bytes;
    });
    const auto index = static_cast<size_t>(same - variants.begin());
    if (same == variants.end()) variants.push_back(*body);
    if (index > 0) others.emplace_back(use, index);
  }
  const int64_t first = chain_.state().rows + 1;
  for (const auto& [use, index] : others)
    other_variants_[{use.ordinal, use.column}] = first + static_cast<int64_t>(index);
  for (size_t i = 1; i < variants.size(); ++i) split_bodies_.push_back(ordinal);
  return variants;
}

absl::Status SegmentRewriter::WriteBody(int64_t ordinal) {
  const auto variants = VariantsOf(ordinal);
  if (!variants.ok()) return variants.status();
  Statement row;
  Failure failure = file_->connection.Prepare(absl::StrCat(kBodyTable.select, kOfOrdinal), &row);
  if (failure == Failure::kNone) row.BindInteger(1, ordinal);
  if (failure != Failure::kNone || !row.Step())
    return file_->Fail(failure != Failure::kNone ? failure : row.failure(),
                       "reading bodies failed");
  const int64_t base = row.Integer(body_column::kBase);
  for (const RowBody& variant : *variants) {
    absl::Status done;
    if (variant.changed) {
      changed_bodies_.insert(ordinal);
      done = AppendBody(variant.body, base);
    } else if (base != 0 && changed_bodies_.contains(base)) {
      done = AppendReencoded(row, variant.body.bytes);
    } else {
      done = CopyBody(row);
    }
    if (!done.ok()) return done;
  }
  return absl::OkStatus();
}

// A row as it is, with its frame.
absl::Status SegmentRewriter::CopyBody(const Statement& row) {
  std::vector<ColumnValue> columns;
  for (int i = 0; i <= body_column::kFrame; ++i) columns.push_back(ReadColumn(row, i));
  ColumnValue& base = columns[body_column::kBase];
  base.integer = NewOrdinal(base.integer);
  chain_.Begin(kBodyTable);
  for (size_t i = 1; i < body_column::kChain; ++i) WriteColumn(columns[i]);
  chain_.EndChain();
  for (size_t i = kFirstFrameColumn; i < columns.size(); ++i) WriteColumn(columns[i]);
  return Append();
}

// A row as it is but for its frame, whose prefix changed.
absl::Status SegmentRewriter::AppendReencoded(const Statement& row, const std::string& bytes) {
  std::vector<ColumnValue> columns;
  for (int i = 0; i <= body_column::kDedupeKey; ++i) columns.push_back(ReadColumn(row, i));
  BodyFrame frame;
  if (absl::Status done = EncodeFrame(bytes, columns[body_column::kBase].integer, &frame);
      !done.ok())
    return done;
  chain_.Begin(kBodyTable);
  for (size_t i = 1; i < body_column::kChain; ++i) WriteColumn(columns[i]);
  chain_.EndChain();
  WriteFrame(frame, bytes, columns[body_column::kSalt].bytes, columns[body_column::kDedupeKey]);
  return Append();
}

absl::Status SegmentRewriter::AppendBody(const schema::Body& body, int64_t base) {
  BodyFrame frame;
  if (absl::Status done = EncodeFrame(body.bytes, base, &frame); !done.ok()) return done;
  const int64_t ordinal = chain_.Begin(kBodyTable);
  Salt salt;
  if (deterministic_) {
    salt = DeterministicSalt(ordinal, body.bytes);
  } else {
    FillRandom(salt.data(), salt.size());
  }
  const schema::Digest digest = BodyDigest(SaltBytes(salt), body.bytes);
  chain_.Integer(static_cast<int64_t>(body.bytes.size()));
  chain_.Blob(schema::AsBytes(digest));
  chain_.Integer((body.redacted ? kBodyRedacted : 0) | (body.cut ? kBodyCut : 0));
  chain_.Integer(static_cast<int64_t>(body.original_size));
  if (body.cut) {
    chain_.Blob(schema::AsBytes(body.original_digest));
  } else {
    chain_.Null();
  }
  chain_.EndChain();
  // Nothing by which the bytes of before could be told: the salt is new, and no key is kept.
  WriteFrame(frame, body.bytes, SaltBytes(salt), {});
  return Append();
}

void SegmentRewriter::WriteFrame(const BodyFrame& frame, const std::string& bytes,
                                 std::string_view salt, const ColumnValue& dedupe_key) {
  chain_.Integer(static_cast<int64_t>(frame.codec));
  if (frame.base == 0) {
    chain_.Null();
  } else {
    chain_.Integer(frame.base);
  }
  chain_.Blob(salt);
  WriteColumn(dedupe_key);
  chain_.Blob(frame.codec == BodyCodec::kPlain ? std::string_view(bytes) : frame.bytes);
}

// The prefix stays the same body as before, in its new form.
absl::Status SegmentRewriter::EncodeFrame(const std::string& bytes, int64_t base,
                                          BodyFrame* frame) {
  schema::Body prefix;
  if (base != 0) {
    std::string why;
    if (written_.ReadBody(NewOrdinal(base), &prefix, &why) != Failure::kNone)
      return Damaged(absl::StrCat("a body just written cannot be read: ", why));
    if (prefix.bytes.size() > kMaxPrefixBytes) prefix.bytes.clear();
  }
  if (!encoder_.Encode(bytes, prefix.bytes, frame))
    return absl::ResourceExhaustedError(absl::StrCat(file_->info.name, ": no memory for a frame"));
  frame->base = frame->codec == BodyCodec::kZstdPrefix ? NewOrdinal(base) : 0;
  return absl::OkStatus();
}

}  // namespace reenact::store::internal
