#include "tests/support/segment_oracle.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "gtest/gtest.h"

#include "schema/varint.h"
#include "store/format/body_codec.h"
#include "store/format/chain.h"
#include "store/format/pairs.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"

namespace reenact::testing {
namespace {

using store::sqlite::Connection;
using store::sqlite::Failure;
using store::sqlite::OpenMode;
using store::sqlite::Statement;

void CheckIntegrity(Connection* connection, StoredSegment* segment) {
  std::string answer;
  if (connection->QueryText("PRAGMA integrity_check", &answer) != Failure::kNone) {
    segment->damage = connection->message();
  } else if (answer != "ok") {
    segment->damage = answer;
  }
  Statement orphans;
  if (connection->Prepare("PRAGMA foreign_key_check", &orphans) != Failure::kNone ||
      orphans.Step()) {
    segment->damage = "a foreign key names what is not there";
  }
}

void ReadMeta(Connection* connection, StoredSegment* segment) {
  Statement rows;
  if (connection->Prepare("SELECT key, value FROM meta ORDER BY ordinal", &rows) !=
      Failure::kNone) {
    segment->damage = connection->message();
    return;
  }
  while (rows.Step()) segment->meta[std::string(rows.Bytes(0))] = rows.Bytes(1);
}

void CheckChain(Connection* connection, StoredSegment* segment) {
  struct Cursor {
    const store::ChainedTable* table;
    Statement rows;
    bool more;
  };

  std::vector<Cursor> cursors;
  for (const store::ChainedTable* table : store::kChainedTables) {
    Cursor cursor{table, {}, false};
    const std::string sql = std::string(table->select) + store::kInOrder;
    if (connection->Prepare(sql, &cursor.rows) != Failure::kNone) {
      segment->damage = connection->message();
      return;
    }
    cursor.more = cursor.rows.Step();
    cursors.push_back(std::move(cursor));
  }
  const auto id = schema::UlidFromBytes(segment->meta[store::kMetaSegmentId]);
  segment->head = store::FirstLink(id.value_or(schema::Ulid{}));
  store::Link link;
  for (;;) {
    Cursor* next = nullptr;
    for (Cursor& cursor : cursors) {
      if (cursor.more && cursor.rows.Integer(0) == segment->rows + 1) next = &cursor;
    }
    if (next == nullptr) break;
    segment->head = store::LinkOfRow(&link, segment->head, *next->table, next->rows);
    if (next->rows.Bytes(next->table->chained_columns) != schema::AsBytes(segment->head)) {
      segment->damage = "the chain breaks at row " + std::to_string(segment->rows + 1) + " in " +
                        next->table->name;
      return;
    }
    ++segment->rows;
    ++segment->counts[next->table->name];
    next->more = next->rows.Step();
  }
  for (const Cursor& cursor : cursors) {
    if (cursor.more) {
      segment->damage = "row " + std::to_string(segment->rows + 1) + " is missing";
    }
  }
}

class Bodies {
 public:
  Bodies(Connection* connection, StoredSegment* segment) : segment_(segment) {
    (void)connection->Prepare(std::string(store::kBodyTable.select) + store::kOfOrdinal, &body_);
    (void)connection->Prepare(store::kSelectFrame, &frame_);
  }

  schema::Body Read(int64_t ordinal) {
    schema::Body body;
    if (ordinal == 0) return body;
    body_.BindInteger(1, ordinal);
    if (!body_.Step()) {
      segment_->damage = "body " + std::to_string(ordinal) + " is missing";
      body_.Reset();
      return body;
    }
    namespace column = store::body_column;
    std::string why;
    const auto fetch = [this](int64_t id, store::BodyFrame* frame, std::string*) {
      frame_.BindInteger(1, id);
      const bool found = frame_.Step();
      if (found) {
        frame->codec = static_cast<store::BodyCodec>(frame_.Integer(0));
        frame->base = frame_.Integer(1);
        frame->raw_size = static_cast<uint64_t>(frame_.Integer(2));
        frame->bytes = frame_.Bytes(3);
      }
      frame_.Reset();
      return found;
    };
    if (!decoder_.Decode(ordinal, fetch, &body.bytes, &why)) segment_->damage = why;
    if (schema::AsBytes(store::BodyDigest(body_.Bytes(column::kSalt), body.bytes)) !=
        body_.Bytes(column::kDigest)) {
      segment_->damage = "body " + std::to_string(ordinal) + " does not match its digest";
    }
    store::Salt salt{};
    const std::string_view stored_salt = body_.Bytes(column::kSalt);
    std::copy(stored_salt.begin(), stored_salt.end(), salt.begin());
    body.salt = salt;
    body.redacted = (body_.Integer(column::kFlags) & store::kBodyRedacted) != 0;
    body.cut = (body_.Integer(column::kFlags) & store::kBodyCut) != 0;
    body.original_size = static_cast<uint64_t>(body_.Integer(column::kOriginalSize));
    if (body.cut) {
      const std::string_view digest = body_.Bytes(column::kOriginalDigest);
      std::copy(digest.begin(), digest.end(), body.original_digest.begin());
    }
    body_.Reset();
    return body;
  }

