// What `reenact record` and `reenact proxy` share: flags, how the proxy is set up, and how its
// counts are told.

#ifndef REENACT_TOOLS_REENACT_RECORD_PROXY_FLAGS_H_
#define REENACT_TOOLS_REENACT_RECORD_PROXY_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "recorder/proxy/logprob_asker.h"
#include "recorder/proxy/proxy.h"
#include "recorder/proxy/route.h"
#include "reenact/reenact.hpp"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

struct ProxyFlags {
  std::vector<std::string> routes;
  std::string ca_file;
  int64_t connect_timeout_s = 30;
  std::string ask_logprobs;  // As given; empty: never.
};

void AddProxyFlags(CLI::App* verb, ProxyFlags* flags);
void AddLogprobFlag(CLI::App* verb, ProxyFlags* flags);
absl::StatusOr<std::vector<proxy::Route>> ParseRoutes(const ProxyFlags& flags);

// Null: nobody is to be asked for logprobs. Errors: InvalidArgument.
absl::StatusOr<std::unique_ptr<proxy::LogprobAsker>> LogprobAskerFor(const ProxyFlags& flags);
// The policy as a tag of a run; empty where there is none.
Tags LogprobTags(const ProxyFlags& flags);

Options RecorderOptionsFor(const std::string& store, const std::string& service,
                           std::vector<std::string> secrets, const Context& context);
// Whether what this recorder is given will be on record: it is open, and not replaying because
// REENACT_MODE says so. Errors: Unavailable; FailedPrecondition.
absl::Status CheckRecords(const Recorder& recorder);
proxy::ProxyOptions ProxyOptionsFor(const ProxyFlags& flags, const proxy::RouteTable& routes,
                                    Recorder* recorder, Run* run);

// "recorded 3 model calls and 1 HTTP call; not seen: api.example.com (2)"
std::string ProxyReportText(const proxy::ProxyReport& report);
// As members of the object that is being written.
void WriteProxyReport(const proxy::ProxyReport& report, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_PROXY_FLAGS_H_
