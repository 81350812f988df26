// The tables of a segment: the only place where their SQL stands, for the writer and for readers.
// docs/store_format.md describes the same bytes in prose.
//
// Rows are appended and never changed. Each has an `ordinal`, counted from 1 over all tables in the
// order of writing, and a `chain` value (internal/chain.h) that commits to the row and to
// everything before it. `open_call` is the one table that is neither: calls that began and have not
// ended.
//
// Of a chained table, INSERT and SELECT name the same columns in the same order: those the chain
// covers
// (`ordinal` first), then `chain`, then what may be re-encoded without changing what was recorded.
// The enums below are their positions, counted from 0 as results are; parameters count from 1.

#ifndef REENACT_STORE_FORMAT_TABLES_H_
#define REENACT_STORE_FORMAT_TABLES_H_

#include <cstdint>

namespace reenact::store {

// "reen", at offset 68 of the file.
inline constexpr int32_t kApplicationId = 0x7265656e;
// PRAGMA user_version. A newer one is refused by name, an older one is migrated by the writer.
inline constexpr int32_t kSchemaVersion = 1;

// Step 0 -> 1: a new file. All text is bytes as they were given: it may be invalid UTF-8 or hold
// NUL. `run` columns are run.ordinal, `*_body` columns body.ordinal, or NULL for an empty body
// without flags. Columns of pairs, and `exchange`, are packed: internal/pairs.h, body_codec.h.
inline constexpr char kSchemaSql[] = R"sql(
CREATE TABLE meta(
  ordinal INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE body(
  ordinal INTEGER PRIMARY KEY, raw_size INTEGER NOT NULL, digest BLOB NOT NULL, flags INTEGER NOT NULL,
  original_size INTEGER NOT NULL, original_digest BLOB, chain BLOB NOT NULL,
  codec INTEGER NOT NULL, base INTEGER REFERENCES body(ordinal), salt BLOB NOT NULL, dedupe_key BLOB,
  frame BLOB NOT NULL) STRICT;
CREATE TABLE run(
  ordinal INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, parent BLOB NOT NULL, origin INTEGER NOT NULL,
  service TEXT NOT NULL, entry TEXT NOT NULL, input_body INTEGER REFERENCES body(ordinal),
  trace_id TEXT NOT NULL, process BLOB NOT NULL, started_wall_ns INTEGER NOT NULL,
  started_monotonic_ns INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE run_end(
  run INTEGER PRIMARY KEY REFERENCES run(ordinal), ordinal INTEGER NOT NULL,
  at_wall_ns INTEGER NOT NULL, at_monotonic_ns INTEGER NOT NULL, state INTEGER NOT NULL,
  detail TEXT NOT NULL, output_body INTEGER REFERENCES body(ordinal), chain BLOB NOT NULL) STRICT;
CREATE TABLE run_tag(
  run INTEGER NOT NULL REFERENCES run(ordinal), ordinal INTEGER NOT NULL, key TEXT NOT NULL,
  value TEXT NOT NULL, chain BLOB NOT NULL, PRIMARY KEY(run, ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE component(
  run INTEGER NOT NULL REFERENCES run(ordinal), ordinal INTEGER NOT NULL, kind TEXT NOT NULL,
  name TEXT NOT NULL, version TEXT NOT NULL, content_body INTEGER REFERENCES body(ordinal),
  at_wall_ns INTEGER NOT NULL, at_monotonic_ns INTEGER NOT NULL, chain BLOB NOT NULL,
  PRIMARY KEY(run, ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE event(
  sequence INTEGER PRIMARY KEY, ordinal INTEGER NOT NULL, end_sequence INTEGER NOT NULL,
  run INTEGER NOT NULL REFERENCES run(ordinal), scope TEXT NOT NULL, boundary INTEGER NOT NULL,
  name TEXT NOT NULL, provider TEXT NOT NULL, endpoint TEXT NOT NULL, request_headers BLOB NOT NULL,
  request_body INTEGER REFERENCES body(ordinal), response_body INTEGER REFERENCES body(ordinal),
  exchange BLOB NOT NULL, value BLOB, started_wall_ns INTEGER NOT NULL,
  started_monotonic_ns INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL, end_state INTEGER NOT NULL,
  end_detail TEXT NOT NULL, attempt INTEGER NOT NULL, in_flight INTEGER NOT NULL, meta BLOB NOT NULL,
  chain BLOB NOT NULL) STRICT;
CREATE INDEX event_by_run ON event(run);
CREATE TABLE open_call(
  sequence INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(ordinal), scope TEXT NOT NULL,
  boundary INTEGER NOT NULL, name TEXT NOT NULL, provider TEXT NOT NULL, endpoint TEXT NOT NULL,
  request_headers BLOB NOT NULL, request_body INTEGER REFERENCES body(ordinal),
  started_wall_ns INTEGER NOT NULL, started_monotonic_ns INTEGER NOT NULL, attempt INTEGER NOT NULL,
  in_flight INTEGER NOT NULL, meta BLOB NOT NULL) STRICT;
CREATE TABLE gap(
  ordinal INTEGER PRIMARY KEY, at_wall_ns INTEGER NOT NULL, at_monotonic_ns INTEGER NOT NULL,
  reason TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL, last_sequence INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE mark(
  ordinal INTEGER PRIMARY KEY, id BLOB NOT NULL, run BLOB NOT NULL, title TEXT NOT NULL,
  severity INTEGER NOT NULL, notes TEXT NOT NULL, at_wall_ns INTEGER NOT NULL,
  at_monotonic_ns INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
)sql";

// Flags of a body.
inline constexpr int64_t kBodyRedacted = 1;
inline constexpr int64_t kBodyCut = 2;

// Values enter the chain; never renumber.
enum class Table : uint8_t {
  kMeta = 1,
  kBody = 2,
  kRun = 3,
  kRunEnd = 4,
  kRunTag = 5,
  kComponent = 6,
  kEvent = 7,
  kGap = 8,
  kMark = 9,
};

struct ChainedTable {
  Table id;
  const char* name;
  const char* insert;
  const char* select;   // All rows; append a WHERE or ORDER BY clause, see kInOrder.
  int chained_columns;  // The chain covers columns 0 .. chained_columns-1; it stands in the next.
};

inline constexpr char kInOrder[] = " ORDER BY ordinal";
inline constexpr char kOfRunInOrder[] = " WHERE run = ?1 ORDER BY ordinal";
inline constexpr char kOfRunBySequence[] = " WHERE run = ?1 ORDER BY sequence";

namespace meta_column {
enum : int { kOrdinal, kKey, kValue, kChain };
}

// The latest row of a key counts.
inline constexpr ChainedTable kMetaTable = {
    Table::kMeta, "meta", "INSERT INTO meta(ordinal, key, value, chain) VALUES(?1, ?2, ?3, ?4)",
    "SELECT ordinal, key, value, chain FROM meta", meta_column::kChain};

namespace body_column {
enum : int {
  kOrdinal,
  kRawSize,
  kDigest,  // SHA-256(salt || bytes), see BodyDigest.
  kFlags,
  kOriginalSize,    // int64 bits of the uint64.
  kOriginalDigest,  // NULL unless cut.
  kChain,
  kCodec,  // BodyCodec.
  kBase,   // The body whose bytes are this frame's prefix; NULL unless kZstdPrefix.
  kSalt,
  kDedupeKey,  // Never needed to read; 16 bytes of an HMAC with the store's key, or NULL.
  kFrame,
};
}

inline constexpr ChainedTable kBodyTable = {
    Table::kBody, "body",
    "INSERT INTO body(ordinal, raw_size, digest, flags, original_size, original_digest, chain, "
    "codec,"
    " base, salt, dedupe_key, frame) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    "SELECT ordinal, raw_size, digest, flags, original_size, original_digest, chain, codec,"
    " base, salt, dedupe_key, frame FROM body",
    body_column::kChain};
inline constexpr char kOfOrdinal[] = " WHERE ordinal = ?1";
// What BodyDecoder fetches: codec, base, raw_size, frame.
inline constexpr char kSelectFrame[] =
    "SELECT codec, base, raw_size, frame FROM body WHERE ordinal = ?1";

namespace run_column {
enum : int {
  kOrdinal,
  kId,      // 16 bytes.
  kParent,  // 16 bytes, or empty.
  kOrigin,
  kService,
  kEntry,
  kInputBody,
  kTraceId,
  kProcess,  // Pairs.
  kStartedWallNs,
  kStartedMonotonicNs,
  kChain,
};
}

inline constexpr ChainedTable kRunTable = {
    Table::kRun, "run",
    "INSERT INTO run(ordinal, id, parent, origin, service, entry, input_body, trace_id, process,"
    " started_wall_ns, started_monotonic_ns, chain)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    "SELECT ordinal, id, parent, origin, service, entry, input_body, trace_id, process,"
    " started_wall_ns, started_monotonic_ns, chain FROM run",
    run_column::kChain};
inline constexpr char kFindRun[] = "SELECT ordinal FROM run WHERE id = ?1";

namespace run_end_column {
enum : int { kOrdinal, kRun, kAtWallNs, kAtMonotonicNs, kState, kDetail, kOutputBody, kChain };
}

inline constexpr ChainedTable kRunEndTable = {Table::kRunEnd, "run_end",
                                              "INSERT INTO run_end(ordinal, run, at_wall_ns, "
                                              "at_monotonic_ns, state, detail, output_body, chain)"
                                              " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                                              "SELECT ordinal, run, at_wall_ns, at_monotonic_ns, "
                                              "state, detail, output_body, chain FROM run_end",
                                              run_end_column::kChain};

namespace run_tag_column {
enum : int { kOrdinal, kRun, kKey, kValue, kChain };
}

// All tags of a run: those it began with, then those added, in order.
inline constexpr ChainedTable kRunTagTable = {
    Table::kRunTag, "run_tag",
    "INSERT INTO run_tag(ordinal, run, key, value, chain) VALUES(?1, ?2, ?3, ?4, ?5)",
    "SELECT ordinal, run, key, value, chain FROM run_tag", run_tag_column::kChain};

namespace component_column {
enum : int {
  kOrdinal,
  kRun,
  kKind,
  kName,
  kVersion,
  kContentBody,
  kAtWallNs,
  kAtMonotonicNs,
  kChain,
};
}

inline constexpr ChainedTable kComponentTable = {
    Table::kComponent, "component",
    "INSERT INTO component(ordinal, run, kind, name, version, content_body, at_wall_ns,"
    " at_monotonic_ns, chain) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "SELECT ordinal, run, kind, name, version, content_body, at_wall_ns, at_monotonic_ns, chain"
    " FROM component",
    component_column::kChain};

namespace event_column {
enum : int {
  kOrdinal,
  kSequence,
  kEndSequence,
  kRun,
  kScope,
  kBoundary,
  kName,
  kProvider,
  kEndpoint,
  kRequestHeaders,  // Pairs.
  kRequestBody,
  kResponseBody,
  kExchange,  // Pack()ed bytes of EncodeExchange; empty for an empty exchange.
  kValue,     // 8 bytes, big-endian; NULL for 0.
  kStartedWallNs,
  kStartedMonotonicNs,
  kElapsedNs,
  kEndState,
  kEndDetail,
  kAttempt,
  kInFlight,
  kMeta,  // Pairs.
  kChain,
};
}

inline constexpr ChainedTable kEventTable = {
    Table::kEvent, "event",
    "INSERT INTO event(ordinal, sequence, end_sequence, run, scope, boundary, name, provider, "
    "endpoint,"
    " request_headers, request_body, response_body, exchange, value, started_wall_ns,"
    " started_monotonic_ns, elapsed_ns, end_state, end_detail, attempt, in_flight, meta, chain)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,"
    " ?20, ?21, ?22, ?23)",
    "SELECT ordinal, sequence, end_sequence, run, scope, boundary, name, provider, endpoint,"
    " request_headers, request_body, response_body, exchange, value, started_wall_ns,"
    " started_monotonic_ns, elapsed_ns, end_state, end_detail, attempt, in_flight, meta, chain"
    " FROM event",
    event_column::kChain};
inline constexpr char kOfSequence[] = " WHERE sequence = ?1";

namespace gap_column {
enum : int {
  kOrdinal,
  kAtWallNs,
  kAtMonotonicNs,
  kReason,
  kCount,
  kBytes,
  kFirstSequence,
  kLastSequence,
  kChain,
};
}

inline constexpr ChainedTable kGapTable = {
    Table::kGap, "gap",
    "INSERT INTO gap(ordinal, at_wall_ns, at_monotonic_ns, reason, count, bytes, first_sequence,"
    " last_sequence, chain) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "SELECT ordinal, at_wall_ns, at_monotonic_ns, reason, count, bytes, first_sequence, "
    "last_sequence,"
    " chain FROM gap",
    gap_column::kChain};

namespace mark_column {
enum : int { kOrdinal, kId, kRun, kTitle, kSeverity, kNotes, kAtWallNs, kAtMonotonicNs, kChain };
}

// `run` is the 16-byte id: the run may lie in an earlier segment.
inline constexpr ChainedTable kMarkTable = {
    Table::kMark, "mark",
    "INSERT INTO mark(ordinal, id, run, title, severity, notes, at_wall_ns, at_monotonic_ns, chain)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "SELECT ordinal, id, run, title, severity, notes, at_wall_ns, at_monotonic_ns, chain FROM mark",
    mark_column::kChain};

// Every chained table; a reader that checks the chain merges them by ordinal.
inline constexpr const ChainedTable* kChainedTables[] = {
    &kMetaTable,      &kBodyTable,  &kRunTable, &kRunEndTable, &kRunTagTable,
    &kComponentTable, &kEventTable, &kGapTable, &kMarkTable,
};

// Calls under way, as the columns of the same names in `event`. Not chained.
namespace open_call_column {
enum : int {
  kSequence,
  kRun,
  kScope,
  kBoundary,
  kName,
  kProvider,
  kEndpoint,
  kRequestHeaders,
  kRequestBody,
  kStartedWallNs,
  kStartedMonotonicNs,
  kAttempt,
  kInFlight,
  kMeta,
};
}

inline constexpr char kInsertOpenCall[] =
    "INSERT INTO open_call(sequence, run, scope, boundary, name, provider, endpoint, "
    "request_headers,"
    " request_body, started_wall_ns, started_monotonic_ns, attempt, in_flight, meta)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
inline constexpr char kSelectOpenCalls[] =
    "SELECT sequence, run, scope, boundary, name, provider, endpoint, request_headers, "
    "request_body,"
    " started_wall_ns, started_monotonic_ns, attempt, in_flight, meta FROM open_call";
inline constexpr char kDeleteOpenCall[] = "DELETE FROM open_call WHERE sequence = ?1";

// Keys of `meta` that the writer sets. Keys of this prefix are not provenance of a bundle.
inline constexpr char kMetaPrefix[] = "reenact.";
inline constexpr char kMetaSegmentId[] = "reenact.segment_id";     // 16 bytes.
inline constexpr char kMetaOwner[] = "reenact.owner";              // EncodeOwner, store_layout.h.
inline constexpr char kMetaCreated[] = "reenact.created_wall_ns";  // Decimal.
inline constexpr char kMetaSealed[] = "reenact.sealed";  // Decimal count of rows before this one.
inline constexpr char kMetaRing[] = "reenact.ring";      // Path of the ring, set by the drain.

// incidents.db: what retention asks of it. A pin keeps a segment until the run's copy is made; a
// mark row of a segment whose id is not adopted pins by itself.
inline constexpr char kIncidentPinsSql[] = R"sql(
CREATE TABLE IF NOT EXISTS pin(
  segment TEXT NOT NULL, run BLOB NOT NULL, PRIMARY KEY(segment, run)) STRICT;
CREATE TABLE IF NOT EXISTS adopted_mark(id BLOB PRIMARY KEY) STRICT;
)sql";
inline constexpr char kSelectPinnedSegments[] = "SELECT DISTINCT segment FROM pin";
inline constexpr char kSelectAdoptedMarks[] = "SELECT id FROM adopted_mark";

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_TABLES_H_