 private:
  StoredSegment* segment_;
  Statement body_;
  Statement frame_;
  store::BodyDecoder decoder_;
};

schema::Event EventOfRow(const Statement& row, Bodies* bodies, StoredSegment* segment) {
  namespace column = store::event_column;
  schema::Event event;
  event.sequence = static_cast<uint64_t>(row.Integer(column::kSequence));
  event.end_sequence = static_cast<uint64_t>(row.Integer(column::kEndSequence));
  event.scope = row.Bytes(column::kScope);
  event.boundary = static_cast<schema::Boundary>(row.Integer(column::kBoundary));
  event.name = row.Bytes(column::kName);
  event.provider = row.Bytes(column::kProvider);
  event.endpoint = row.Bytes(column::kEndpoint);
  event.request_headers = store::DecodePairs(row.Bytes(column::kRequestHeaders)).value();
  event.request = bodies->Read(row.Integer(column::kRequestBody));
  event.response = bodies->Read(row.Integer(column::kResponseBody));
  std::string exchange;
  if (!store::Unpack(row.Bytes(column::kExchange), size_t{64} << 20, &exchange)) {
    segment->damage = "an exchange cannot be unpacked";
  }
  if (!exchange.empty()) event.exchange = schema::DecodeExchange(exchange).value();
  for (const char byte : row.Bytes(column::kValue)) {
    event.value = event.value << 8 | static_cast<uint8_t>(byte);
  }
  event.started = {row.Integer(column::kStartedWallNs), row.Integer(column::kStartedMonotonicNs)};
  event.elapsed_ns = row.Integer(column::kElapsedNs);
  event.end_state = static_cast<schema::EndState>(row.Integer(column::kEndState));
  event.end_detail = row.Bytes(column::kEndDetail);
  event.attempt = static_cast<uint32_t>(row.Integer(column::kAttempt));
  event.in_flight = static_cast<uint32_t>(row.Integer(column::kInFlight));
  event.meta = store::DecodePairs(row.Bytes(column::kMeta)).value();
  return event;
}

void ReadEvents(Connection* connection, StoredSegment* segment) {
  Bodies bodies(connection, segment);
  Statement rows;
  Statement run;
  (void)connection->Prepare(store::kEventTable.select, &rows);
  (void)connection->Prepare("SELECT id FROM run WHERE ordinal = ?1", &run);
  while (rows.Step()) {
    schema::Event event = EventOfRow(rows, &bodies, segment);
    run.BindInteger(1, rows.Integer(store::event_column::kRun));
    if (run.Step()) event.run = schema::UlidFromBytes(run.Bytes(0)).value_or(schema::Ulid{});
    run.Reset();
    segment->events[event.sequence] = std::move(event);
  }
  Statement open;
  (void)connection->Prepare("SELECT sequence FROM open_call ORDER BY sequence", &open);
  while (open.Step()) segment->open_calls.push_back(static_cast<uint64_t>(open.Integer(0)));
  Statement codecs;
  (void)connection->Prepare("SELECT codec, count(*) FROM body GROUP BY codec", &codecs);
  while (codecs.Step()) segment->codecs[codecs.Integer(0)] = static_cast<int>(codecs.Integer(1));
}

}  // namespace

StoredSegment ReadSegment(const std::string& path) {
  StoredSegment segment;
  Connection connection;
  if (connection.Open(path, OpenMode::kReadOnly) != Failure::kNone) {
    segment.damage = connection.message();
    return segment;
  }
  CheckIntegrity(&connection, &segment);
  if (segment.damage.empty()) ReadMeta(&connection, &segment);
  if (segment.damage.empty()) CheckChain(&connection, &segment);
  if (segment.damage.empty()) ReadEvents(&connection, &segment);
  return segment;
}

std::string QueryOne(const std::string& path, const std::string& sql) {
  Connection connection;
  std::string value;
  if (connection.Open(path, OpenMode::kReadOnly) != Failure::kNone) return connection.message();
  (void)connection.QueryText(sql.c_str(), &value);
  return value;
}

void Tamper(const std::string& path, const std::string& sql) {
  ::chmod(path.c_str(), 0600);
  Connection connection;
  ASSERT_EQ(connection.Open(path, OpenMode::kReadWrite), Failure::kNone);
  ASSERT_EQ(connection.Execute("PRAGMA foreign_keys=OFF"), Failure::kNone);
  ASSERT_EQ(connection.Execute(sql.c_str()), Failure::kNone) << connection.message();
}

}  // namespace reenact::testing
