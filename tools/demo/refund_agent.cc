#include "refund_agent.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "model_client.h"

namespace demo {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxTurns = 6;

std::string Replaced(std::string text, std::string_view mark, std::string_view value) {
  const size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), value);
  return text;
}

std::string DateOf(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%A, %Y-%m-%d", &parts);
  return text.data();
}

std::string Hex(uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

// A number that nobody recorded: what the tool mints for itself.
std::string MintRefundId() {
  std::random_device device;
  return "rf_" + Hex(device()).substr(8);
}

ordered_json ToolMessage(const RequestedTool& tool, const std::string& result) {
  return {{"role", "tool"}, {"tool_call_id", tool.id}, {"content", result}};
}

ordered_json AssistantMessage(const ChatStream& stream) {
  ordered_json message{{"role", "assistant"}};
  message["content"] =
      stream.content().empty() ? ordered_json(nullptr) : ordered_json(stream.content());
  if (stream.tools().empty()) return message;
  for (const auto& [index, tool] : stream.tools()) {
    message["tool_calls"].push_back(
        {{"id", tool.id},
         {"type", "function"},
         {"function", {{"name", tool.name}, {"arguments", tool.arguments}}}});
  }
  return message;
}

}  // namespace

std::string_view DefaultPrompt() {
  return "You are the refund desk of a small shop. Today is {{today}}.\n"
         "Look the order up before you decide. Refund what the policies allow, never more.\n"
         "Policies: {{policies}}\n";
}

RefundAgent::RefundAgent(reenact::Recorder* recorder, RefundLedger* ledger, AgentOptions options)
    : recorder_(recorder),
      ledger_(ledger),
      options_(std::move(options)),
      policies_(ShopPolicies()) {}

RefundAnswer RefundAgent::Handle(std::string_view body, std::string_view trace) {
  const reenact::Component prompt =
      reenact::PromptTemplate("refund", options_.prompt_version, options_.prompt_template);
  reenact::Run run = recorder_->StartRun(
      {.entry = "POST /refund",
       .input = std::string(body),
       .trace_id = std::string(trace),
       .components = {prompt,
                      reenact::RetrievalIndex("policies", std::string(kShopPoliciesVersion),
                                              policies_.Describe()),
                      reenact::ToolSchema("lookup_order", "1", std::string(kLookupOrderSchema)),
                      reenact::ToolSchema("issue_refund", "2", std::string(kIssueRefundSchema))}});
  RefundAnswer answer;
  answer.run_id = run.run_id();
  const ordered_json request = ordered_json::parse(body, nullptr, false);
  if (!request.is_object() || !request.contains("message") || !request["message"].is_string()) {
    answer.status = 400;
    answer.body = R"({"error":"the body must be a JSON object with a message"})";
    run.Finish(answer.body);
    return answer;
  }
  try {
    const std::string message = "Order " + request.value("order_id", "unknown") + ": " +
                                request["message"].get<std::string>();
    answer.body = Converse(run, run.ContentOf(prompt), message);
    run.Finish(answer.body);
  } catch (const std::runtime_error& error) {
    answer.status = 502;
    answer.body = ordered_json{{"error", error.what()}}.dump();
    run.Fail(error.what(), answer.body);
  }
  return answer;
}

std::string RefundAgent::Converse(reenact::Run& run, std::string prompt,
                                  const std::string& customer_message) {
  const std::string today = DateOf(run.Now("today"));
  const reenact::Result found = run.Retrieve("policies", customer_message, [&] {
    return policies_.Search(customer_message + " refund amount window", 3);
  });
  if (found.diverged()) throw std::runtime_error(found.error());
  prompt = Replaced(std::move(prompt), "{{today}}", today);
  prompt = Replaced(std::move(prompt), "{{policies}}", found.text());

  ordered_json messages = {{{"role", "system"}, {"content", prompt}},
                           {{"role", "user"}, {"content", customer_message}}};
  ordered_json refunds = ordered_json::array();
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    ordered_json request{
        {"model", "refund-1"},
        {"messages", messages},
        {"tools",
         {ordered_json::parse(kLookupOrderSchema), ordered_json::parse(kIssueRefundSchema)}},
        {"temperature", 0},
        {"stream", true},
        {"stream_options", {{"include_usage", true}}}};
    if (run.WantLogprobs()) {
      request["logprobs"] = true;
      request["top_logprobs"] = 2;
    }
    if (options_.token_ids) request["return_token_ids"] = true;
    ChatStream stream;
    AskModel(run, options_.provider_url, request.dump(), &stream);
    messages.push_back(AssistantMessage(stream));
    if (stream.tools().empty()) {
      return ordered_json{{"answer", stream.content()}, {"refunds", refunds}}.dump();
    }

    // All tools of a turn at once, each in a scope of its own; results go back in the model's
    // order.
    std::vector<std::pair<RequestedTool, std::string>> results;
    for (const auto& [index, tool] : stream.tools()) results.emplace_back(tool, "");
    std::vector<std::thread> threads;
    for (auto& [tool, result] : results) {
      threads.emplace_back([&run, &tool = tool, &result = result, this] {
        reenact::Scope scope = run.Child(tool.id);
        result = RunTool(scope, tool);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& [tool, result] : results) {
      messages.push_back(ToolMessage(tool, result));
      if (tool.name == "issue_refund") {
        refunds.push_back(ordered_json::parse(result, nullptr, false));
      }
    }
  }
  throw std::runtime_error("the model asked for too many turns");
}

std::string RefundAgent::RunTool(reenact::Scope& scope, const RequestedTool& tool) {
  if (options_.jitter_seed != 0) {
    std::minstd_rand stir(options_.jitter_seed +
                          static_cast<uint32_t>(std::hash<std::string>()(tool.id)));
    std::this_thread::sleep_for(std::chrono::microseconds(stir() % 2000));
  }
  if (tool.name == "lookup_order") {
    const reenact::Result order =
        scope.CallTool("lookup_order", tool.arguments, [&] { return LookupOrder(tool.arguments); });
    return order.diverged() ? R"({"error":"not available"})" : order.text();
  }
  if (tool.name == "issue_refund") {
    // The bank needs a key so that a retry pays once; drawn here, so it is the same on replay.
    ordered_json arguments = ordered_json::parse(tool.arguments, nullptr, false);
    if (!arguments.is_object()) return R"({"error":"the arguments are not a JSON object"})";
    arguments["idempotency_key"] = Hex(scope.Random("idempotency_key")());
    const reenact::Result paid = scope.CallTool("issue_refund", arguments.dump(), [&] {
      return ledger_->Issue(arguments.dump(), MintRefundId());
    });
    return paid.diverged() ? R"({"error":"not available"})" : paid.text();
  }
  return R"({"error":"no such tool"})";
}

}  // namespace demo
