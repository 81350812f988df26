// Asks for the log probabilities of a sampled share of calls whose client did not: they are what
// tells later how near an answer was to another one.
//
// The answer goes back as the provider sent it, so that a client which is asked for gets members
// that it does not know. A provider that does not take the member refuses the call; models that are
// known to are not asked, and a model that refused once is not asked again.

#ifndef REENACT_RECORDER_PROXY_LOGPROB_ASKER_H_
#define REENACT_RECORDER_PROXY_LOGPROB_ASKER_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "recorder/proxy/request_plan.h"
#include "schema/request_edit.h"

namespace reenact::proxy {

struct LogprobPolicy {
  double share = 0;  // Of calls, [0, 1].
  int32_t top = 5;   // Alternatives for each token, 0 to 20.

  bool operator==(const LogprobPolicy&) const = default;
};

// "0.1" or "0.1:5". Errors: InvalidArgument, with the form that is wanted.
absl::StatusOr<LogprobPolicy> ParseLogprobPolicy(std::string_view text);
std::string ToString(const LogprobPolicy& policy);  // "0.1:5"

// What to change in a request so that it asks; empty: it asks already, its dialect knows nothing of
// it, or its model is known to refuse.
std::vector<schema::RequestEdit> EditsToAsk(schema::ModelDialect dialect, std::string_view request,
                                            int32_t top);

class LogprobAsker final : public RequestPlanner {
 public:
  explicit LogprobAsker(LogprobPolicy policy);

  RequestPlan Plan(const WholeRequest& request) override;

 private:
  // Equal requests fare alike, so that an attempt is equal to the one before it.
  bool IsChosen(std::string_view body) const;

  const LogprobPolicy policy_;
  const std::string salt_;
  std::set<std::string> refused_;  // Models.
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_LOGPROB_ASKER_H_
