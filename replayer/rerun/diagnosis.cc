#include "replayer/rerun/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "replayer/analysis/unpaired.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/json_view.h"

namespace reenact::rerun {
namespace {

// That load changes answers is an accusation; one in a hundred may be by chance.
constexpr double kLoadAlpha = 0.01;

// The tokens of an answer as numbers, equal for equal tokens within one list. Nothing: it names
// none.
std::optional<analysis::Tokens> TokensOf(const schema::ModelView& view,
                                         std::map<std::string, int64_t>* numbers) {
  if (view.choices.empty()) return std::nullopt;
  const schema::Choice& choice = view.choices.front();
  if (!choice.token_ids.empty()) return choice.token_ids;
  if (choice.logprobs.tokens.empty()) return std::nullopt;
  analysis::Tokens tokens;
  for (const schema::TokenLogprob& token : choice.logprobs.tokens) {
    const auto next = static_cast<int64_t>(numbers->size());
    const std::string& key = token.chosen.bytes ? *token.chosen.bytes : token.chosen.token;
    tokens.push_back(numbers->emplace(key, next).first->second);
  }
  return tokens;
}

std::string MostFrequent(const std::vector<const Sample*>& answers) {
  std::map<std::string, int64_t> counts;
  for (const Sample* answer : answers) ++counts[AnswerText(answer->view)];
  std::string most;
  int64_t count = 0;
  // Of equally frequent ones the first that came.
  for (const Sample* answer : answers) {
    const std::string text = AnswerText(answer->view);
    if (counts[text] <= count) continue;
    count = counts[text];
    most = text;
  }
  return most;
}

void MeasureTokens(const std::vector<const Sample*>& answers, DiagnosisCell* cell) {
  std::map<std::string, int64_t> numbers;
  std::vector<analysis::Tokens> runs;
  for (const Sample* answer : answers) {
    std::optional<analysis::Tokens> tokens = TokensOf(answer->view, &numbers);
    if (!tokens) {
      cell->first_divergence = analysis::Status::kNotComparable;
      return;
    }
    runs.push_back(*std::move(tokens));
  }
  if (runs.size() < 2) {
    cell->first_divergence = analysis::Status::kInsufficientN;
    return;
  }
  const analysis::DivergenceIndex index = analysis::FindDivergence(runs);
  cell->first_divergence = index.n_way ? analysis::Measure(static_cast<double>(*index.n_way))
                                       : analysis::Measure(analysis::Status::kNeverDiverged);
  for (size_t i = 1; i < runs.size(); ++i) {
    const std::optional<int64_t> parted = analysis::FirstDivergence(runs[0], runs[i]);
    const auto agreed = static_cast<int64_t>(std::min(runs[0].size(), runs[i].size()));
    cell->observed.push_back(
        {.token_index = parted.value_or(agreed), .diverged = parted.has_value()});
  }
}

class Doctor {
 public:
  Doctor(const std::vector<Prompt>& prompts, Target* target, const DiagnosisOptions& options)
      : prompts_(prompts), target_(target), options_(options) {
    loads_ = options.loads;
    std::erase_if(loads_, [](int64_t load) { return load <= 1; });
    loads_.insert(loads_.begin(), 1);
    total_ = static_cast<int64_t>(prompts.size() * options.lengths.size() * loads_.size()) *
             options.repeats;
  }

  Diagnosis Run() {
    // Alone first, all of it: load that is still under way would not be alone.
    for (const int64_t load : loads_) {
      for (const Prompt& prompt : prompts_) {
        for (const int64_t length : options_.lengths) AskCell(prompt, length, load);
      }
    }
    Conclude();
    return std::move(result_);
  }

 private:
  void AskCell(const Prompt& prompt, int64_t max_tokens, int64_t at_once) {
    DiagnosisCell cell{.prompt = prompt.label, .max_tokens = max_tokens, .at_once = at_once};
    RequestEdits edits = options_.edits;
    edits.max_tokens = max_tokens;
    cell.question = QuestionOf(prompt.call, edits);
    const auto begin = std::chrono::steady_clock::now();
    if (!stopped_) {
      cell.samples = AskRepeatedly(
          target_, cell.question,
          {.count = options_.repeats, .at_once = at_once, .on_progress = [this](int64_t done) {
             if (options_.on_progress) {
               options_.on_progress(done_ + done, total_);
             }
           }});
    }
    done_ += options_.repeats;
    cell.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const Sample& sample : cell.samples) {
      if (sample.status == SampleStatus::kOverBudget ||
          sample.status == SampleStatus::kInterrupted ||
          sample.status == SampleStatus::kUnsupported) {
        stopped_ = true;
      }
    }
    Measure(&cell);
    result_.cells.push_back(std::move(cell));
  }

  void Measure(DiagnosisCell* cell) {
    const std::vector<const Sample*> answers = Answered(cell->samples);
    cell->answered = static_cast<int64_t>(answers.size());
    std::vector<std::string> texts;
    for (const Sample* answer : answers) {
      texts.push_back(AnswerText(answer->view));
      cell->completion_tokens += answer->cost.completion_tokens;
    }
    cell->agreement = analysis::AgreementOf(texts);
    MeasureTokens(answers, cell);
    std::string& reference = references_[{cell->prompt, cell->max_tokens}];
    if (cell->at_once == 1) reference = MostFrequent(answers);
    cell->unlike_alone =
        static_cast<int64_t>(texts.size()) - std::count(texts.begin(), texts.end(), reference);
    CountPartings(answers);
  }

