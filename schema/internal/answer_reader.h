// How an answer is put together, whatever it is framed in: what each dialect does with a whole
// document, and with the records of a stream.

#ifndef REENACT_SCHEMA_INTERNAL_ANSWER_READER_H_
#define REENACT_SCHEMA_INTERNAL_ANSWER_READER_H_

#include <string>
#include <string_view>

#include "schema/internal/anomaly_list.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema::internal {

// What the bytes of an answer say about its end.
struct AnswerEnding {
  bool whole = false;
  std::string detail;  // Where it is not whole: "no_terminal_event", "cut_inside_record".
};

// Reads one answer into a view. Values that it is given do not outlive the call.
class AnswerReader {
 public:
  AnswerReader(ModelView* view, AnomalyList* anomalies) : view_(view), anomalies_(anomalies) {}

  virtual ~AnswerReader() = default;
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  // An answer that is one document, be it an error. Nothing else is called then.
  virtual void ReadDocument(JsonValue document) = 0;
  // A record of a stream, with the name of its event ("" where it had none). Errors in it that
  // have a common form are already in the view. A dialect's own end mark sets view->end_marker.
  virtual void AddRecord(JsonValue record, std::string_view event) = 0;
  // The stream is over; called once. True for an answer that is whole though no end mark came.
  virtual bool FinishStream() = 0;
  // What is reported as missing then: "done". Empty where the dialect has no end mark.
  virtual std::string_view end_mark_name() const = 0;

 protected:
  ModelView* view() const { return view_; }

  AnomalyList* anomalies() const { return anomalies_; }

 private:
  ModelView* view_;
  AnomalyList* anomalies_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_ANSWER_READER_H_
