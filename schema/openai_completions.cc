#include "schema/openai_completions.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "schema/internal/chat_fields.h"
#include "schema/internal/logprob_reader.h"
#include "schema/internal/surrogates.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

constexpr size_t kMaxCompletions = 1024;  // Prompts times "n".

struct CompletionBuilder {
  explicit CompletionBuilder(bool logprobs_asked) : logprobs(logprobs_asked) {}

  void Add(JsonValue value) {
    const std::string text = value["text"].AsString();
    if (value["text"].is_string()) {
      if (!choice.content) choice.content.emplace();
      *choice.content += text;
    }
    choice.reasoning += internal::ReadReasoning(value);
    if (std::string reason = value["finish_reason"].AsString(); !reason.empty()) {
      choice.finish_reason = std::move(reason);
    }
    if (std::string stop = internal::ReadStop(value); !stop.empty()) {
      choice.stopped_at = std::move(stop);
    }
    internal::AppendTokenIds(value["token_ids"], &choice.token_ids);
    logprobs.Add({.logprobs = value["logprobs"],
                  .list_name = "content",
                  .text = text,
                  .token_ids = value["token_ids"]});
  }

  Choice choice;
  internal::LogprobMerger logprobs;
};

// Whole answers and chunks of a stream have one form.
class CompletionsReader final : public internal::AnswerReader {
 public:
  CompletionsReader(int64_t choices_asked, ModelView* view, AnomalyList* anomalies)
      : AnswerReader(view, anomalies), choices_asked_(choices_asked) {}

  void ReadDocument(JsonValue document) override {
    AddRecord(document, {});
    internal::ReadTopLevelError(document, view());
    TakeChoices();
    const bool failed = !view()->error_kind.empty() || view()->http_status >= 300;
    if (view()->choices.empty() && !failed) anomalies()->Note("no_choices");
    for (const Choice& choice : view()->choices) {
      if (choice.finish_reason.empty()) {
        anomalies()->NoteAt("finish_reason_absent", "choice", choice.index);
      }
    }
  }

  void AddRecord(JsonValue record, std::string_view event) override;
  bool FinishStream() override;

  std::string_view end_mark_name() const override { return "done"; }

 private:
  void TakeChoices();

  int64_t choices_asked_;
  std::map<int64_t, CompletionBuilder> choices_;
};

void CompletionsReader::AddRecord(JsonValue record, std::string_view /*event*/) {
  const JsonValue choices = record["choices"];
  if (choices.is_array()) internal::ReadIdentity(record, view(), anomalies());
  internal::ReadUsage(record["usage"], &view()->usage);
  internal::ReadServerExtras(record, view(), anomalies());
  for (size_t i = 0; i < choices.size(); ++i) {
    const std::optional<int64_t> sent_index = choices[i]["index"].AsInt64();
    if (!sent_index) anomalies()->Note("choice_without_index");
    const int64_t index = sent_index.value_or(static_cast<int64_t>(i));
    if (choices_.size() >= kMaxCompletions && !choices_.contains(index)) {
      anomalies()->Note("too_many_choices");
      continue;
    }
    choices_.try_emplace(index, view()->logprobs_asked).first->second.Add(choices[i]);
    // vLLM puts what it says of the prompt into the choice.
    internal::ReadServerExtras(choices[i], view(), anomalies());
  }
}

void CompletionsReader::TakeChoices() {
  for (auto& [index, builder] : choices_) {
    Choice choice = std::move(builder.choice);
    choice.index = index;
    choice.logprobs = builder.logprobs.Take();
    internal::NoteLogprobFindings(choice, anomalies());
    if (choice.content) internal::JoinSurrogates(&*choice.content);
    view()->choices.push_back(std::move(choice));
  }
}

bool CompletionsReader::FinishStream() {
  TakeChoices();
  const std::vector<Choice>& choices = view()->choices;
  const bool failed = !view()->error_kind.empty();
  if (view()->end_marker && choices.empty() && !failed) anomalies()->Note("no_choices");
  return static_cast<int64_t>(choices.size()) >= choices_asked_ &&
         std::all_of(choices.begin(), choices.end(),
                     [](const Choice& choice) { return !choice.finish_reason.empty(); });
}

}  // namespace

int64_t ReadCompletionsRequest(JsonValue request, ModelView* view, AnomalyList* /*anomalies*/) {
  view->asked_model = request["model"].AsString();
  view->stream = request["stream"].AsBool();
  // A number of alternatives; 0 asks for the chosen token's own. llama.cpp takes true as well.
  const JsonValue logprobs = request["logprobs"];
  view->logprobs_asked = logprobs.is_number() || logprobs.AsBool();
  internal::ReadInputs(request["prompt"], "prompt", view);
  const auto prompt_count = std::max<int64_t>(1, static_cast<int64_t>(view->messages.size()));
  return prompt_count * std::clamp<int64_t>(request["n"].AsInt64().value_or(1), 1, kMaxCompletions);
}

std::unique_ptr<internal::AnswerReader> MakeCompletionsReader(int64_t choices_asked,
                                                              ModelView* view,
                                                              AnomalyList* anomalies) {
  return std::make_unique<CompletionsReader>(choices_asked, view, anomalies);
}

}  // namespace reenact::schema
