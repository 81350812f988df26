#include "replayer/rerun/repeated_asking.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "replayer/rerun/compared_token.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/json_view.h"

namespace reenact::rerun {
namespace {

// After one of these nothing more is asked: no later question would fare better.
bool EndsAsking(SampleStatus status) {
  return status == SampleStatus::kOverBudget || status == SampleStatus::kInterrupted ||
         status == SampleStatus::kUnsupported;
}

void MarkRepeats(std::vector<Sample>* samples) {
  std::set<std::string> seen;
  for (Sample& sample : *samples) {
    if (!sample.answered() || sample.view.response_id.empty()) continue;
    if (seen.insert(sample.view.response_id).second) continue;
    sample.status = SampleStatus::kRepeated;
    sample.detail = "response id " + sample.view.response_id;
  }
}

int64_t CountDifferent(const std::vector<const Sample*>& answers) {
  std::set<std::string> texts;
  for (const Sample* answer : answers) texts.insert(AnswerText(answer->view));
  return static_cast<int64_t>(texts.size());
}

std::string CountText(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Members of the request that a promise hangs on.
struct Asked {
  bool logprobs = false;
  bool token_ids = false;
  std::string seed;  // As written; empty: none was sent.
  std::optional<double> temperature;
};

Asked ReadAsked(const Question& question) {
  Asked asked;
  const auto document = schema::JsonDocument::Parse(question.request);
  if (document == nullptr) return asked;
  const schema::JsonValue root = document->root();
  asked.logprobs = root["logprobs"].is_number() || root["logprobs"].AsBool();
  asked.token_ids = root["return_token_ids"].AsBool();
  if (root["seed"].is_number()) asked.seed = std::string(root["seed"].raw());
  asked.temperature = root["temperature"].AsDouble();
  return asked;
}

// What the choices of an answer lack or have wrong.
struct Evidence {
  int64_t without_logprobs = 0;
  int64_t without_ids = 0;
  int64_t impossible = 0;
  std::set<std::string> fingerprints;
};

Evidence Gather(const std::vector<const Sample*>& answers) {
  Evidence evidence;
  for (const Sample* answer : answers) {
    bool logprobs = false;
    bool ids = false;
    bool impossible = false;
    for (const schema::Choice& choice : answer->view.choices) {
      for (const schema::TokenLogprob& token : choice.logprobs.tokens) {
        logprobs = logprobs || !token.chosen.censored;
      }
      for (const std::string& anomaly : choice.logprobs.anomalies) {
        impossible = impossible || anomaly == "impossible_logprob";
      }
      impossible = impossible || !LogprobsFit(choice);
      ids = ids || !choice.token_ids.empty();
    }
    evidence.without_logprobs += !logprobs;
    evidence.without_ids += !ids;
    evidence.impossible += impossible;
    if (answer->view.fingerprint_presence == schema::Presence::kValue) {
      evidence.fingerprints.insert(answer->view.system_fingerprint);
    }
  }
  return evidence;
}

}  // namespace

std::vector<Sample> AskRepeatedly(Target* target, const Question& question,
                                  const AskOptions& options) {
  std::mutex mutex;  // Guards all that follows.
  std::vector<Sample> samples;
  int64_t done = 0;
  bool stopped = false;
  const auto ask = [&] {
    for (;;) {
      size_t place = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (stopped || static_cast<int64_t>(samples.size()) >= options.count) return;
        place = samples.size();
        samples.emplace_back();
      }
      Sample sample = target->Ask(question);
      const std::lock_guard<std::mutex> lock(mutex);
      if (EndsAsking(sample.status)) stopped = true;
      samples[place] = std::move(sample);
      ++done;
      if (options.on_progress) options.on_progress(done);
    }
  };
  std::vector<std::thread> threads;
  const int64_t others = std::min(options.at_once, options.count) - 1;
  for (int64_t i = 0; i < others; ++i) threads.emplace_back(ask);
  ask();
  for (std::thread& thread : threads) thread.join();
  MarkRepeats(&samples);
  return samples;
}

std::vector<const Sample*> Answered(const std::vector<Sample>& samples) {
  std::vector<const Sample*> answers;
  for (const Sample& sample : samples) {
    if (sample.answered()) answers.push_back(&sample);
  }
  return answers;
}

std::map<std::string, int64_t> Failures(const std::vector<Sample>& samples) {
  std::map<std::string, int64_t> failures;
  for (const Sample& sample : samples) {
    if (!sample.answered()) ++failures[std::string(ToString(sample.status))];
  }
  return failures;
}

std::vector<BrokenPromise> FindBrokenPromises(const Question& question,
                                              const std::vector<Sample>& samples) {
  std::vector<BrokenPromise> broken;
  const std::vector<const Sample*> answers = Answered(samples);
  const auto count = static_cast<int64_t>(answers.size());
  const auto repeated = std::count_if(samples.begin(), samples.end(), [](const Sample& sample) {
    return sample.status == SampleStatus::kRepeated;
  });
  if (repeated > 0) {
    broken.push_back({"answers_repeated",
                      CountText(repeated, "answer") +
                          " came with the id of an earlier one: a cache spoke, not the model"});
  }
  if (count == 0) return broken;
  const Asked asked = ReadAsked(question);
  const Evidence evidence = Gather(answers);
  const int64_t different = CountDifferent(answers);
  const std::string of_answers = " of " + CountText(count, "answer");
  if (asked.logprobs && evidence.without_logprobs > 0) {
    broken.push_back({"logprobs_missing", std::to_string(evidence.without_logprobs) + of_answers +
                                              " came without the logprobs that were asked for"});
  }
  if (asked.token_ids && evidence.without_ids > 0) {
    broken.push_back({"token_ids_missing", std::to_string(evidence.without_ids) + of_answers +
                                               " came without the token ids that were asked for"});
  }
  if (evidence.impossible > 0) {
    broken.push_back(
        {"logprobs_impossible", std::to_string(evidence.impossible) + of_answers +
                                    " have logprobs above 0, or not one for each token"});
  }
  // At temperature 0 a seed decides nothing, so that a difference is none of its doing.
  if (!asked.seed.empty() && asked.temperature.value_or(1) > 0 && different > 1) {
    broken.push_back({"seed_ignored", "seed " + asked.seed + " was sent each time, and " +
                                          CountText(count, "answer") + " are " +
                                          std::to_string(different) + " different ones"});
  }
  if (evidence.fingerprints.empty()) {
    broken.push_back({"fingerprint_missing", "no answer has a system_fingerprint"});
  } else if (evidence.fingerprints.size() == 1 && different > 1) {
    broken.push_back({"fingerprint_constant", "the fingerprint was " +
                                                  *evidence.fingerprints.begin() + " for " +
                                                  std::to_string(different) +
                                                  " different answers: it does not tell them "
                                                  "apart"});
  }
  return broken;
}

}  // namespace reenact::rerun
