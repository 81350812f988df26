#include "local_engine/engine/identical_requests.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/stock_schedule.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kInFlight[] = {1, 4, 32, 2, 16, 1, 8, 32, 3};
constexpr size_t kAnswersAPhase = 24;

struct Asked {
  RequestId id = 0;
  int32_t place = -1;  // Among the answers; -1: another request.
};

// Submits until as many are in flight as there should be.
class Arrivals {
 public:
  Arrivals(const IdenticalRequests& identical, Engine* engine)
      : identical_(identical), engine_(*engine) {}

  absl::Status Fill(size_t finished, std::vector<Asked>* in_flight) {
    const size_t target = kInFlight[finished / kAnswersAPhase % std::size(kInFlight)];
    while (in_flight->size() < target && started_ < identical_.count) {
      const bool other = asked_++ % 4 == 3;
      const Request& request =
          other ? identical_.others[asked_ / 4 % identical_.others.size()] : identical_.request;
      const absl::StatusOr<RequestId> id = engine_.Submit(request);
      if (!id.ok()) return id.status();
      in_flight->push_back({*id, other ? -1 : started_++});
    }
    return absl::OkStatus();
  }

 private:
  const IdenticalRequests& identical_;
  Engine& engine_;
  size_t asked_ = 0;
  int32_t started_ = 0;
};

// Tokens and the bits of their logprobs.
std::vector<uint32_t> BitsOf(const Completion& completion) {
  std::vector<uint32_t> bits;
  for (const TokenScore& score : completion.scores) {
    bits.push_back(static_cast<uint32_t>(score.chosen.token));
    bits.push_back(float_bits(score.chosen.logprob));
  }
  return bits;
}

}  // namespace

absl::StatusOr<std::vector<Answer>> AnswerUnderLoad(const IdenticalRequests& identical,
                                                    Engine* engine) {
  if (identical.others.empty()) return absl::InvalidArgumentError("there is no other request");
  std::vector<Answer> answers(static_cast<size_t>(identical.count));
  std::vector<Asked> in_flight;
  Arrivals arrivals(identical, engine);
  size_t finished = 0;
  for (;;) {
    absl::Status status = arrivals.Fill(finished, &in_flight);
    if (!status.ok()) return status;
    if (in_flight.empty()) return answers;
    if (absl::StatusOr<bool> step = engine->Step(); !step.ok()) return step.status();
    const auto ended = std::stable_partition(
        in_flight.begin(), in_flight.end(),
        [engine](const Asked& asked) { return !engine->IsFinished(asked.id); });
    for (auto asked = ended; asked != in_flight.end(); ++asked) {
      absl::StatusOr<Answer> answer = engine->Take(asked->id);
      if (!answer.ok()) return answer.status();
      if (!answer->completions[0].status.ok()) return answer->completions[0].status;
      if (asked->place >= 0) answers[static_cast<size_t>(asked->place)] = *std::move(answer);
      ++finished;
    }
    in_flight.erase(ended, in_flight.end());
  }
}

AnswerVariants VariantsOf(std::span<const Answer> answers) {
  AnswerVariants variants;
  std::map<std::vector<int32_t>, size_t> texts;
  std::set<std::vector<uint32_t>> patterns;
  for (const Answer& answer : answers) {
    const std::vector<int32_t>& tokens = answer.completions[0].tokens;
    variants.largest_group = std::max(variants.largest_group, ++texts[tokens]);
    patterns.insert(BitsOf(answer.completions[0]));
    const std::vector<int32_t>& first = answers[0].completions[0].tokens;
    if (tokens == first) continue;
    const auto at = std::mismatch(tokens.begin(), tokens.end(), first.begin(), first.end()).first;
    const auto divergence = static_cast<int32_t>(at - tokens.begin());
    if (variants.first_divergence < 0 || divergence < variants.first_divergence) {
      variants.first_divergence = divergence;
    }
  }
  variants.texts = texts.size();
  variants.logprob_patterns = patterns.size();
  return variants;
}

absl::StatusOr<BitComparison> ReplaySchedules(const Request& request,
                                              std::span<const Answer> answers, Engine* engine) {
  std::vector<RequestId> ids;
  for (const Answer& recorded : answers) {
    // By way of its text, as a recording keeps it.
    absl::StatusOr<StockSchedule> schedule =
        StockScheduleFromJson(StockScheduleToJson(recorded.completions[0].schedule));
    if (!schedule.ok()) return schedule.status();
    Request replay = request;
    replay.schedule = *std::move(schedule);
    const absl::StatusOr<RequestId> id = engine->Submit(std::move(replay));
    if (!id.ok()) return id.status();
    ids.push_back(*id);
  }
  BitComparison all;
  for (size_t i = 0; i < answers.size(); ++i) {
    const absl::StatusOr<Answer> again = engine->RunToEnd(ids[i]);
    if (!again.ok()) return again.status();
    const BitComparison one = CompareAnswers(answers[i], *again);
    all.comparisons += one.comparisons;
    all.differences += one.differences;
    if (all.first_difference.empty() && one.differences > 0) {
      all.first_difference = "answer " + std::to_string(i) + ": " + one.first_difference;
    }
  }
  return all;
}

}  // namespace reenact::local_engine
