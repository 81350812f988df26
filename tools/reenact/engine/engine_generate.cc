#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "local_engine/engine.h"
#include "tools/reenact/engine/engine.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/engine/engine_token_text.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using local_engine::Answer;
using local_engine::Completion;
using local_engine::Delta;
using local_engine::Engine;
using local_engine::FinishReason;
using local_engine::Request;
using local_engine::RequestId;

// Shorter prompts are computed before anybody wonders.
constexpr size_t kLongPrompt = 256;

struct GenerateOptions {
  ModelFlags model;
  std::optional<std::string> prompt;
  std::string prompt_file;
  std::string messages_file;
  std::string tools_file;
  std::string schedule_file;         // Of an earlier sample, in profile "stock".
  std::string record_schedule_file;  // To write that of this one.
  Request request = {.max_tokens = 128, .sampling = {.temperature = 0}};
  int32_t logprobs = 0;
};

const char* FinishName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "";
}

absl::StatusOr<std::vector<int32_t>> EncodePrompt(const GenerateOptions& options,
                                                  const Engine& engine) {
  if (options.prompt.has_value()) return engine.EncodeText(*options.prompt);
  if (!options.prompt_file.empty()) {
    absl::StatusOr<std::string> text = ReadFile(options.prompt_file);
    if (!text.ok()) return text.status();
    return engine.EncodeText(*text);
  }
  absl::StatusOr<std::string> messages = ReadFile(options.messages_file);
  if (!messages.ok()) return messages.status();
  std::string tools;
  if (!options.tools_file.empty()) {
    absl::StatusOr<std::string> text = ReadFile(options.tools_file);
    if (!text.ok()) return text.status();
    tools = *std::move(text);
  }
  return engine.EncodeChat({.messages_json = *messages,
                            .tools_json = tools,
                            .now = absl::ToCivilSecond(absl::Now(), absl::LocalTimeZone())});
}

// Profile "stock" alone: how the sample was computed.
void WriteSchedule(const local_engine::StockSchedule& schedule, JsonWriter* json) {
  json->Key("schedule");
  json->BeginArray();
  for (const local_engine::StockStep& step : schedule) {
    const local_engine::StockSettings& settings = step.settings;
    json->BeginArray();
    for (const int32_t field :
         {step.first_position, step.position_count, settings.step_rows, settings.split_k,
          settings.norm_block, settings.kv_splits, settings.cached_keys}) {
      json->Int(field);
    }
    json->EndArray();
  }
  json->EndArray();
}

void WriteSample(const Engine& engine, const Completion& completion, JsonWriter* json) {
  json->BeginObject();
  json->TextField("text", completion.text);
  json->TextField("finish", FinishName(completion.finish));
  json->GivenTextField("stop", completion.stop_text);
  json->Key("tokens");
  json->BeginArray();
  for (const local_engine::TokenScore& score : completion.scores) {
    WriteTokenScore(engine, score, json);
  }
  json->EndArray();
  if (!completion.schedule.empty()) WriteSchedule(completion.schedule, json);
  json->EndObject();
}

