#include "replayer/eval/eval_runner.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "replayer/analysis/descriptive.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/logprob.h"

namespace reenact::eval {
namespace {

struct CaseRepeat {
  const Case* of = nullptr;
  int64_t repeat = 0;
};

std::vector<CaseRepeat> Ungraded(const std::vector<Case>& cases,
                                 const std::vector<SampleResult>& there, int64_t repeats) {
  std::set<std::pair<std::string, int64_t>> graded;
  for (const SampleResult& sample : there) {
    if (sample.graded()) graded.emplace(sample.case_id, sample.repeat);
  }
  std::vector<CaseRepeat> tasks;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (const Case& of : cases) {
      if (!graded.contains({of.id, repeat})) tasks.push_back({&of, repeat});
    }
  }
  return tasks;
}

// What a grader reads: the text, or all of an answer that has none, such as a tool call.
std::string GradedText(const schema::ModelView& view) {
  if (!view.choices.empty() && view.choices.front().content) return *view.choices.front().content;
  return rerun::AnswerText(view);
}

std::optional<double> LeastMargin(const schema::ModelView& view) {
  if (view.choices.empty()) return std::nullopt;
  std::optional<double> least;
  for (const schema::NearTie& tie : schema::FindNearTies(
           view.choices.front().logprobs, std::numeric_limits<double>::infinity(), nullptr)) {
    least = std::min(least.value_or(tie.margin_nats), tie.margin_nats);
  }
  return least;
}

SampleResult ResultOf(const CaseRepeat& task, const rerun::Sample& answer) {
  SampleResult result{.case_id = task.of->id, .repeat = task.repeat};
  result.status = ToString(answer.status);
  result.why = answer.detail;
  if (!answer.answered()) return result;
  result.answer = GradedText(answer.view);
  result.served_model = answer.view.served_model;
  result.fingerprint = answer.view.system_fingerprint;
  result.response_id = answer.view.response_id;
  result.least_margin_nats = LeastMargin(answer.view);
  return result;
}

bool WasStopped(const std::string& status) {
  return status == ToString(rerun::SampleStatus::kInterrupted) ||
         status == ToString(rerun::SampleStatus::kOverBudget);
}

class Asker {
 public:
  explicit Asker(const AskPlan& plan) : plan_(plan) {}

  AskedSample Ask(const CaseRepeat& task) const {
    rerun::ChatSettings settings = plan_.settings;
    if (settings.seed) *settings.seed += task.repeat;
    AskedSample sample;
    const rerun::Sample answer =
        plan_.target->Ask(rerun::ChatQuestion(task.of->messages, settings));
    sample.result = ResultOf(task, answer);
    KeepCall(answer, absl::StrCat(task.of->id, "/", task.repeat), &sample);
    if (answer.answered()) Grade(task, &sample);
    sample.result.pass = sample.result.score && *sample.result.score >= plan_.threshold;
    return sample;
  }

 private:
  static void KeepCall(const rerun::Sample& answer, std::string scope, AskedSample* sample) {
    if (answer.event.exchange.empty()) return;  // Nothing was sent.
    sample->calls.push_back(answer.event);
    sample->calls.back().scope = std::move(scope);
  }

  void Grade(const CaseRepeat& task, AskedSample* sample) const {
    if (task.of->grader == GraderKind::kJudge) return AskJudge(task, sample);
    SampleResult& result = sample->result;
    const eval::Grade grade = task.of->grader == GraderKind::kCommand
                                  ? plan_.run_command(*task.of, result.answer)
                                  : GradeText(*task.of, result.answer);
    result.score = grade.score;
    result.why = grade.why;
    if (!grade.score)
      result.status = plan_.interrupted && plan_.interrupted() ? "interrupted" : "grader_failed";
  }

  void AskJudge(const CaseRepeat& task, AskedSample* sample) const {
    SampleResult& result = sample->result;
    const std::string messages = JudgeMessages(*task.of, result.answer);
    for (int64_t reading = 0; reading < plan_.judge_repeats; ++reading) {
      rerun::ChatSettings settings = plan_.judge_settings;
      if (settings.seed) *settings.seed += reading;
      const rerun::Sample verdict = plan_.judge->Ask(rerun::ChatQuestion(messages, settings));
      KeepCall(verdict, absl::StrCat(task.of->id, "/", task.repeat, "/judge-", reading), sample);
      const std::string text = verdict.answered() ? GradedText(verdict.view) : "";
      const std::optional<double> score = JudgeScore(text);
      if (score) {
        result.judge_scores.push_back(*score);
        result.why = text;
        continue;
      }
      // Of readings that failed no mean is taken: it would be another judge's.
      const std::string status(ToString(verdict.status));
      result.status = WasStopped(status) ? status : "grader_failed";
      result.why = verdict.answered() ? "the judge said neither PASS, FAIL nor a number from 0 to 1"
                                      : absl::StrCat("the judge: ", status, " ", verdict.detail);
      result.judge_scores.clear();
      return;
    }
    result.score = analysis::MeanOf(result.judge_scores);
  }

  const AskPlan& plan_;
};

}  // namespace

void AskCases(const std::vector<Case>& cases, const std::vector<SampleResult>& there,
              const AskPlan& plan,
              const std::function<void(AskedSample sample, int64_t done, int64_t total)>& keep) {
  const std::vector<CaseRepeat> tasks = Ungraded(cases, there, plan.repeats);
  const auto total = static_cast<int64_t>(tasks.size());
  const Asker asker(plan);
  std::atomic<size_t> next = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  int64_t done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size() && !stopped; i = next++) {
      AskedSample sample = asker.Ask(tasks[i]);
      if (WasStopped(sample.result.status)) {
        stopped = true;
        return;
      }
      const std::lock_guard lock(mutex);
      keep(std::move(sample), ++done, total);
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < std::min(plan.at_once, total); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

std::string GradersOf(const std::vector<Case>& cases, const std::string& judge_name) {
  std::set<std::string> kinds;
  for (const Case& of : cases) {
    std::string kind(ToString(of.grader));
    if (of.grader == GraderKind::kJudge) absl::StrAppend(&kind, " ", judge_name);
    kinds.insert(std::move(kind));
  }
  std::string out;
  for (const std::string& kind : kinds) absl::StrAppend(&out, out.empty() ? "" : ", ", kind);
  return out;
}

}  // namespace reenact::eval
