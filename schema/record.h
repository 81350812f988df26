// What a run is: the values that are written to disk, and nothing that can be derived from them.
//
// Plain values of the standard library, so that the recorder can use them inside a stranger's
// process. Text that a host or a provider gave is bytes: it may be invalid UTF-8, hold NUL, or
// be no JSON. Nothing here opens a file or reads a clock.

#ifndef REENACT_SCHEMA_RECORD_H_
#define REENACT_SCHEMA_RECORD_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/exchange.h"
#include "schema/sha256.h"
#include "schema/ulid.h"

namespace reenact::schema {

// Where nondeterminism enters. Values are stored and are part of the C ABI; never renumber.
enum class Boundary : uint8_t {
  kModel = 1,
  kTool = 2,
  kRetrieval = 3,
  kClock = 4,
  kRandom = 5,
  kEnv = 6,
};

// How an event or a run ended. Values are stored and are part of the C ABI; never renumber.
// Nothing looks complete that is not.
enum class EndState : uint8_t {
  kComplete = 1,
  kTruncated = 2,          // The peer ended the body before its own end mark.
  kReset = 3,              // The transport failed.
  kAbandonedByCaller = 4,  // The host stopped reading.
  kProviderError = 5,      // The provider reported an error; the detail names its kind.
  kError = 6,              // The host's own code failed; the detail says how.
  kTruncatedByLimit = 7,   // We cut the body; size and hash of the whole are kept.
  kIncomplete = 8,         // The process died first.
};

std::string_view ToString(Boundary boundary);  // "model"
std::string_view ToString(EndState state);     // "abandoned_by_caller"
std::optional<Boundary> ParseBoundary(std::string_view text);
std::optional<EndState> ParseEndState(std::string_view text);
// "provider_error:overloaded_error": the state, and the detail where there is one.
std::string DescribeEnd(EndState state, std::string_view detail);

// One moment on both clocks of the recording process.
struct Moment {
  int64_t wall_ns = 0;       // Unix time, UTC. May step.
  int64_t monotonic_ns = 0;  // Never goes back; comparable within one process only.

  bool operator==(const Moment&) const = default;
};

// The raw bytes of a request or an answer.
struct Body {
  std::string bytes;
  bool redacted = false;       // Secrets were replaced: byte-exactness is not claimed.
  bool cut = false;            // A limit cut it: the two fields below describe the whole.
  uint64_t original_size = 0;  // Bytes before the cut; 0 unless cut.
  Digest original_digest{};    // SHA-256 of the whole, salted beside a `salt`; zeros: unknown.
  // The salt under which the integrity chain commits to `bytes`. Absent on a new body (the writer
  // draws one); present on one that was read, so that a copy commits to the same digest.
  std::optional<std::array<uint8_t, 32>> salt;
};

// A versioned thing that shaped the answer, with its content.
struct Component {
  std::string
      kind;  // "prompt_template", "retrieval_index", "tool_schema", "guardrail", "eval_data",
             // "model_alias", "application", "environment", or the host's own word.
  std::string name;
  std::string version;
  Body content;
  Moment at;
};

// Where a run came from. Values are stored; never renumber.
enum class RunOrigin : uint8_t { kRecorded = 1, kReplay = 2, kImported = 3 };

using Tags = std::vector<std::pair<std::string, std::string>>;

struct Run {
  Ulid id;
  Ulid parent;  // Zero, or the run that this one re-executed.
  RunOrigin origin = RunOrigin::kRecorded;
  std::string service;
  std::string entry;     // What can start it again: "POST /refund", "main".
  Body input;            // What started it.
  std::string trace_id;  // 32 lower-case hex digits, or empty.
  Tags tags;
  Tags process;  // host, pid, service_version, reenact_version, redaction_policy, ...
  Moment started;
};

struct RunEnd {
  Ulid run;
  Moment at;
  EndState state = EndState::kComplete;
  std::string detail;
  Body output;  // What the run answered to whoever started it; may be empty.
};

// One boundary crossing.
struct Event {
  uint64_t sequence = 0;      // Order of beginning within its process, from 1; unique in a segment.
  uint64_t end_sequence = 0;  // Order of ending, on the same count; 0 when it never ended.
  Ulid run;
  std::string scope;  // Path of scope keys: "" for the run itself, "turn-2/call_a7".
  Boundary boundary = Boundary::kModel;
  std::string name;         // "chat", "lookup_order", "kb", "today".
  std::string provider;     // Model calls: "openai". Else empty.
  std::string endpoint;     // URL, with secrets removed from its query; may be empty.
  Headers request_headers;  // Allowed ones only.
  Body request;
  Body response;
  Exchange exchange;  // Cuts `response`. Empty for clock and random.
  uint64_t value =
      0;  // Clock: Unix ns as int64 bits. Random: the seed. Env: 1 or 0 for yes and no.
  Moment started;
  int64_t elapsed_ns = 0;
  EndState end_state = EndState::kIncomplete;
  std::string end_detail;
  uint32_t attempt = 0;  // The host's own retry number of an equal request, from 0.
  uint32_t in_flight =
      0;      // Model calls of this process under way when this one began, itself not counted.
  Tags meta;  // Facts the host added: "cache" = "hit".
};

// Events that were lost, and why. A loss without a gap does not exist.
struct Gap {
  Moment at;
  std::string reason;  // "ring_full", "disk_full", "oversize", "after_close", "fork_child", ...
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t first_sequence = 0;  // Span of sequence numbers in which the loss fell; 0 unknown.
  uint64_t last_sequence = 0;
};

// Somebody says that a run went wrong.
struct Mark {
  Ulid id;  // Of the incident.
  Ulid run;
  std::string title;
  int32_t severity = 0;  // 1 worst to 4; 0 unstated.
  std::string notes;
  Moment at;
};

// A run as a reader assembles it.
struct RecordedRun {
  Run run;
  std::optional<RunEnd> end;  // Absent: still running, or the process died (see `state`).
  EndState state = EndState::kIncomplete;  // Of the run as a whole.
  bool in_progress = false;                // Its process is alive and has not ended it.
  std::vector<Component> components;
  std::vector<Event> events;  // By `sequence`.
  std::vector<Gap> gaps;      // Those of its process that fell within its time.
  std::vector<Mark> marks;
};

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_RECORD_H_
