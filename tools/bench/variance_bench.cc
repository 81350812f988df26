// variance_bench --model DIR|FILE [--prompt TEXT] [--requests N] [--tokens N] [--temperature T]
//                [--isa NAME]... [--profile n1|stock|both]
// One request many times under a load that comes and goes: how many different answers the engine
// gives, as texts and as log-probabilities bit by bit, with each profile on each instruction set;
// and of profile stock, whether each answer comes back from its recorded schedule. One JSON object
// a line, with the fields of tools/bench/peer/request_variance.mjs, whose load is the same.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"

#include "local_engine/cpu/isa.h"
#include "local_engine/engine.h"
#include "local_engine/engine/identical_requests.h"

namespace reenact {
namespace {

using namespace local_engine;  // NOLINT: a program.

struct Options {
  std::string model;
  std::string prompt = "A bird";
  int32_t requests = 1000;
  int32_t tokens = 200;
  float temperature = 0;
  std::vector<std::string> isas;
  std::string profile = "both";
};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "variance_bench: %s\n", what.c_str());
  std::exit(2);
}

template <typename T>
T OrFail(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status().ToString());
  return *std::move(value);
}

Options Parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i];
    if (i + 1 == count) Fail(name + " needs a value");
    const std::string value = arguments[i + 1];
    bool taken = true;
    if (name == "--model") {
      options.model = value;
    } else if (name == "--prompt") {
      options.prompt = value;
    } else if (name == "--requests") {
      taken = absl::SimpleAtoi(value, &options.requests) && options.requests > 0;
    } else if (name == "--tokens") {
      taken = absl::SimpleAtoi(value, &options.tokens) && options.tokens > 0;
    } else if (name == "--temperature") {
      taken = absl::SimpleAtof(value, &options.temperature);
    } else if (name == "--isa") {
      options.isas.push_back(value);
    } else if (name == "--profile") {
      options.profile = value;
      taken = value == "n1" || value == "stock" || value == "both";
    } else {
      taken = false;
    }
    if (!taken) Fail("not understood: " + name + " " + value);
  }
  if (options.model.empty()) Fail("--model DIR|FILE is missing");
  if (options.isas.empty()) {
    for (const Isa isa : AvailableIsas()) options.isas.emplace_back(IsaName(isa));
  }
  return options;
}

std::unique_ptr<Engine> Load(const Options& options, Profile profile, const std::string& isa) {
  return OrFail(
      Engine::Load(options.model, {.profile = profile, .isa = isa, .max_positions = 512}));
}

IdenticalRequests RequestsOf(const Options& options, const Engine& engine) {
  const auto greedy = [&](const std::string& prompt) {
    return Request{.prompt = OrFail(engine.EncodeText(prompt)),
                   .max_tokens = options.tokens,
                   .sampling = {.temperature = options.temperature},
                   .seed = 1,
                   .logprobs = true,
                   .kv_digest = true};
  };
  return {.request = greedy(options.prompt),
          .count = options.requests,
          .others = {greedy("Once upon a time"), greedy("The little dog said"),
                     greedy("Lily and Tom went to the park. They")}};
}

void Measure(const Options& options, Profile profile, const std::string& isa) {
  const std::unique_ptr<Engine> engine = Load(options, profile, isa);
  const IdenticalRequests requests = RequestsOf(options, *engine);
  const std::vector<Answer> answers = OrFail(AnswerUnderLoad(requests, engine.get()));
  const AnswerVariants variants = VariantsOf(answers);
  const std::string divergence =
      variants.first_divergence < 0 ? "null" : std::to_string(variants.first_divergence);
  std::printf(
      "{\"engine\":\"reenact\",\"profile\":\"%s\",\"isa\":\"%s\",\"requests\":%zu,\"texts\":%zu,"
      "\"largest_group\":%zu,\"logprob_patterns\":%zu,\"first_divergent_token\":%s",
      engine->identity().profile.c_str(), isa.c_str(), answers.size(), variants.texts,
      variants.largest_group, variants.logprob_patterns, divergence.c_str());
  std::printf(",\"most_co_resident\":%lld,\"cache_hit_pages\":%lld",
              static_cast<long long>(engine->counters().most_co_resident),
              static_cast<long long>(engine->counters().cache_hit_pages));
  if (profile == Profile::kStock) {
    const std::unique_ptr<Engine> again = Load(options, profile, isa);
    const BitComparison replayed = OrFail(ReplaySchedules(requests.request, answers, again.get()));
    std::printf(",\"replayed\":%zu,\"replay_comparisons\":%lld,\"replay_differences\":%lld",
                answers.size(), static_cast<long long>(replayed.comparisons),
                static_cast<long long>(replayed.differences));
    if (replayed.differences > 0) {
      std::fprintf(stderr, "variance_bench: %s\n", replayed.first_difference.c_str());
    }
  }
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace reenact

int main(int count, char** arguments) {
  const reenact::Options options = reenact::Parse(count, arguments);
  for (const std::string& isa : options.isas) {
    if (options.profile != "stock") reenact::Measure(options, reenact::Profile::kN1, isa);
    if (options.profile != "n1") reenact::Measure(options, reenact::Profile::kStock, isa);
  }
  return 0;
}
