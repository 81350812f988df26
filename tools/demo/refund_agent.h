// The agent behind POST /refund: asks the model, runs the tools that it asks for, and answers.
// Everything that comes from outside goes through the run: clock, retrieval, model, tools, chance.

#ifndef REENACT_TOOLS_DEMO_REFUND_AGENT_H_
#define REENACT_TOOLS_DEMO_REFUND_AGENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include <reenact/reenact.hpp>

#include "chat_stream.h"
#include "knowledge_base.h"
#include "refund_tools.h"

namespace demo {

struct AgentOptions {
  std::string provider_url;  // "http://127.0.0.1:8080/v1"
  std::string prompt_template;
  std::string prompt_version;
  bool token_ids = false;  // Asks for them, as vLLM and our engine give them.
  uint32_t jitter_seed =
      0;  // Not 0: waits a little before each tool, at random, to stir the schedule.
};

// The prompt that ships with the service; {{today}} and {{policies}} are filled in.
std::string_view DefaultPrompt();

struct RefundAnswer {
  int status = 200;
  std::string body;    // JSON
  std::string run_id;  // Empty when nothing is recorded.
};

// Any number of threads may handle refunds at once.
class RefundAgent {
 public:
  RefundAgent(reenact::Recorder* recorder, RefundLedger* ledger, AgentOptions options);

  // `body`: {"order_id": "A-1042", "message": "..."}. `trace`: a W3C traceparent, or empty.
  RefundAnswer Handle(std::string_view body, std::string_view trace);

 private:
  // `prompt`: the template, to be filled in.
  std::string Converse(reenact::Run& run, std::string prompt, const std::string& customer_message);
  std::string RunTool(reenact::Scope& scope, const RequestedTool& tool);

  reenact::Recorder* recorder_;
  RefundLedger* ledger_;
  AgentOptions options_;
  KnowledgeBase policies_;
};

}  // namespace demo

#endif  // REENACT_TOOLS_DEMO_REFUND_AGENT_H_
