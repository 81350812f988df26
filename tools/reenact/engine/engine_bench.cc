#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "local_engine/engine.h"
#include "tools/reenact/engine/engine.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/io/text_table.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using local_engine::Engine;
using local_engine::Request;
using local_engine::RequestId;

constexpr int32_t kDecodePrompt = 16;    // Tokens before those that are measured.
constexpr int32_t kPrefillPrompt = 512;  // Where nothing else is asked for, and it fits.
constexpr size_t kBenchTableWidth = 100;

struct BenchOptions {
  ModelFlags model;
  int32_t prompt_tokens = 0;  // 0: kPrefillPrompt, or what fits.
  int32_t output_tokens = 32;
  int32_t runs = 5;
  std::vector<int32_t> batches = {1, 4, 8, 16};
};

// Tokens per second, a number for each run.
struct Measure {
  std::string name;  // "prefill", "decode"
  int32_t batch = 1;
  std::vector<double> rates;

  double Median() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
};

std::vector<int32_t> PromptOf(const Engine& engine, int32_t length, uint32_t stream) {
  std::vector<int32_t> prompt;
  uint32_t state = 2463534242u + stream * 977u;
  while (static_cast<int32_t>(prompt.size()) < length) {
    state = state * 1664525u + 1013904223u;
    prompt.push_back(
        static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(engine.vocabulary_size())));
  }
  return prompt;
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

absl::Status Finish(Engine* engine, const std::vector<RequestId>& ids) {
  for (const RequestId id : ids) {
    const absl::StatusOr<local_engine::Answer> answer = engine->RunToEnd(id);
    if (!answer.ok()) return answer.status();
    for (const local_engine::Completion& completion : answer->completions) {
      if (!completion.status.ok()) return completion.status;
    }
  }
  return absl::OkStatus();
}

// From a prompt to its first token.
absl::StatusOr<double> Prefill(Engine* engine, const BenchOptions& options, uint32_t stream) {
  Request request{.prompt = PromptOf(*engine, options.prompt_tokens, stream), .max_tokens = 1};
  request.sampling.temperature = 0;
  const auto begin = std::chrono::steady_clock::now();
  const absl::StatusOr<RequestId> id = engine->Submit(std::move(request));
  if (!id.ok()) return id.status();
  if (absl::Status status = Finish(engine, {*id}); !status.ok()) return status;
  return options.prompt_tokens / SecondsSince(begin);
}

// From the step in which every sequence has its first token to the last one.
absl::StatusOr<double> Decode(Engine* engine, const BenchOptions& options, int32_t batch,
                              uint32_t stream) {
  int64_t tokens = 0;
  int32_t begun = 0;
  std::vector<RequestId> ids;
  for (int32_t i = 0; i < batch; ++i) {
    Request request{
        .prompt = PromptOf(*engine, kDecodePrompt, stream + static_cast<uint32_t>(i)),
        .max_tokens = options.output_tokens + 1,
        .ignore_end = true,
        .on_delta = [&tokens, &begun, first = true](const local_engine::Delta& delta) mutable {
          if (!delta.token.has_value()) return;
          ++tokens;
          if (std::exchange(first, false)) ++begun;
        }};
    request.sampling.temperature = 0;
    const absl::StatusOr<RequestId> id = engine->Submit(std::move(request));
    if (!id.ok()) return id.status();
    ids.push_back(*id);
  }
  while (begun < batch) {
    if (absl::StatusOr<bool> more = engine->Step(); !more.ok()) return more.status();
  }
  const int64_t before = tokens;
  const auto begin = std::chrono::steady_clock::now();
  if (absl::Status status = Finish(engine, ids); !status.ok()) return status;
  return static_cast<double>(tokens - before) / SecondsSince(begin);
}

// One run of every measure after the other, so that a disturbance meets all of them. The first
// round warms up.
absl::Status MeasureAll(Engine* engine, const BenchOptions& options, bool show,
                        std::vector<Measure>* measures) {
  Progress progress(show, "measuring");
  const auto count = static_cast<int32_t>(measures->size());
  for (int32_t run = 0; run <= options.runs; ++run) {
    for (int32_t i = 0; i < count; ++i) {
      Measure& measure = (*measures)[static_cast<size_t>(i)];
      progress.Show(run * count + i, (options.runs + 1) * count);
      const auto stream = static_cast<uint32_t>(run) * 1000u;
      const absl::StatusOr<double> rate = measure.name == "prefill"
                                              ? Prefill(engine, options, stream)
                                              : Decode(engine, options, measure.batch, stream);
      if (!rate.ok()) return rate.status();
      if (run > 0) measure.rates.push_back(*rate);
    }
  }
  return absl::OkStatus();
}

