// The tape of one run: its events indexed by address, ready to be asked for. Immutable; what has
// been taken from it is the session's business.

#ifndef REENACT_REPLAYER_TAPE_H_
#define REENACT_REPLAYER_TAPE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/internal/redactor.h"
#include "schema/record.h"
#include "schema/request_key.h"

namespace reenact::replayer {

// Where a boundary is crossed. Calls and readings are looked up within one address.
struct Address {
  std::string scope;
  schema::Boundary boundary = schema::Boundary::kModel;
  std::string name;

  auto operator<=>(const Address&) const = default;
};

// `tool "lookup_order" in scope "turn-2"`; control characters escaped.
std::string Describe(const Address& address);

// A request as it is compared: redacted by the run's policy, so that a rotated credential is the
// same.
struct ComparableRequest {
  std::string bytes;
  std::string endpoint;
  bool redacted = false;  // `bytes` is not what was sent.
  schema::RequestKey key;
  // Of the whole request, the members that the key leaves out included. Tells apart requests of
  // equal key where there is no order to go by.
  schema::Digest exact{};
};

// A record of a call.
struct TapeCall {
  const schema::Event* event = nullptr;
  ComparableRequest request;
  // Calls with the same number had equal requests and overlapped, so that their order means
  // nothing. Nothing: no other call is like it.
  std::optional<size_t> bag;
  // Why it must not be served: "the answer was cut at 1048576 of 5662310 bytes". Empty: it may be.
  std::string unusable;
};

class Tape {
 public:
  explicit Tape(schema::RecordedRun run);
  Tape(const Tape&) = delete;  // The index points into the run.
  Tape& operator=(const Tape&) = delete;

  const schema::RecordedRun& run() const { return run_; }

  // The one name that people get for a record: its place among the events of the run, from 0, as
  // `reenact show` numbers them. `event`: one of run().events.
  size_t IndexOf(const schema::Event& event) const;

  // Calls (model, tool, retrieval) of an address, in order of beginning. Empty when there is none.
  const std::vector<TapeCall>& CallsAt(const Address& address) const;
  // Readings (clock, random, env) of an address, in order.
  const std::vector<const schema::Event*>& ReadingsAt(const Address& address) const;

  const std::map<Address, std::vector<TapeCall>>& calls() const { return calls_; }

  const std::map<Address, std::vector<const schema::Event*>>& readings() const { return readings_; }

  int64_t call_count() const;
  int64_t reading_count() const;
  int64_t model_attempt_count() const;  // Retries included.

  // Both sides of every comparison go through these.
  ComparableRequest Comparable(const schema::CallRequest& request) const;

  // Names may hold secrets as well.
  Address AddressOf(std::string_view scope, schema::Boundary boundary,
                    std::string_view name) const {
    return {Redact(scope), boundary, Redact(name)};
  }

  std::string Redact(std::string_view bytes) const { return redactor_.Redact(bytes); }

  std::string RedactUrl(std::string_view url) const { return redactor_.RedactUrl(url); }

  // What a program sent where the tape holds marks of removed secrets; see Redactor. The tape
  // itself stays as it is.
  bool LearnSecrets(std::string_view recorded, std::string_view now) const {
    return redactor_.Learn(recorded, now);
  }

  // Calls of equal key at this address that the tape puts in one and the same place though their
  // answers differ: there is no telling which is meant. Empty when there are none.
  std::vector<size_t> TiesOf(const Address& address, const TapeCall& call) const;

 private:
  schema::RecordedRun run_;
  mutable Redactor redactor_;
  std::map<Address, std::vector<TapeCall>> calls_;
  std::map<Address, std::vector<const schema::Event*>> readings_;
};

// True for the boundaries that are asked with a request: model, tool, retrieval.
bool IsCall(schema::Boundary boundary);

// Equal as values where both are JSON, as bytes otherwise.
bool EqualContent(std::string_view a, std::string_view b);
// The text that EqualContent compares.
std::string CanonicalContent(std::string_view bytes);

// "the answer was cut at 1048576 of 5662310 bytes", where `what` is "answer".
std::string CutText(std::string_view what, const schema::Body& body);
// What of `actual` can be compared with `expected`, the redacted text of `recorded`: of a body that
// was cut, as many bytes as were kept.
std::string_view ComparablePart(const schema::Body& recorded, std::string_view expected,
                                std::string_view actual);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_TAPE_H_
