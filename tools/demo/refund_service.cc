// The refund service: an HTTP server that links the SDK. POST /refund asks the agent; GET /healthz
// answers "ok". Run with --help for its flags.

#include <httplib.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <reenact/reenact.hpp>

#include "refund_agent.h"

namespace {

constexpr std::string_view kUsage =
    "usage: refund_service [--port N] [--port-file FILE] [--provider URL] [--ledger FILE]\n"
    "                      [--store DIR] [--prompt FILE] [--prompt-version V]\n"
    "                      [--clock-offset-hours N] [--jitter-seed N] [--token-ids yes|no]\n"
    "  --port N                listen there on loopback (default 0: any free port)\n"
    "  --port-file FILE        write the port there\n"
    "  --provider URL          base URL of the model provider (default http://127.0.0.1:4010/v1)\n"
    "  --ledger FILE           where refunds are paid (default refunds.jsonl)\n"
    "  --store DIR             where runs are recorded (default $REENACT_STORE)\n"
    "  --prompt FILE           the prompt template (default: the one built in)\n"
    "  --prompt-version V      its version (default v14)\n"
    "  --clock-offset-hours N  the service's clock runs ahead by N hours\n"
    "  --jitter-seed N         wait a little, at random, before each tool\n"
    "  --token-ids yes|no      ask the model for the ids of its tokens (default no)\n";

struct Flags {
  int port = 0;
  std::string port_file;
  std::string provider = "http://127.0.0.1:4010/v1";
  std::string ledger = "refunds.jsonl";
  std::string store;
  std::string prompt_file;
  std::string prompt_version = "v14";
  long clock_offset_hours = 0;
  uint32_t jitter_seed = 0;
  bool token_ids = false;
};

std::optional<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--port") {
      flags.port = std::atoi(value);
    } else if (name == "--port-file") {
      flags.port_file = value;
    } else if (name == "--provider") {
      flags.provider = value;
    } else if (name == "--ledger") {
      flags.ledger = value;
    } else if (name == "--store") {
      flags.store = value;
    } else if (name == "--prompt") {
      flags.prompt_file = value;
    } else if (name == "--prompt-version") {
      flags.prompt_version = value;
    } else if (name == "--clock-offset-hours") {
      flags.clock_offset_hours = std::atol(value);
    } else if (name == "--jitter-seed") {
      flags.jitter_seed = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    } else if (name == "--token-ids") {
      flags.token_ids = std::string_view(value) == "yes";
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0) return std::nullopt;
  return flags;
}

// Unix ns of a clock that runs ahead.
int64_t OffsetClock(long hours) {
  const auto now = std::chrono::system_clock::now() + std::chrono::hours(hours);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
}

httplib::Server* g_server = nullptr;

int Serve(const Flags& flags, demo::RefundAgent& agent, reenact::Recorder& recorder) {
  httplib::Server server;
  server.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  server.Post("/refund", [&](const httplib::Request& request, httplib::Response& response) {
    const demo::RefundAnswer answer =
        agent.Handle(request.body, request.get_header_value("traceparent"));
    response.status = answer.status;
    response.set_header("x-reenact-run", answer.run_id);
    response.set_content(answer.body, "application/json");
  });
  const int port = flags.port == 0 ? server.bind_to_any_port("127.0.0.1")
                   : server.bind_to_port("127.0.0.1", flags.port) ? flags.port
                                                                  : -1;
  if (port < 0) {
    std::fprintf(stderr, "refund_service: cannot listen on 127.0.0.1:%d\n", flags.port);
    return 2;
  }
  if (!flags.port_file.empty()) std::ofstream(flags.port_file) << port << "\n";
  std::printf("refund_service: http://127.0.0.1:%d/refund\n", port);
  std::fflush(stdout);
  g_server = &server;
  std::signal(SIGTERM, [](int) { g_server->stop(); });
  std::signal(SIGINT, [](int) { g_server->stop(); });
  recorder.OnReplay("POST /refund", [&](std::string_view body) { agent.Handle(body, ""); });
  const bool served = server.listen_after_bind();
  recorder.Close(5000);
  return served ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Flags> flags = ParseFlags(argc, argv);
  if (!flags) {
    std::fputs(kUsage.data(), stderr);
    return 2;
  }
  demo::AgentOptions agent_options;
  agent_options.provider_url = flags->provider;
  agent_options.prompt_version = flags->prompt_version;
  agent_options.jitter_seed = flags->jitter_seed;
  agent_options.token_ids = flags->token_ids;
  agent_options.prompt_template = demo::DefaultPrompt();
  if (!flags->prompt_file.empty()) {
    std::ifstream file(flags->prompt_file);
    if (!file) {
      std::fprintf(stderr, "refund_service: cannot read the prompt %s\n",
                   flags->prompt_file.c_str());
      return 2;
    }
    agent_options.prompt_template.assign(std::istreambuf_iterator<char>(file), {});
  }

  reenact::Options options;
  options.store = flags->store;
  options.service = "refund-agent";
  options.service_version = "1.4.0";
  options.logprob_rate = 1.0;
  if (flags->clock_offset_hours != 0) {
    options.wall_clock = [hours = flags->clock_offset_hours] { return OffsetClock(hours); };
  }
  reenact::Recorder recorder(options);
  if (recorder.code() != REENACT_OK) {
    // The service goes on without: recording must never keep it from its work.
    std::fprintf(stderr, "refund_service: not recording: %s\n", recorder.error().c_str());
  }
  demo::RefundLedger ledger(flags->ledger);
  demo::RefundAgent agent(&recorder, &ledger, std::move(agent_options));
  return Serve(*flags, agent, recorder);
}