int64_t PeakBytes() {
  struct rusage usage {};

  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

std::string Decimal(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

// How many times the rate of one sequence alone; 0 where that was not measured.
double RatioToAlone(const std::vector<Measure>& measures, const Measure& measure) {
  for (const Measure& other : measures) {
    if (other.name == measure.name && other.batch == 1) return measure.Median() / other.Median();
  }
  return 0;
}

void PrintJson(const BenchOptions& options, const Engine& engine,
               const std::vector<Measure>& measures, double load) {
  JsonWriter json = JsonWriter::Document("engine bench");
  json.TextField("model", options.model.path);
  json.TextField("device", engine.device().name);
  WriteIdentity(engine.identity(), &json);
  json.IntField("runs", options.runs);
  json.IntField("prompt_tokens", options.prompt_tokens);
  json.IntField("output_tokens", options.output_tokens);
  json.RealField("load_average_before", load);
  json.IntField("peak_bytes", PeakBytes());
  json.Key("measures");
  json.BeginArray();
  for (const Measure& measure : measures) {
    json.BeginObject();
    json.TextField("name", measure.name);
    json.IntField("batch", measure.batch);
    json.RealField("tokens_per_s", measure.Median());
    json.RealField("ratio_to_batch_1", RatioToAlone(measures, measure));
    json.Key("of_runs");
    json.BeginArray();
    for (const double rate : measure.rates) json.Real(rate);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

void PrintText(const BenchOptions& options, const Engine& engine,
               const std::vector<Measure>& measures, double load, const Style& style) {
  Table table({{.title = "measure"},
               {.title = "batch", .right = true},
               {.title = "tokens/s", .right = true},
               {.title = "lowest", .right = true},
               {.title = "highest", .right = true},
               {.title = "to batch 1", .right = true}},
              kBenchTableWidth);
  for (const Measure& measure : measures) {
    const auto [lowest, highest] = std::minmax_element(measure.rates.begin(), measure.rates.end());
    const double ratio = RatioToAlone(measures, measure);
    table.AddRow({measure.name, std::to_string(measure.batch), Decimal(measure.Median(), 1),
                  Decimal(*lowest, 1), Decimal(*highest, 1),
                  ratio > 0 ? Decimal(ratio, 2) + "x" : ""});
  }
  Print(table.Render(style));
  Print("medians of " + Counted(options.runs, "run") + ", prompts of " +
        std::to_string(options.prompt_tokens) + ", answers of " +
        std::to_string(options.output_tokens) + " tokens; peak memory " +
        FormatSize(static_cast<uint64_t>(PeakBytes())) + "; load before " + Decimal(load, 2) +
        "; " + engine.device().name + "; " + engine.identity().Fingerprint() + "\n");
}

int Bench(BenchOptions options, const Context& context) {
  const int32_t most = *std::max_element(options.batches.begin(), options.batches.end());
  const double load = LoadAverage();
  // A prompt that the cache knows would not be computed.
  local_engine::EngineOptions engine_options = {.max_sequences = std::max(most, 1),
                                                .prefix_cache = false};
  engine_options.page_count = std::max((std::max(options.prompt_tokens, kPrefillPrompt) + 32) / 32,
                                       most * ((kDecodePrompt + options.output_tokens) / 32 + 1)) +
                              1;
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      LoadEngine(options.model, context, engine_options);
  if (!engine.ok()) return Fail(context, engine.status());
  if (options.prompt_tokens == 0) {
    options.prompt_tokens = std::min(kPrefillPrompt, (*engine)->max_positions() - 1);
  }
  std::vector<Measure> measures = {{.name = "prefill"}};
  for (const int32_t batch : options.batches)
    measures.push_back({.name = "decode", .batch = batch});
  const absl::Status status = MeasureAll(engine->get(), options, context.progress, &measures);
  if (!status.ok()) return Fail(context, status);
  if (context.json) {
    PrintJson(options, **engine, measures, load);
  } else {
    PrintText(options, **engine, measures, load, context.style);
  }
  return kExitOk;
}

}  // namespace

void AddEngineBench(CLI::App* group, Context* context) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* verb =
      AddVerb(group, context,
              {.name = "bench",
               .summary = "How fast a model is here: prefill, and decode at several batch sizes",
               .example = "  reenact engine bench --model models/qwen3-0.6b\n"
                          "  reenact engine bench --model model.gguf --batch 1 --batch 32 --json",
               .takes_store = false},
              [options, context] { return Bench(*options, *context); });
  AddModelFlags(verb, &options->model);
  AddEngineFlags(verb, &options->model);
  const auto number = [verb](const char* name, int32_t* value, const char* text) {
    verb->add_option(name, *value, text)
        ->check(InRange(1, 1 << 20))
        ->type_name("N")
        ->capture_default_str();
  };
  verb->add_option("--prompt-tokens", options->prompt_tokens,
                   "in the prefill; else 512, or what the model has room for")
      ->check(InRange(1, 1 << 20))
      ->type_name("N");
  number("--tokens", &options->output_tokens, "that each sequence decodes");
  number("--runs", &options->runs, "of each measure, after one that warms up");
  verb->add_option("--batch", options->batches,
                   "sequences that decode together; repeat it for more; else 1, 4, 8, 16")
      ->check(InRange(1, 1024))
      ->type_name("N")
      ->allow_extra_args(false);
}

}  // namespace reenact::tools
