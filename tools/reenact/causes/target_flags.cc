#include "tools/reenact/causes/target_flags.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"

#include "replayer/rerun/http_target.h"
#include "tools/engine_server/local_target.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/record/interruption.h"

namespace reenact::tools {
namespace {

using rerun::Target;

// A provider's own address, and the variables that its clients read.
struct Provider {
  std::string_view name;
  const char* url;
  const char* url_env;
  const char* key_env;
  std::string_view host;
};

constexpr std::array<Provider, 2> kProviders = {{
    {"openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", "api.openai.com"},
    {"anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
     "api.anthropic.com"},
}};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "https://api.openai.com": what a key is bound to.
std::string OriginOf(const std::string& url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return "";
  return url.substr(0, url.find_first_of("/?#", scheme_end + 3));
}

bool Owns(const Provider& provider, const std::string& origin) {
  if (const std::string base = Environment(provider.url_env); !base.empty()) {
    if (OriginOf(base) == origin) return true;
  }
  constexpr std::string_view kHttps = "https://";
  if (!origin.starts_with(kHttps)) return false;
  const std::string_view host = std::string_view(origin).substr(kHttps.size());
  return host == provider.host || host.ends_with("." + std::string(provider.host));
}

std::string UrlOfApi(const schema::Event* call) {
  if (call != nullptr && !OriginOf(call->endpoint).empty()) return call->endpoint;
  const Provider* provider = &kProviders.front();
  for (const Provider& known : kProviders) {
    if (call != nullptr && call->provider == known.name) provider = &known;
  }
  const std::string base = Environment(provider->url_env);
  return base.empty() ? provider->url : base;
}

absl::StatusOr<std::string> KeyFor(const TargetFlags& flags, const std::string& url) {
  const std::string origin = OriginOf(url);
  const Provider* owner = nullptr;
  for (const Provider& provider : kProviders) {
    if (Owns(provider, origin)) owner = &provider;
  }
  if (flags.key_env.empty()) return owner == nullptr ? "" : Environment(owner->key_env);
  // Where a run was recorded is what its record says: whoever wrote that must not name who gets a
  // key.
  if (flags.target == "api" && owner == nullptr) {
    return absl::InvalidArgumentError("the key in " + flags.key_env + " would be sent to " +
                                      origin +
                                      ", which only the record names: give that URL as "
                                      "--target");
  }
  std::string key = Environment(flags.key_env.c_str());
  if (key.empty()) {
    return absl::InvalidArgumentError("the variable " + flags.key_env + " of --key-env is empty");
  }
  return key;
}

absl::StatusOr<std::unique_ptr<Target>> MakeLocal(const TargetFlags& flags, const Context& context,
                                                  rerun::Ledger* ledger) {
  if (flags.model.path.empty()) {
    return absl::InvalidArgumentError("--target local needs a model: --model DIR or FILE");
  }
  auto engine = LoadEngine(flags.model, context);
  if (!engine.ok()) return engine.status();
  return engine_server::MakeLocalTarget(*std::move(engine), {.interrupted = Interruption::Happened},
                                        ledger);
}

}  // namespace

void AddTargetFlags(CLI::App* verb, TargetFlags* flags) {
  verb->add_option("--target", flags->target,
                   "whom to ask: api (where the run was recorded), local (the engine, with "
                   "--model), or the URL of a server")
      ->required()
      ->type_name("api|local|URL");
  AddModelFlags(verb, &flags->model);
  verb->get_option("--model")->required(false);
  AddEngineFlags(verb, &flags->model);
  verb->add_option("--as", flags->ask_for, "ask for this model instead of the recorded one")
      ->type_name("MODEL");
  verb->add_option("--key-env", flags->key_env,
                   "the variable that holds the target's key; else OPENAI_API_KEY or "
                   "ANTHROPIC_API_KEY, for their own hosts alone")
      ->type_name("NAME");
  verb->add_flag(
      "--token-ids", flags->token_ids,
      "ask for the ids of tokens as well: vLLM, SGLang and engine serve give them, others "
      "may refuse; local always does");
  verb->add_option("--timeout", flags->timeout, "for one answer: seconds, or 2m")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_option("--max-requests", flags->max_requests, "send no more than so many")
      ->check(InRange(1, 1'000'000'000))
      ->type_name("N");
  verb->add_option("--max-tokens", flags->max_tokens,
                   "ask nothing more once prompts and answers have had so many")
      ->check(InRange(1, 1'000'000'000'000))
      ->type_name("N");
}

rerun::Budget BudgetOf(const TargetFlags& flags) {
  return {.max_requests = flags.max_requests, .max_tokens = flags.max_tokens};
}

absl::StatusOr<std::unique_ptr<Target>> MakeTarget(const TargetFlags& flags,
                                                   const schema::Event* call,
                                                   const Context& context, rerun::Ledger* ledger) {
  if (flags.target == "local") return MakeLocal(flags, context, ledger);
  if (flags.target != "api" && OriginOf(flags.target).empty()) {
    return absl::InvalidArgumentError("--target \"" + flags.target +
                                      "\" is none of api, local and the URL of a server");
  }
  const bool bare_seconds = flags.timeout.find_first_not_of("0123456789.") == std::string::npos;
  const absl::StatusOr<int64_t> timeout_ns =
      ParseDuration(bare_seconds ? flags.timeout + "s" : flags.timeout);
  if (!timeout_ns.ok()) return timeout_ns.status();
  rerun::HttpTargetOptions options;
  options.base_url = flags.target == "api" ? UrlOfApi(call) : flags.target;
  options.label = flags.target == "api" ? "api" : "url";
  absl::StatusOr<std::string> key = KeyFor(flags, options.base_url);
  if (!key.ok()) return key.status();
  options.key = *std::move(key);
  options.timeout_ms = *timeout_ns / 1'000'000;
  options.interrupted = Interruption::Happened;
  return rerun::MakeHttpTarget(options, ledger);
}

void WriteTarget(const Target& target, JsonWriter* json) {
  const rerun::Abilities abilities = target.abilities();
  json->Key("target");
  json->BeginObject();
  json->TextField("name", target.Name());
  json->TextField("logprobs", ToString(abilities.logprobs));
  json->TextField("token_ids", ToString(abilities.token_ids));
  json->TextField("fingerprint", ToString(abilities.fingerprint));
  json->TextField("forced_tokens", ToString(abilities.forced_tokens));
  json->BoolField("invariant", target.is_invariant());
  json->EndObject();
}

void WriteCost(const rerun::Cost& cost, double seconds, JsonWriter* json) {
  json->Key("cost");
  json->BeginObject();
  json->IntField("requests", cost.requests);
  json->IntField("retries", cost.retries);
  json->IntField("prompt_tokens", cost.prompt_tokens);
  json->IntField("completion_tokens", cost.completion_tokens);
  json->IntField("uncounted_answers", cost.uncounted_answers);
  json->RealField("seconds", seconds);
  json->RealField("busy_seconds", cost.busy_seconds);
  json->RealField("waited_seconds", cost.waited_seconds);
  json->EndObject();
}

std::string CostText(const rerun::Cost& cost, double seconds) {
  char took[32];
  std::snprintf(took, sizeof took, "%.3g s", seconds);
  std::string text = Counted(cost.requests, "request") + ", " + WithThousands(cost.prompt_tokens) +
                     " tokens in, " + WithThousands(cost.completion_tokens) + " out, " + took;
  if (cost.retries > 0) text += "; " + Counted(cost.retries, "retry", "retries") + " among them";
  if (cost.uncounted_answers > 0) {
    text += "; " + Counted(cost.uncounted_answers, "answer") + " without a count of tokens";
  }
  return text;
}

}  // namespace reenact::tools
