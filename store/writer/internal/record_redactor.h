// Applies the redaction policy to whole records, in the one place that stands before the store.

#ifndef REENACT_STORE_WRITER_INTERNAL_RECORD_REDACTOR_H_
#define REENACT_STORE_WRITER_INTERNAL_RECORD_REDACTOR_H_

#include <string>

#include "schema/record.h"
#include "schema/redaction.h"

namespace reenact::store {

class RecordRedactor {
 public:
  explicit RecordRedactor(const schema::RedactionPolicy& policy);

  void Redact(std::string* text) const;
  void Redact(schema::Run* run) const;
  void Redact(schema::RunEnd* end) const;
  void Redact(schema::Component* component) const;
  void Redact(schema::Mark* mark) const;
  // Names and values; the whole value where the name is that of a secret.
  void Redact(schema::Tags* tags) const;
  // All of a run that comes from elsewhere.
  void Redact(schema::RecordedRun* recorded) const;
  // A body that belongs to no call.
  void Redact(schema::Body* body) const;
  // What is known when a call begins: names, endpoint, headers, request, facts.
  void RedactBegin(schema::Event* event) const;
  // What its end adds: response, exchange, detail. A compressed response that holds a secret is
  // stored decoded, with the fact ("decoded", "gzip") and without its content-encoding header;
  // one that cannot be decoded stays, with the fact ("opaque_encoding", "br"). `facts` are those of
  // the end.
  void RedactEnd(schema::Event* event, schema::Tags* facts) const;

 private:
  void RedactRequest(schema::Event* event) const;
  void RedactResponse(schema::Event* event, schema::Tags* facts) const;

  const bool enabled_;
  const schema::Redactor redactor_;
};

// Cuts the reads of `exchange` down to a body of `size` bytes.
void TrimExchange(uint64_t size, schema::Exchange* exchange);

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_RECORD_REDACTOR_H_
