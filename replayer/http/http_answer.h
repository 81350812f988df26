// What the answer server sends, before it is cut into HTTP: a recorded attempt, or the news that
// there is none. Pure.

#ifndef REENACT_REPLAYER_HTTP_HTTP_ANSWER_H_
#define REENACT_REPLAYER_HTTP_HTTP_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/divergence.h"
#include "schema/dialect.h"
#include "schema/exchange.h"
#include "schema/replay_protocol.h"

namespace reenact::replayer {

// How the body ends.
enum class BodyEnd : uint8_t {
  kWhole,  // As HTTP has it.
  kCut,    // The connection is closed before that.
  kReset,  // The connection is reset.
  kOpen,   // Nothing more comes: the client went away when it was recorded, and will again.
};

struct BodyPiece {
  std::string bytes;
  int64_t offset_ns = 0;  // Since the request.
};

struct HttpAnswer {
  int status = 200;
  schema::Headers headers;  // Without those that say how the body is framed.
  // What the recorded head promised; nothing: the body is chunked.
  std::optional<uint64_t> content_length;
  int64_t head_offset_ns = 0;
  std::vector<BodyPiece> pieces;
  BodyEnd end = BodyEnd::kWhole;
  int64_t end_offset_ns = 0;  // Not before the last piece.

  uint64_t size() const;
};

// Attempt `attempt`, from 0, of a recorded call; of schema::AttemptCount there are.
HttpAnswer AnswerOf(const schema::OnTape& call, size_t attempt);

// A request that is not on the tape: status 400, `x-should-retry: false`, and a body in the error
// shape of the dialect, so that the client shows its message. The member "reenact" has the same in
// parts. `records`: how many there are at the address.
HttpAnswer MissOf(const Divergence& divergence, const schema::CallKind& call, size_t records);

// A JSON document of our own.
HttpAnswer OwnAnswer(int status, std::string json);

// What came of the session so far, as /reenact/report gives it.
std::string ReportJson(const std::vector<Divergence>& divergences, int64_t calls_served,
                       int64_t calls_on_tape);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_HTTP_HTTP_ANSWER_H_
