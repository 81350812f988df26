#include "schema/internal/answer_framing.h"

#include <algorithm>
#include <memory>
#include <string>

#include "schema/internal/chat_fields.h"
#include "schema/internal/utf8.h"
#include "schema/sse.h"

namespace reenact::schema::internal {
namespace {

constexpr std::string_view kEndMark = "[DONE]";

// Walks over JSON text without parsing it: where it is inside strings and brackets.
class BracketScanner {
 public:
  void Feed(char c) {
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    }
  }

  bool is_inside() const { return in_string_ || depth_ > 0; }

 private:
  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

// The common forms of an error inside a record: {"error":..}, an event named "error", and what
// calls itself one. True where the record is one.
bool TakeError(JsonValue record, bool is_error_event, ModelView* view) {
  if (IsTruthy(record["error"])) {
    ReadError(record["error"], view);
  } else if (is_error_event || record["object"].AsString() == "error" ||
             record["type"].AsString() == "error") {
    ReadError(record, view);
  } else {
    return false;
  }
  return true;
}

class EventStreamReader {
 public:
  EventStreamReader(AnswerReader* reader, ModelView* view, AnomalyList* anomalies)
      : reader_(reader), view_(view), anomalies_(anomalies) {}

  // True when the stream ends inside a record.
  bool Read(std::string_view bytes);

 private:
  // False when the record could not be read.
  bool AddEvent(const SseEvent& event, int64_t index);

  AnswerReader* reader_;
  ModelView* view_;
  AnomalyList* anomalies_;
  bool done_ = false;  // "[DONE]" was seen.
};

bool EventStreamReader::Read(std::string_view bytes) {
  const SseStream stream = ParseSse(bytes);
  anomalies_->NoteAll(stream.anomalies);
  bool last_was_read = false;
  size_t read_end = 0;
  for (size_t i = 0; i < stream.events.size(); ++i) {
    const SseEvent& event = stream.events[i];
    if (view_->end_marker && (done_ || event.data != kEndMark)) {
      anomalies_->Note("records_after_done");
      return false;
    }
    last_was_read = AddEvent(event, static_cast<int64_t>(i));
    read_end = event.end_offset;
  }
  // A last record that lacks only its blank line is whole.
  const bool all_read = last_was_read && read_end == bytes.size();
  return stream.missing_final_blank && !all_read;
}

bool EventStreamReader::AddEvent(const SseEvent& event, int64_t index) {
  const bool is_error = event.event == "error";
  if (event.data.empty()) {
    if (is_error) ReadError(JsonValue(), view_);
    return is_error;
  }
  if (std::string_view(event.data).starts_with(kEndMark)) {
    if (event.data != kEndMark) anomalies_->Note("done_suffix");
    done_ = true;
    view_->end_marker = true;
    return true;
  }
  const auto document = JsonDocument::Parse(event.data);
  if (!document) {
    anomalies_->NoteAt("json_error", "event", index);
    if (is_error && view_->error_kind.empty()) {
      view_->error_kind = "error";
      view_->error_message = event.data;
    }
    return is_error;
  }
  anomalies_->NoteAll(document->anomalies());
  const JsonValue record = document->root();
  if (!TakeError(record, is_error, view_) && !record.is_object()) {
    anomalies_->NoteAt("unexpected_record", "event", index);
  }
  reader_->AddRecord(record, event.event);
  return true;
}

AnswerEnding EndOf(bool cut_inside_record, AnswerReader* reader, ModelView* view,
                   AnomalyList* anomalies) {
  const bool is_whole = reader->FinishStream();
  if (view->end_marker) return {.whole = true};
  if (cut_inside_record) return {.detail = "cut_inside_record"};
  if (is_whole) {
    const std::string_view mark = reader->end_mark_name();
    if (!mark.empty()) anomalies->Note("missing_" + std::string(mark));
    return {.whole = true};
  }
  anomalies->Note("no_terminal_event");
  return {.detail = "no_terminal_event"};
}

// A record that stands alone. False when it is no JSON.
bool AddRecordText(std::string_view text, int64_t index, AnswerReader* reader, ModelView* view,
                   AnomalyList* anomalies) {
  const auto document = JsonDocument::Parse(text);
  if (!document) {
    anomalies->NoteAt("json_error", "event", index);
    return false;
  }
  anomalies->NoteAll(document->anomalies());
  const JsonValue record = document->root();
  if (!TakeError(record, false, view) && !record.is_object()) {
    anomalies->NoteAt("unexpected_record", "event", index);
  }
  reader->AddRecord(record, {});
  return true;
}

void NoteUtf8(std::string_view bytes, AnomalyList* anomalies) {
  const Utf8Faults faults = FindUtf8Faults(bytes);
  if (faults.incomplete) anomalies->Note("incomplete_utf8");
  if (faults.invalid) anomalies->Note("invalid_utf8");
}

}  // namespace

AnswerEnding ReadEventStream(std::string_view bytes, AnswerReader* reader, ModelView* view,
                             AnomalyList* anomalies) {
  const bool cut = EventStreamReader(reader, view, anomalies).Read(bytes);
  return EndOf(cut, reader, view, anomalies);
}

AnswerEnding ReadJsonLines(std::string_view bytes, AnswerReader* reader, ModelView* view,
                           AnomalyList* anomalies) {
  NoteUtf8(bytes, anomalies);
  bool cut = false;
  int64_t index = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view line = bytes.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (view->end_marker) {
      anomalies->Note("records_after_done");
      break;
    }
    const bool is_read = AddRecordText(line, index++, reader, view, anomalies);
    cut = !is_read && end == bytes.size();
  }
  return EndOf(cut, reader, view, anomalies);
}

AnswerEnding ReadJsonList(std::string_view bytes, AnswerReader* reader, ModelView* view,
                          AnomalyList* anomalies) {
  NoteUtf8(bytes, anomalies);
  size_t at = std::min(bytes.find('['), bytes.size() - 1) + 1;
  bool closed = false;
  bool cut = false;
  for (int64_t index = 0; at < bytes.size() && !closed; ++index) {
    at = std::min(bytes.find_first_not_of(" \t\r\n,", at), bytes.size());
    if (at == bytes.size()) break;
    closed = bytes[at] == ']';
    if (closed) break;
    const std::string_view rest = bytes.substr(at);
    const size_t size = BracketedSize(rest);
    const bool is_read = AddRecordText(rest.substr(0, size), index, reader, view, anomalies);
    cut = !is_read && size == rest.size();
    at += size;
  }
  if (closed) view->end_marker = true;
  return EndOf(cut, reader, view, anomalies);
}

size_t BracketedSize(std::string_view text) {
  BracketScanner scanner;
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    scanner.Feed(text[i]);
    if (!scanner.is_inside()) return i + 1;
  }
  return text.size();
}

bool EndsInsideJson(std::string_view text) {
  BracketScanner scanner;
  for (const char c : text) scanner.Feed(c);
  return scanner.is_inside();
}

}  // namespace reenact::schema::internal