  void CountPartings(const std::vector<const Sample*>& answers) {
    for (size_t i = 1; i < answers.size(); ++i) {
      const TokenComparison comparison = CompareAnswers(answers[0]->view, answers[i]->view);
      if (!comparison.parting) continue;
      ++result_.partings;
      const bool known = comparison.parting->recorded_margin || comparison.parting->new_margin;
      result_.margins_known += known;
      result_.near_ties += comparison.parting->near_tie;
    }
  }

  void Conclude() {
    std::vector<analysis::RepeatedCase> alone;
    std::vector<analysis::Observed> alone_observed;
    std::vector<analysis::Observed> loaded_observed;
    result_.enough = true;
    for (const DiagnosisCell& cell : result_.cells) {
      std::vector<analysis::Observed>* observed =
          cell.at_once == 1 ? &alone_observed : &loaded_observed;
      observed->insert(observed->end(), cell.observed.begin(), cell.observed.end());
      Count(cell);
      if (cell.at_once != 1) continue;
      alone.push_back({});
      for (const Sample* answer : Answered(cell.samples)) {
        alone.back().raw.push_back(AnswerText(answer->view));
        alone.back().parsed.push_back(std::nullopt);
      }
      JudgeEnough(cell);
      CountCachePattern(alone.back().raw);
    }
    result_.alone = analysis::MeasureAgreement(alone);
    result_.alone_survival = analysis::EstimateSurvival(alone_observed);
    result_.loaded_survival = analysis::EstimateSurvival(loaded_observed);
    result_.abilities = target_->abilities();
    result_.provider_blind = result_.enough && result_.abilities.logprobs != Ability::kShown &&
                             result_.abilities.fingerprint != Ability::kShown;
    JudgeLoad();
  }

  void Count(const DiagnosisCell& cell) {
    for (const Sample& sample : cell.samples) {
      if (!sample.answered()) {
        ++result_.failures[std::string(ToString(sample.status))];
        continue;
      }
      ++result_.fingerprints[sample.view.system_fingerprint];
      result_.cache.cached_tokens_seen =
          result_.cache.cached_tokens_seen || sample.view.usage.cached_tokens.value_or(0) > 0;
    }
    for (BrokenPromise& broken : FindBrokenPromises(cell.question, cell.samples)) {
      const bool known =
          std::any_of(result_.broken_promises.begin(), result_.broken_promises.end(),
                      [&](const BrokenPromise& other) { return other.name == broken.name; });
      if (!known) result_.broken_promises.push_back(std::move(broken));
    }
    const auto request = schema::JsonDocument::Parse(cell.question.request);
    if (request == nullptr) return;
    const schema::JsonValue root = request->root();
    const bool draws = root["temperature"].AsDouble().value_or(1) > 0 && !root["seed"].is_number();
    result_.draws = result_.draws || draws;
  }

  void JudgeEnough(const DiagnosisCell& cell) {
    if (cell.answered >= kLeastAnswers || !result_.enough) return;
    result_.enough = false;
    result_.not_enough_because = "the " + cell.prompt + " question was answered " +
                                 std::to_string(cell.answered) + " times, and " +
                                 std::to_string(kLeastAnswers) + " are the least to judge by";
    for (const Sample& sample : cell.samples) {
      if (sample.answered()) continue;
      result_.not_enough_because += ": " + std::string(ToString(sample.status)) +
                                    (sample.detail.empty() ? "" : " (" + sample.detail + ")");
      return;
    }
  }

  void CountCachePattern(const std::vector<std::string>& answers) {
    if (static_cast<int64_t>(answers.size()) < kLeastAnswers) return;
    ++result_.cache.questions;
    const bool others_agree =
        std::all_of(answers.begin() + 1, answers.end(),
                    [&](const std::string& answer) { return answer == answers[1]; });
    result_.cache.cold_first += others_agree && answers[0] != answers[1];
  }

  void JudgeLoad() {
    LoadEffect& load = result_.load;
    for (const DiagnosisCell& cell : result_.cells) {
      (cell.at_once == 1 ? load.alone : load.loaded) += cell.answered;
      (cell.at_once == 1 ? load.alone_unlike : load.loaded_unlike) += cell.unlike_alone;
    }
    if (load.alone == 0 || load.loaded == 0) return;
    load.p = analysis::FisherExactP(load.alone_unlike, load.alone - load.alone_unlike,
                                    load.loaded_unlike, load.loaded - load.loaded_unlike);
    const double alone = static_cast<double>(load.alone_unlike) / static_cast<double>(load.alone);
    const double loaded =
        static_cast<double>(load.loaded_unlike) / static_cast<double>(load.loaded);
    load.depends = load.p.ok() && load.p.value() < kLoadAlpha && loaded > alone;
  }

  const std::vector<Prompt>& prompts_;
  Target* const target_;
  const DiagnosisOptions& options_;
  std::vector<int64_t> loads_;
  std::map<std::pair<std::string, int64_t>, std::string> references_;
  Diagnosis result_;
  int64_t done_ = 0;
  int64_t total_ = 0;
  bool stopped_ = false;
};

}  // namespace

const analysis::DivergenceSurvival& Diagnosis::survival() const {
  return loaded_survival.exposure_tokens > 0 ? loaded_survival : alone_survival;
}

bool Diagnosis::deterministic() const {
  return std::all_of(cells.begin(), cells.end(), [](const DiagnosisCell& cell) {
    return cell.unlike_alone == 0 && cell.agreement.unique <= 1;
  });
}

Diagnosis Diagnose(const std::vector<Prompt>& prompts, Target* target,
                   const DiagnosisOptions& options) {
  return Doctor(prompts, target, options).Run();
}

}  // namespace reenact::rerun
