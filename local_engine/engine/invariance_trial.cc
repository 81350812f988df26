#include "local_engine/engine/invariance_trial.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {

std::unique_ptr<Engine> Trial::NewEngine(EngineOptions options) {
  options.backend = settings_.backend;
  return NewEngineOfBackend(std::move(options));
}

std::unique_ptr<Engine> Trial::NewEngineOfBackend(EngineOptions options) {
  options.poison_pages = true;
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(settings_.model_path, options);
  if (!engine.ok()) {
    status_.Update(engine.status());
    return nullptr;
  }
  vocabulary_size_ = (*engine)->vocabulary_size();
  return *std::move(engine);
}

void Trial::Submit(Engine* engine, const Request& request, std::vector<RequestId>* ids) {
  const absl::StatusOr<RequestId> id = engine->Submit(request);
  status_.Update(id.status());
  if (id.ok()) ids->push_back(*id);
}

Answer Trial::Finish(Engine* engine, RequestId id) {
  absl::StatusOr<Answer> answer = engine->RunToEnd(id);
  status_.Update(answer.status());
  return answer.ok() ? *std::move(answer) : Answer{};
}

Answers Trial::RunTogether(Engine* engine, const Requests& requests) {
  std::vector<RequestId> ids;
  for (const Request& request : requests) Submit(engine, request, &ids);
  Answers answers;
  for (RequestId id : ids) answers.push_back(Finish(engine, id));
  answers.resize(requests.size());  // Short only after an error.
  return answers;
}

Answers Trial::RunAlone(const Requests& requests) {
  Answers answers;
  const std::unique_ptr<Engine> engine = NewEngine(Plain());
  for (const Request& request : requests) {
    if (engine == nullptr) break;
    const Answers one = RunTogether(engine.get(), {request});
    for (const Completion& completion : one[0].completions) status_.Update(completion.status);
    answers.push_back(one[0]);
  }
  answers.resize(requests.size());
  return answers;
}

void Trial::Compare(const Answers& expected, const Answers& actual, const std::string& where) {
  for (size_t i = 0; i < expected.size(); ++i) Compare(expected[i], actual[i], where);
}

void Trial::Compare(const Answer& expected, const Answer& actual, const std::string& where) {
  if (status_.ok()) Count(CompareAnswers(expected, actual), where);
}

void Trial::Count(const BitComparison& comparison, const std::string& where) {
  row_.comparisons += comparison.comparisons;
  row_.differences += comparison.differences;
  if (row_.first_difference.empty() && comparison.differences > 0) {
    row_.first_difference = where + ": " + comparison.first_difference;
  }
}

void Trial::Prove(bool path_ran, const std::string& proof) {
  row_.path_ran = path_ran;
  row_.proof = proof;
}

std::vector<int32_t> Trial::Text(uint32_t index, int32_t length) const {
  constexpr int32_t kFirst = 3;
  std::minstd_rand random(index + 1);
  random.discard(8);
  std::vector<int32_t> tokens;
  while (std::ssize(tokens) < length) {
    const auto choice = random() % static_cast<uint32_t>(vocabulary_size_ - kFirst);
    tokens.push_back(kFirst + static_cast<int32_t>(choice));
  }
  return tokens;
}

Request Trial::Greedy(std::vector<int32_t> prompt) const {
  return {.prompt = std::move(prompt),
          .max_tokens = settings_.output_tokens,
          .sampling = {.temperature = 0},
          .seed = 7,
          .ignore_end = true,
          .logprobs = true,
          .top_logprobs = std::min(vocabulary_size_, 512),
          .kv_digest = true};
}

Request Trial::Seeded(std::vector<int32_t> prompt, uint64_t seed) const {
  Request request = Greedy(std::move(prompt));
  request.sampling = {.temperature = 0.8f,
                      .top_p = 0.95f,
                      .repetition_penalty = 1.1f,
                      .presence_penalty = 0.1f,
                      .frequency_penalty = 0.2f};
  request.seed = seed;
  return request;
}

Requests Trial::Mixed(int32_t count) const {
  Requests requests;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t length = std::max(1, settings_.prompt_tokens - 7 * i % settings_.prompt_tokens);
    std::vector<int32_t> text = Text(static_cast<uint32_t>(i), length);
    requests.push_back(i % 2 == 0 ? Greedy(std::move(text))
                                  : Seeded(std::move(text), 1000 + static_cast<uint64_t>(i)));
  }
  return requests;
}

}  // namespace reenact::local_engine
