#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "local_engine/engine.h"
#include "tools/reenact/engine/engine.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/engine/engine_token_text.h"
#include "tools/reenact/engine/rl_check.h"
#include "tools/reenact/engine/token_file.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using local_engine::Answer;
using local_engine::Engine;
using local_engine::RequestId;
using local_engine::TokenScore;

struct ScoreOptions {
  ModelFlags model;
  std::string tokens_file;
  std::string trainer_file;
  int32_t top = 0;
};

struct ScoredSample {
  std::vector<TokenScore> scores;
  int64_t compared = 0;
  int64_t differences = 0;  // Tokens whose bits are not those in the file.
};

absl::StatusOr<ScoredSample> ScoreSample(Engine* engine, const TokenFile& file,
                                         const TokenSample& sample, int32_t top) {
  const absl::StatusOr<RequestId> id =
      engine->Submit({.prompt = file.prompt,
                      .forced_tokens = sample.tokens,
                      .max_tokens = static_cast<int32_t>(sample.tokens.size()),
                      .seed = 0,
                      .logprobs = true,
                      .top_logprobs = top});
  if (!id.ok()) return id.status();
  absl::StatusOr<Answer> answer = engine->RunToEnd(*id);
  if (!answer.ok()) return answer.status();
  local_engine::Completion& completion = answer->completions[0];
  if (!completion.status.ok()) return completion.status;
  ScoredSample scored;
  scored.scores = std::move(completion.scores);
  for (size_t i = 0; i < sample.bits.size() && i < scored.scores.size(); ++i) {
    ++scored.compared;
    if (BitsText(scored.scores[i].chosen.logprob) != sample.bits[i]) ++scored.differences;
  }
  return scored;
}

// The sampler's logprobs as the file has them, beside those of now.
analysis::Mismatch MismatchOf(const TokenFile& file, const std::vector<ScoredSample>& samples) {
  std::vector<analysis::ScoredSequence> sequences;
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::vector<std::string>& bits = file.samples[i].bits;
    if (bits.empty() || bits.size() != samples[i].scores.size()) continue;
    analysis::ScoredSequence sequence;
    for (size_t k = 0; k < bits.size(); ++k) {
      const auto word = static_cast<uint32_t>(std::strtoul(bits[k].c_str(), nullptr, 16));
      sequence.rollout.push_back(static_cast<double>(std::bit_cast<float>(word)));
      sequence.trainer.push_back(static_cast<double>(samples[i].scores[k].chosen.logprob));
    }
    sequences.push_back(std::move(sequence));
  }
  return analysis::CompareLogprobs(sequences);
}

