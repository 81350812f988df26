#include "tools/reenact/record/proxy_flags.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <CLI/CLI.hpp>

#include "tools/reenact/open_store.h"

namespace reenact::tools {
namespace {

// No host shares its memory with this recorder: a body of 64 MiB each way is kept whole, and what
// passes beside it.
constexpr uint64_t kBodyBudgetBytes = uint64_t{160} << 20;

int64_t Signed(uint64_t count) {
  return static_cast<int64_t>(count);
}

// As OpenSSL's own programs and Python's have it.
std::string CaFile(const ProxyFlags& flags) {
  const char* const named = std::getenv("SSL_CERT_FILE");
  return flags.ca_file.empty() && named != nullptr ? named : flags.ca_file;
}

}  // namespace

void AddProxyFlags(CLI::App* verb, ProxyFlags* flags) {
  verb->add_option("--route", flags->routes,
                   "a further upstream, reached as /NAME of the proxy; repeatable")
      ->type_name("NAME=URL");
  verb->add_option(
          "--upstream-ca", flags->ca_file,
          "certificate authorities for upstreams, instead of those of SSL_CERT_FILE or the "
          "system")
      ->check(CLI::Validator(CLI::ExistingFile).description(""))
      ->type_name("FILE");
  verb->add_option("--connect-timeout", flags->connect_timeout_s,
                   "how long an upstream may take to connect")
      ->check(InRange(1, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
}

void AddLogprobFlag(CLI::App* verb, ProxyFlags* flags) {
  verb->add_option("--ask-logprobs", flags->ask_logprobs,
                   "ask for the log probabilities, with K alternatives, of this share of the calls "
                   "whose client did not; it gets them in its answers")
      ->type_name("SHARE[:K]");
}

absl::StatusOr<std::unique_ptr<proxy::LogprobAsker>> LogprobAskerFor(const ProxyFlags& flags) {
  if (flags.ask_logprobs.empty()) return nullptr;
  const auto policy = proxy::ParseLogprobPolicy(flags.ask_logprobs);
  if (!policy.ok()) return policy.status();
  return std::make_unique<proxy::LogprobAsker>(*policy);
}

Tags LogprobTags(const ProxyFlags& flags) {
  const auto policy = proxy::ParseLogprobPolicy(flags.ask_logprobs);
  if (!policy.ok()) return {};
  return {{"reenact.ask_logprobs", proxy::ToString(*policy)}};
}

absl::StatusOr<std::vector<proxy::Route>> ParseRoutes(const ProxyFlags& flags) {
  std::vector<proxy::Route> routes;
  for (const std::string& text : flags.routes) {
    absl::StatusOr<proxy::Route> route = proxy::ParseRoute(text);
    if (!route.ok()) return route.status();
    const bool known = std::any_of(routes.begin(), routes.end(),
                                   [&](const auto& other) { return other.name == route->name; });
    if (known) {
      return absl::InvalidArgumentError("--route " + route->name +
                                        " is given twice: two upstreams "
                                        "cannot be reached as /" +
                                        route->name);
    }
    routes.push_back(*std::move(route));
  }
  return routes;
}

Options RecorderOptionsFor(const std::string& store, const std::string& service,
                           std::vector<std::string> secrets, const Context& context) {
  Options options;
  options.store = store;
  options.service = service;
  options.mode = Mode::kRecord;
  options.secrets = std::move(secrets);
  options.warn = [context](std::string_view text) { Note(context, text); };
  options.close_deadline_ms = kStoreDeadlineMs;
  options.body_budget_bytes = kBodyBudgetBytes;
  return options;
}

absl::Status CheckRecords(const Recorder& recorder) {
  if (!recorder.on()) return absl::UnavailableError(recorder.error());
  if (recorder.metrics().mode == REENACT_MODE_RECORD) return absl::OkStatus();
  const char* const mode = std::getenv("REENACT_MODE");
  return absl::FailedPreconditionError("REENACT_MODE is \"" +
                                       std::string(mode == nullptr ? "" : mode) +
                                       "\": nothing would be recorded; unset it");
}

proxy::ProxyOptions ProxyOptionsFor(const ProxyFlags& flags, const proxy::RouteTable& routes,
                                    Recorder* recorder, Run* run) {
  proxy::ProxyOptions options;
  options.routes = routes;
  options.ca_file = CaFile(flags);
  options.connect_timeout_ms = flags.connect_timeout_s * 1000;
  options.recorder = recorder;
  options.run = run;
  return options;
}

std::string ProxyReportText(const proxy::ProxyReport& report) {
  std::string text = "recorded " + Counted(Signed(report.model_calls), "model call") + " and " +
                     Counted(Signed(report.http_calls), "HTTP call");
  if (report.proxy_answers != 0) {
    text += "; " + Counted(Signed(report.proxy_answers), "call") + " reached no upstream";
  }
  if (report.telemetry != 0) {
    text += "; " + Counted(Signed(report.telemetry), "request") + " of telemetry passed on";
  }
  const char* separator = "; not seen: ";
  for (const auto& [host, count] : report.not_seen) {
    text += separator + host + " (" + std::to_string(count) + ")";
    separator = ", ";
  }
  return text;
}

void WriteProxyReport(const proxy::ProxyReport& report, JsonWriter* json) {
  json->IntField("model_calls", Signed(report.model_calls));
  json->IntField("http_calls", Signed(report.http_calls));
  json->IntField("telemetry", Signed(report.telemetry));
  json->IntField("proxy_answers", Signed(report.proxy_answers));
  json->IntField("client_aborts", Signed(report.client_aborts));
  json->Key("not_seen");
  json->BeginArray();
  for (const auto& [host, count] : report.not_seen) {
    json->BeginObject();
    json->TextField("host", host);
    json->IntField("count", Signed(count));
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace reenact::tools
