// The three framings of a streamed answer: server-sent events, lines of JSON (Ollama), and one list
// that is sent element by element (Google, when no events were asked for).

#ifndef REENACT_SCHEMA_INTERNAL_ANSWER_FRAMING_H_
#define REENACT_SCHEMA_INTERNAL_ANSWER_FRAMING_H_

#include <string_view>

#include "schema/internal/answer_reader.h"

namespace reenact::schema::internal {

// Each feeds the records to `reader`, notes what of them could not be read, puts the first error
// that one of them holds into `view`, and tells how the stream ended.

// Official clients stop at "[DONE]", and so does this; it may follow a dialect's own end mark.
AnswerEnding ReadEventStream(std::string_view bytes, AnswerReader* reader, ModelView* view,
                             AnomalyList* anomalies);
AnswerEnding ReadJsonLines(std::string_view bytes, AnswerReader* reader, ModelView* view,
                           AnomalyList* anomalies);
// `bytes` begins with a '[', after white space.
AnswerEnding ReadJsonList(std::string_view bytes, AnswerReader* reader, ModelView* view,
                          AnomalyList* anomalies);

// The bytes of `text` that its first JSON object or list takes, brackets matched; its size where
// that needs more bytes, or where there is none.
size_t BracketedSize(std::string_view text);
// True when a text that is no JSON would need more bytes to become it: it ends inside a string, an
// object or an array.
bool EndsInsideJson(std::string_view text);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_ANSWER_FRAMING_H_