void PrintJson(const ScoreOptions& options, const TokenFile& file, const Engine& engine,
               const std::vector<ScoredSample>& samples) {
  JsonWriter json = JsonWriter::Document("engine score");
  json.TextField("model", options.model.path);
  WriteIdentity(engine.identity(), &json);
  json.Key("samples");
  json.BeginArray();
  for (const ScoredSample& sample : samples) {
    json.BeginObject();
    json.IntField("compared", sample.compared);
    json.IntField("differences", sample.differences);
    json.Key("tokens");
    json.BeginArray();
    for (const TokenScore& score : sample.scores) WriteTokenScore(engine, score, &json);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  WriteMismatch(MismatchOf(file, samples), &json);
  json.EndObject();
  Print(json.Take());
}

// How the bits compare with those in the file; returns the exit code.
int Compare(const TokenFile& file, const Engine& engine, const std::vector<ScoredSample>& samples,
            const Context& context) {
  int64_t compared = 0;
  int64_t differences = 0;
  for (const ScoredSample& sample : samples) {
    compared += sample.compared;
    differences += sample.differences;
  }
  if (compared == 0) return kExitOk;
  const std::string ours = engine.identity().Fingerprint();
  if (file.fingerprint != ours) {
    Note(context, "the file comes from " + file.fingerprint + ", this model is " + ours);
  }
  Note(context, std::to_string(compared - differences) + " of " + std::to_string(compared) +
                    " logprobs have the bits in the file");
  if (!context.json && differences > 0) Print(RenderMismatch(MismatchOf(file, samples)));
  return differences == 0 ? kExitOk : kExitFinding;
}

// The engine is the sampler: what it gives to the trainer's tokens, beside what the trainer gave.
int ScoreAgainstTrainer(const ScoreOptions& options, const Context& context) {
  const absl::StatusOr<std::string> text = ReadFile(options.trainer_file);
  if (!text.ok()) return Fail(context, text.status());
  const auto trainer = ReadTrainerFile(*text);
  if (!trainer.ok()) {
    return Refuse(context, options.trainer_file + ": " + std::string(trainer.status().message()));
  }
  absl::StatusOr<std::unique_ptr<Engine>> engine = LoadEngine(options.model, context);
  if (!engine.ok()) return Fail(context, engine.status());
  std::vector<analysis::ScoredSequence> sequences;
  for (const TrainerSequence& sequence : *trainer) {
    const TokenFile file{.prompt = sequence.prompt};
    absl::StatusOr<ScoredSample> scored =
        ScoreSample(engine->get(), file, {.tokens = sequence.tokens}, 0);
    if (!scored.ok()) return Fail(context, scored.status());
    std::vector<float> rollout;
    for (const TokenScore& score : scored->scores) rollout.push_back(score.chosen.logprob);
    sequences.push_back(ToScored(rollout, sequence));
  }
  const analysis::Mismatch mismatch = analysis::CompareLogprobs(sequences);
  if (context.json) {
    JsonWriter json = JsonWriter::Document("engine score");
    json.TextField("model", options.model.path);
    WriteIdentity((*engine)->identity(), &json);
    WriteMismatch(mismatch, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderMismatch(mismatch));
  }
  return ExitCodeOf(mismatch);
}

int Score(const ScoreOptions& options, const Context& context) {
  if (options.tokens_file.empty() == options.trainer_file.empty()) {
    return Refuse(context, "one of --tokens and --against says what to score");
  }
  if (!options.trainer_file.empty()) return ScoreAgainstTrainer(options, context);
  const absl::StatusOr<std::string> text = ReadFile(options.tokens_file);
  if (!text.ok()) return Fail(context, text.status());
  const absl::StatusOr<TokenFile> file = ReadTokenFile(*text);
  if (!file.ok())
    return Refuse(context, options.tokens_file + ": " + std::string(file.status().message()));
  absl::StatusOr<std::unique_ptr<Engine>> engine = LoadEngine(options.model, context);
  if (!engine.ok()) return Fail(context, engine.status());
  std::vector<ScoredSample> samples;
  for (const TokenSample& sample : file->samples) {
    absl::StatusOr<ScoredSample> scored = ScoreSample(engine->get(), *file, sample, options.top);
    if (!scored.ok()) return Fail(context, scored.status());
    samples.push_back(*std::move(scored));
  }
  if (context.json) {
    PrintJson(options, *file, **engine, samples);
  } else {
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples.size() > 1) {
        Print(context.style(Ink::kBold, "-- sample " + std::to_string(i)) + "\n");
      }
      Print(RenderTokenScores(**engine, samples[i].scores, context.style));
    }
  }
  return Compare(*file, **engine, samples, context);
}

}  // namespace

void AddEngineScore(CLI::App* group, Context* context) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* verb = AddVerb(
      group, context,
      {.name = "score",
       .summary =
           "The logprob of each given token, and its bits; compares them where they are known",
       .example =
           "  reenact engine generate --model model.gguf --prompt Once --json > once.json\n"
           "  reenact engine score --model model.gguf --tokens once.json\n"
           "\n"
           "  reenact engine score --model model.gguf --against trainer.jsonl\n"
           "\n"
           "FILE is a list of token ids, {\"prompt_tokens\": [...], \"tokens\": [...]}, or what\n"
           "generate --json printed; then bits that are no longer the same exit with 1.\n"
           "A trainer's file has a line {\"prompt_tokens\": [...], \"tokens\": [...],\n"
           "\"logprobs\": [...]} for each sequence, and a \"mask\" where some tokens do not "
           "count;\n"
           "exit code 1: the mismatch is worse than healthy.",
       .takes_store = false},
      [options, context] { return Score(*options, *context); });
  AddModelFlags(verb, &options->model);
  AddEngineFlags(verb, &options->model);
  verb->add_option("--tokens", options->tokens_file, "the tokens, as JSON")->type_name("FILE");
  verb->add_option("--against", options->trainer_file,
                   "a trainer's logprobs, as lines of JSON: how far they are from the engine's")
      ->type_name("FILE");
  verb->add_option("--top", options->top, "the K most probable tokens at each place as well")
      ->check(InRange(0, 1 << 24))
      ->type_name("K");
}

}  // namespace reenact::tools