void PrintJson(const GenerateOptions& options, const Engine& engine,
               const std::vector<int32_t>& prompt, const Answer& answer) {
  JsonWriter json = JsonWriter::Document("engine generate");
  json.TextField("model", options.model.path);
  WriteIdentity(engine.identity(), &json);
  json.DigitsField("seed", answer.seed);
  json.BoolField("seed_generated", answer.seed_generated);
  json.Key("prompt_tokens");
  json.BeginArray();
  for (int32_t token : prompt) json.Int(token);
  json.EndArray();
  json.Key("samples");
  json.BeginArray();
  for (const Completion& completion : answer.completions) WriteSample(engine, completion, &json);
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

// One sample has been printed as it came; several follow each other.
void PrintText(const GenerateOptions& options, const Engine& engine, const Answer& answer,
               const Context& context) {
  const bool several = answer.completions.size() > 1;
  for (size_t i = 0; i < answer.completions.size(); ++i) {
    const Completion& completion = answer.completions[i];
    if (several) {
      Print(context.style(Ink::kBold, "-- sample " + std::to_string(i)) + "\n");
      Print(PrintableLines(completion.text));
    }
    Print("\n");
    if (options.logprobs > 0) {
      Print(RenderTokenScores(engine, completion.scores, context.style));
    }
  }
}

// What it takes to get the same again.
std::string Summary(const Engine& engine, const Request& request, const Answer& answer) {
  int64_t tokens = 0;
  for (const Completion& completion : answer.completions) {
    tokens += static_cast<int64_t>(completion.tokens.size());
  }
  std::string text = Counted(tokens, "token");
  if (answer.completions.size() == 1) {
    text += std::string(", finish ") + FinishName(answer.completions[0].finish);
  }
  if (request.sampling.temperature != 0) text += ", seed " + std::to_string(answer.seed);
  return text + ", " + engine.identity().Fingerprint();
}

absl::Status CheckSource(const GenerateOptions& options) {
  const int sources = (options.prompt.has_value() ? 1 : 0) + (options.prompt_file.empty() ? 0 : 1) +
                      (options.messages_file.empty() ? 0 : 1);
  if (sources != 1) {
    return absl::InvalidArgumentError(
        "one of --prompt, --prompt-file and --messages says what to answer");
  }
  if (!options.tools_file.empty() && options.messages_file.empty()) {
    return absl::InvalidArgumentError("--tools goes with --messages");
  }
  const bool of_stock = !options.schedule_file.empty() || !options.record_schedule_file.empty();
  if (of_stock && options.model.profile != "stock") {
    return absl::InvalidArgumentError("a schedule goes with --profile stock");
  }
  if (of_stock && options.request.sample_count != 1) {
    return absl::InvalidArgumentError("a schedule is that of one sample: --n 1");
  }
  return absl::OkStatus();
}

absl::Status ReadSchedule(const std::string& path, Request* request) {
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<local_engine::StockSchedule> schedule = local_engine::StockScheduleFromJson(*text);
  if (!schedule.ok()) {
    return {schedule.status().code(), path + ": " + std::string(schedule.status().message())};
  }
  request->schedule = *std::move(schedule);
  return absl::OkStatus();
}

int Generate(const GenerateOptions& options, const Context& context) {
  if (absl::Status status = CheckSource(options); !status.ok()) return Fail(context, status);
  absl::StatusOr<std::unique_ptr<Engine>> engine = LoadEngine(options.model, context);
  if (!engine.ok()) return Fail(context, engine.status());
  absl::StatusOr<std::vector<int32_t>> prompt = EncodePrompt(options, **engine);
  if (!prompt.ok()) return Fail(context, prompt.status());

  Request request = options.request;
  request.prompt = *prompt;
  if (absl::Status status = ReadSchedule(options.schedule_file, &request); !status.ok()) {
    return Fail(context, status);
  }
  request.logprobs = context.json || options.logprobs > 0;
  request.top_logprobs = options.logprobs;
  std::optional<Progress> progress;
  progress.emplace(context.progress && prompt->size() >= kLongPrompt, "reading the prompt");
  request.on_prefill_progress = [&progress](int32_t done_tokens, int32_t total_tokens) {
    if (progress.has_value()) progress->Show(done_tokens, total_tokens);
  };
  const bool streams = !context.json && request.sample_count == 1;
  request.on_delta = [&progress, streams](const Delta& delta) {
    progress.reset();  // Clears its line before there is text.
    if (!streams || delta.text.empty()) return;
    Print(PrintableLines(delta.text));
    std::fflush(stdout);
  };
  const absl::StatusOr<RequestId> id = (*engine)->Submit(request);
  if (!id.ok()) return Fail(context, id.status());
  const absl::StatusOr<Answer> answer = (*engine)->RunToEnd(*id);
  if (!answer.ok()) return FailWith(context, answer.status(), kExitInconclusive);
  for (const Completion& completion : answer->completions) {
    if (!completion.status.ok()) return FailWith(context, completion.status, kExitInconclusive);
  }
  if (!options.record_schedule_file.empty()) {
    const std::string schedule =
        local_engine::StockScheduleToJson(answer->completions[0].schedule) + "\n";
    const absl::Status written =
        WriteFile(options.record_schedule_file, schedule, /*replace=*/true);
    if (!written.ok()) return Fail(context, written);
  }
  if (context.json) {
    PrintJson(options, **engine, *prompt, *answer);
  } else {
    PrintText(options, **engine, *answer, context);
    Note(context, Summary(**engine, request, *answer));
  }
  return kExitOk;
}

void AddSamplingFlags(CLI::App* verb, Request* request) {
  local_engine::SamplingSettings* sampling = &request->sampling;
  const auto number = [verb](const char* name, auto* value, const char* text) {
    verb->add_option(name, *value, text)->type_name("N")->capture_default_str();
  };
  number("--temperature", &sampling->temperature, "0: always the most probable token");
  number("--top-k", &sampling->top_k, "of the k most probable tokens; 0: of all");
  number("--top-p", &sampling->top_p, "of the most probable tokens that hold this share");
  number("--min-p", &sampling->min_p,
         "of tokens at least so probable, by the most probable one's measure");
  verb->add_option("--seed", request->seed, "for the draws; else one is made up, and told")
      ->type_name("N");
}

}  // namespace

void AddEngineGenerate(CLI::App* group, Context* context) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* verb = AddVerb(
      group, context,
      {.name = "generate",
       .summary = "Continues a prompt, or answers messages",
       .example =
           "  reenact engine generate --model models/qwen3-0.6b --prompt 'Once upon a time'\n"
           "  reenact engine generate --model model.gguf --messages chat.json --temperature "
           "0.8 --seed 7\n"
           "  reenact engine generate --model model.gguf --prompt Once --logprobs 3 --json",
       .takes_store = false},
      [options, context] { return Generate(*options, *context); });
  AddModelFlags(verb, &options->model);
  AddEngineFlags(verb, &options->model);
  verb->add_option("--prompt", options->prompt, "the text, as it is")->type_name("TEXT");
  verb->add_option("--prompt-file", options->prompt_file, "the text, as it is in this file")
      ->type_name("FILE");
  verb->add_option("--messages", options->messages_file,
                   "a JSON list of messages, for the model's chat template")
      ->type_name("FILE");
  verb->add_option("--tools", options->tools_file, "a JSON list of tools, for the chat template")
      ->type_name("FILE");
  verb->add_option("--max-tokens", options->request.max_tokens, "of each answer")
      ->check(InRange(0, 1 << 24))
      ->type_name("N")
      ->capture_default_str();
  AddSamplingFlags(verb, &options->request);
  verb->add_option("--stop", options->request.stop_texts,
                   "a text that ends the answer; repeat it for more")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  verb->add_option("--n", options->request.sample_count, "so many answers")
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--logprobs", options->logprobs,
                   "show each token's logprob, its bits and the K most probable tokens")
      ->check(InRange(0, 1 << 24))
      ->type_name("K");
  verb->add_option("--record-schedule", options->record_schedule_file,
                   "write how the answer was computed; profile stock")
      ->type_name("FILE");
  verb->add_option("--schedule", options->schedule_file,
                   "compute as this file says, whatever runs: the same bits again; profile stock")
      ->type_name("FILE");
}

}  // namespace reenact::tools
