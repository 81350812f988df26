#include "recorder/proxy/proxy.h"

#include <signal.h>
#include <sys/resource.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"

#include "tools/reenact/open_store.h"
#include "tools/reenact/record/proxy_environment.h"
#include "tools/reenact/record/proxy_flags.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct GatewayOptions {
  std::string listen = "127.0.0.1:0";
  std::string service = "proxy";
  int64_t grace_s = 5;
  ProxyFlags proxy;
};

// "127.0.0.1:8800", "[::1]:0".
bool ParseListen(std::string_view text, std::string* address, uint16_t* port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return false;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  *address = host;
  return !host.empty();
}

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  return set;
}

void PrintStart(const std::string& url, const proxy::RouteTable& routes, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document("proxy");
    json.TextField("event", "listening");
    json.TextField("url", url);
    json.EndObject();
    Print(json.Take());
  } else {
    Print("listening on " + url + "\n");
    for (const proxy::Route& route : routes.routes()) {
      Print("  " + PadRight(url + "/" + route.name, 36) + " " + Printable(route.upstream) + "\n");
    }
  }
  std::fflush(stdout);
}

void PrintEnd(const proxy::ProxyReport& report, const Context& context) {
  if (!context.json) {
    Print(ProxyReportText(report) + "; " + Counted(static_cast<int64_t>(report.runs), "run") +
          "\n");
    return;
  }
  JsonWriter json = JsonWriter::Document("proxy");
  json.TextField("event", "stopped");
  WriteProxyReport(report, &json);
  json.IntField("runs", static_cast<int64_t>(report.runs));
  json.EndObject();
  Print(json.Take());
}

// Each call takes two descriptors, and a shell gives a program a thousand.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const GatewayOptions& options, const Context& context) {
  RaiseDescriptorLimit();
  auto extra = ParseRoutes(options.proxy);
  if (!extra.ok()) return Fail(context, extra.status());
  auto asker = LogprobAskerFor(options.proxy);
  if (!asker.ok()) return Fail(context, asker.status());
  auto place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  proxy::RouteTable routes;
  for (const proxy::Route& route : proxy::WellKnownRoutes()) routes.Set(route);
  for (const proxy::Route& route : *extra) routes.Set(route);

  // Blocked before any thread begins, so that this one gets them.
  const sigset_t stop = StopSignals();
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  Recorder recorder(
      RecorderOptionsFor(place->path, options.service, SecretsOf(OwnEnvironment()), context));
  if (absl::Status ready = CheckRecords(recorder); !ready.ok()) return Fail(context, ready);
  proxy::ProxyOptions settings = ProxyOptionsFor(options.proxy, routes, &recorder, nullptr);
  settings.planner = asker->get();
  settings.run_tags = LogprobTags(options.proxy);
  if (!ParseListen(options.listen, &settings.address, &settings.port)) {
    return Refuse(context, "\"" + options.listen + "\" is no address and port: 127.0.0.1:8800");
  }
  auto proxy = proxy::Proxy::Start(std::move(settings));
  if (!proxy.ok()) return Fail(context, proxy.status());
  PrintStart((*proxy)->url(), routes, context);

  int number = 0;
  sigwait(&stop, &number);
  (*proxy)->Stop(options.grace_s * 1000);
  PrintEnd((*proxy)->report(), context);
  return recorder.Close(kStoreDeadlineMs) == REENACT_OK ? kExitOk : kExitInconclusive;
}

}  // namespace

void AddProxyVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<GatewayOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "proxy",
       .summary = "A recording gateway for programs that run on; ends cleanly with SIGTERM",
       .example = "  reenact proxy --listen 127.0.0.1:8800\n"
                  "  OPENAI_BASE_URL=http://127.0.0.1:8800/openai/v1 node agent.mjs\n"
                  "  reenact proxy --listen 127.0.0.1:8800 --route vllm=http://10.0.0.5:8000\n"
                  "\n"
                  "A run is what shares a header x-reenact-run, else a W3C traceparent, else a "
                  "connection.\n"
                  "GET /reenact/health answers while it runs."},
      [options, context] { return Serve(*options, *context); });
  verb->add_option("--listen", options->listen, "a loopback address, and a port or 0 for any")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  verb->add_option("--service", options->service, "name of the service")
      ->type_name("NAME")
      ->capture_default_str();
  verb->add_option("--grace", options->grace_s, "how long calls under way may last on SIGTERM")
      ->check(InRange(0, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
  AddProxyFlags(verb, &options->proxy);
  AddLogprobFlag(verb, &options->proxy);
}

}  // namespace reenact::tools
