// Asks a target each case several times, and grades what it says. What is kept of it is the
// caller's: each answer is handed over as it comes.

#ifndef REENACT_REPLAYER_EVAL_EVAL_RUNNER_H_
#define REENACT_REPLAYER_EVAL_EVAL_RUNNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "replayer/eval/cases.h"
#include "replayer/eval/results.h"
#include "replayer/rerun/chat_question.h"
#include "replayer/rerun/target.h"
#include "schema/record.h"

namespace reenact::eval {

struct AskPlan {
  rerun::Target* target = nullptr;
  rerun::ChatSettings settings;  // Repeat i is asked with its seed + i, where it has one.
  int64_t repeats = kLeastRepeats;
  int64_t at_once = 1;   // Questions under way at a time.
  double threshold = 1;  // A score from here on passes.

  // Of cases that a model judges: whom to ask, and how often it reads the same answer. The score is
  // the mean of its readings.
  rerun::Target* judge = nullptr;
  rerun::ChatSettings judge_settings;
  int64_t judge_repeats = 3;

  // Of cases that a command grades.
  std::function<Grade(const Case& of, const std::string& answer)> run_command;
  std::function<bool()> interrupted;
};

// One answer, and the calls that it took: its own and the judge's.
struct AskedSample {
  SampleResult result;
  std::vector<schema::Event> calls;
};

// Asks for what `there` has no grade for, repeat by repeat, so that those of one case lie apart in
// time as noise does. `keep` is called from one thread at a time; what the user stopped and what
// the budget did not allow never reaches it. `total`: of this call.
void AskCases(const std::vector<Case>& cases, const std::vector<SampleResult>& there,
              const AskPlan& plan,
              const std::function<void(AskedSample sample, int64_t done, int64_t total)>& keep);

// What graded the cases, in words: results of other graders are not compared.
std::string GradersOf(const std::vector<Case>& cases, const std::string& judge_name);

}  // namespace reenact::eval

#endif  // REENACT_REPLAYER_EVAL_EVAL_RUNNER_H_
