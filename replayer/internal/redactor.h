// Redacts what a program sends as the record it is compared with was redacted: by the policy of
// that run.
//
// Some secrets the recording process knew by value only: from a header, or told by the host. They
// are not on the tape, and no pattern finds them. Their places are: where a record holds the mark,
// and the program's text is equal but for those places, what stands there is taken for the secret.
// So it is with texts that were erased later: the run says that there were some. Names whose values
// were erased it says as well.

#ifndef REENACT_REPLAYER_INTERNAL_REDACTOR_H_
#define REENACT_REPLAYER_INTERNAL_REDACTOR_H_

#include <mutex>
#include <string>
#include <string_view>

#include "schema/record.h"
#include "schema/redaction.h"

namespace reenact::replayer {

// Threads: all functions may be called from any thread.
class Redactor {
 public:
  explicit Redactor(const schema::Run& run);

  std::string Redact(std::string_view bytes) const;
  std::string RedactUrl(std::string_view url) const;

  // True when something was learned, so that redacting the text again gives another result.
  // `recorded` and `now`: whole bodies, `now` as it was redacted so far.
  bool Learn(std::string_view recorded, std::string_view now);

 private:
  schema::Redactor prepared() const;

  const bool several_words_;  // What stands in the place of a mark may be more than a word.
  mutable std::mutex mutex_;
  schema::RedactionPolicy policy_;
  schema::Redactor prepared_;  // From policy_.
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_REDACTOR_H_
