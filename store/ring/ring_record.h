// The records that cross the ring: what a producer writes on the caller's thread, and what the
// consumer turns into rows. Encoded flat (varint.h), the large bytes last and unescaped, so that a
// producer copies each body once, straight into the ring.

#ifndef REENACT_STORE_RING_RING_RECORD_H_
#define REENACT_STORE_RING_RING_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/record.h"

namespace reenact::store {

// Values are on disk for the life of a ring; never renumber.
enum class RecordKind : uint8_t {
  kRun = 1,        // schema::Run; tail: input
  kRunEnd = 2,     // schema::RunEnd; tail: output
  kComponent = 3,  // run id + schema::Component; tail: content
  kCallBegin = 4,  // schema::Event without answer; tail: request
  kCallEnd = 5,    // CallEnd; tail: response
  kReading = 6,    // schema::Event of clock, random or env: begins and ends at once; no tail
  kMark = 7,       // schema::Mark
  kTags = 8,       // run id + tags added to a run
};

// A body that did not travel in the record: it lies in a spill file on the ring's file system, and
// the record's tail is empty.
struct SpilledBody {
  std::string path;  // Empty: not spilled.
  uint64_t size = 0;
  bool cut = false;
  uint64_t original_size = 0;
  schema::Digest original_digest{};
};

struct CallEnd {
  uint64_t begin_sequence = 0;
  int64_t elapsed_ns = 0;
  schema::EndState state = schema::EndState::kComplete;
  std::string detail;
  schema::Tags meta;
  std::string exchange;  // As EncodeExchange writes it.
  SpilledBody spilled;
};

// A call that begins, in the words of the caller: nothing is copied before it is encoded.
struct StartedCall {
  schema::Ulid run;
  std::string_view scope;
  schema::Boundary boundary = schema::Boundary::kModel;
  std::string_view name;
  std::string_view provider;
  std::string_view endpoint;
  const schema::Headers* request_headers = nullptr;  // Null: none.
  schema::Moment started;
  uint32_t attempt = 0;
  uint32_t in_flight = 0;
  const schema::Tags* meta = nullptr;     // Null: none.
  const schema::Body* request = nullptr;  // What there is to say of it besides its bytes, if any.
};

// Each Encode appends the record without its tail to `*out`; the tail is given to Ring::Append as
// its own piece. Each Decode reads payloads of its own kind and returns nothing when damaged.
void EncodeRun(const schema::Run& run, std::string* out);
void EncodeRunEnd(const schema::RunEnd& end, std::string* out);
void EncodeComponent(const schema::Ulid& run, const schema::Component& component, std::string* out);
void EncodeCallBegin(const StartedCall& call, const SpilledBody& request_spilled, std::string* out);
void EncodeCallBegin(const schema::Event& event, const SpilledBody& request_spilled,
                     std::string* out);
void EncodeCallEnd(const CallEnd& end, std::string* out);
void EncodeReading(const schema::Event& event, std::string* out);
void EncodeMark(const schema::Mark& mark, std::string* out);
void EncodeTags(const schema::Ulid& run, const schema::Tags& tags, std::string* out);

std::optional<schema::Run> DecodeRun(std::string_view payload);
std::optional<schema::RunEnd> DecodeRunEnd(std::string_view payload);

struct RunComponent {
  schema::Ulid run;
  schema::Component component;
};

std::optional<RunComponent> DecodeComponent(std::string_view payload);

struct CallBegin {
  schema::Event event;  // `sequence` is not in the payload: the consumer sets it.
  SpilledBody spilled;
};

std::optional<CallBegin> DecodeCallBegin(std::string_view payload);

struct EndedCall {
  CallEnd end;
  std::string response;
};

std::optional<EndedCall> DecodeCallEnd(std::string_view payload);
std::optional<schema::Event> DecodeReading(std::string_view payload);
std::optional<schema::Mark> DecodeMark(std::string_view payload);

struct RunTags {
  schema::Ulid run;
  schema::Tags tags;
};

std::optional<RunTags> DecodeTags(std::string_view payload);

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_RING_RECORD_H_
