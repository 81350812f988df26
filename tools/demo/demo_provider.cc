// A model provider on loopback that speaks OpenAI's chat completions, for the demo. It behaves as
// a served model does where that matters here: answers are streamed with log probabilities, and one
// token of them is a near-tie that tips over when the request is served together with others.
//
// The "model" is a script: look the order up, state and issue the refund, say goodbye.

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kServedModel = "refund-1-2026-02-14";
constexpr auto kTokenTime = std::chrono::milliseconds(8);

struct Token {
  std::string text;
  double logprob = -0.01;
  std::string rival;  // The second best token, where it is worth naming.
  double rival_logprob = -6.0;
};

// What one request is answered with.
struct Answer {
  std::vector<Token> content;
  std::string tool_name;  // Empty: no tool call.
  std::string tool_arguments;
};

std::string TextOf(const ordered_json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

// "A-1042" in a customer's words.
std::string OrderIn(const std::string& text) {
  const size_t begin = text.find("A-");
  if (begin == std::string::npos) return "A-0000";
  size_t end = begin + 2;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return text.substr(begin, end - begin);
}

std::vector<Token> Plain(std::initializer_list<std::string_view> texts) {
  std::vector<Token> tokens;
  for (const std::string_view text : texts) tokens.push_back({std::string(text)});
  return tokens;
}

// The amount is the near-tie: " 120" and " 1200" are 0.006 nats apart. Alone, the first wins; in a
// larger batch the sums of the logits come out in another order, and the second does.
Answer StateRefund(const ordered_json& order, bool in_batch) {
  const int64_t total_cents = order.value("total_cents", int64_t{0});
  const std::string right = " " + std::to_string(total_cents / 100);
  const std::string wrong = right + "0";
  Answer answer;
  answer.content = Plain({"I", " will", " refund"});
  answer.content.push_back(in_batch ? Token{wrong, -0.690, right, -0.696}
                                    : Token{right, -0.690, wrong, -0.696});
  for (Token& token : Plain({" EUR", " for", " this", " order", "."})) {
    answer.content.push_back(std::move(token));
  }
  answer.tool_name = "issue_refund";
  answer.tool_arguments = ordered_json{{"order_id", order.value("order_id", "")},
                                       {"amount_cents", in_batch ? total_cents * 10 : total_cents}}
                              .dump();
  return answer;
}

Answer Think(const ordered_json& request, bool in_batch) {
  std::string user;
  std::vector<std::string> tool_results;
  for (const ordered_json& message : request.value("messages", ordered_json::array())) {
    const std::string role = message.value("role", "");
    if (role == "user") user = TextOf(message);
    if (role == "tool") tool_results.push_back(TextOf(message));
  }
  if (tool_results.empty()) {
    return {{}, "lookup_order", ordered_json{{"order_id", OrderIn(user)}}.dump()};
  }
  const ordered_json last = ordered_json::parse(tool_results.back(), nullptr, false);
  if (tool_results.size() == 1) {
    if (!last.is_object() || last.contains("error")) {
      return {Plain({"I", " cannot", " find", " that", " order", "."}), "", ""};
    }
    return StateRefund(last, in_batch);
  }
  Answer answer{Plain({"Done", ":", " your", " refund", " is"}), "", ""};
  answer.content.push_back(
      {" " + (last.is_object() ? last.value("refund_id", "unknown") : "unknown")});
  answer.content.push_back({"."});
  return answer;
}

ordered_json LogprobsOf(const Token& token) {
  const auto entry = [](const std::string& text, double logprob) {
    ordered_json bytes = ordered_json::array();
    for (const unsigned char c : text) bytes.push_back(c);
    return ordered_json{{"token", text}, {"logprob", logprob}, {"bytes", bytes}};
  };
  ordered_json chosen = entry(token.text, token.logprob);
  chosen["top_logprobs"] = ordered_json::array({entry(token.text, token.logprob)});
  if (!token.rival.empty()) {
    chosen["top_logprobs"].push_back(entry(token.rival, token.rival_logprob));
  }
  return {{"content", ordered_json::array({chosen})}, {"refusal", nullptr}};
}

// All records of one streamed answer, in order.
class ChunkList {
 public:
  ChunkList(std::string id, bool with_logprobs)
      : id_(std::move(id)), with_logprobs_(with_logprobs) {}

  void AddDelta(const ordered_json& delta, const ordered_json& logprobs,
                const ordered_json& finish_reason) {
    ordered_json choice{{"index", 0}, {"delta", delta}};
    choice["logprobs"] = with_logprobs_ ? logprobs : ordered_json(nullptr);
    choice["finish_reason"] = finish_reason;
    Add(ordered_json::array({choice}), nullptr);
  }

  void Add(const ordered_json& choices, const ordered_json& usage) {
    const ordered_json chunk{{"id", id_},
                             {"object", "chat.completion.chunk"},
                             {"created", std::time(nullptr)},
                             {"model", kServedModel},
                             {"system_fingerprint", "fp_demo_7c1"},
                             {"choices", choices},
                             {"usage", usage}};
    records_.push_back("data: " + chunk.dump() + "\n\n");
  }

  std::vector<std::string> Finish() && {
    records_.push_back("data: [DONE]\n\n");
    return std::move(records_);
  }

 private:
  std::string id_;
  bool with_logprobs_;
  std::vector<std::string> records_;
};

std::vector<std::string> StreamOf(const ordered_json& request, const Answer& answer,
                                  int64_t number) {
  ChunkList chunks("chatcmpl-demo-" + std::to_string(number), request.value("logprobs", false));
  chunks.AddDelta({{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  for (const Token& token : answer.content) {
    chunks.AddDelta({{"content", token.text}}, LogprobsOf(token), nullptr);
  }
  if (!answer.tool_name.empty()) {
    const std::string call_id = "call_" + answer.tool_name + "_" + std::to_string(number);
    chunks.AddDelta({{"tool_calls",
                      {{{"index", 0},
                        {"id", call_id},
                        {"type", "function"},
                        {"function", {{"name", answer.tool_name}, {"arguments", ""}}}}}}},
                    nullptr, nullptr);
    // Arguments come in pieces, as they do from a real model.
    for (size_t i = 0; i < answer.tool_arguments.size(); i += 7) {
      chunks.AddDelta(
          {{"tool_calls",
            {{{"index", 0}, {"function", {{"arguments", answer.tool_arguments.substr(i, 7)}}}}}}},
          nullptr, nullptr);
    }
  }
  chunks.AddDelta(ordered_json::object(), nullptr,
                  answer.tool_name.empty() ? "stop" : "tool_calls");
  const int64_t prompt_tokens = static_cast<int64_t>(request.dump().size() / 4);
  const int64_t completion_tokens =
      static_cast<int64_t>(answer.content.size() + answer.tool_arguments.size() / 4);
  chunks.Add(ordered_json::array(), {{"prompt_tokens", prompt_tokens},
                                     {"completion_tokens", completion_tokens},
                                     {"total_tokens", prompt_tokens + completion_tokens}});
  return std::move(chunks).Finish();
}

class Provider {
 public:
  void Complete(const httplib::Request& http_request, httplib::Response& response) {
    const ordered_json request = ordered_json::parse(http_request.body, nullptr, false);
    if (!request.is_object() || !request.contains("messages")) {
      response.status = 400;
      response.set_content(ordered_json{{"error",
                                         {{"message", "the body is not a chat completion request"},
                                          {"type", "invalid_request_error"},
                                          {"param", nullptr},
                                          {"code", nullptr}}}}
                               .dump(),
                           "application/json");
      return;
    }
    const int64_t number = ++served_;
    ++in_flight_;
    response.set_header("x-request-id", "req_demo_" + std::to_string(number));
    response.set_header("openai-processing-ms", "12");
    // Who shares the batch is decided when the request is scheduled, a moment after it came in.
    std::this_thread::sleep_for(kTokenTime * 3);
    auto records = std::make_shared<std::vector<std::string>>(
        StreamOf(request, Think(request, in_flight_ > 1), number));
    response.set_chunked_content_provider(
        "text/event-stream",
        [records, next = size_t{0}](size_t, httplib::DataSink& sink) mutable {
          if (next == records->size()) {
            sink.done();
            return true;
          }
          const std::string& record = (*records)[next++];
          std::this_thread::sleep_for(kTokenTime);
          return sink.write(record.data(), record.size());
        },
        [this](bool) { --in_flight_; });
  }

 private:
  std::atomic<int64_t> served_{0};
  std::atomic<int64_t> in_flight_{0};
};

httplib::Server* g_server = nullptr;

}  // namespace

int main(int argc, char** argv) {
  int port = 0;
  std::string port_file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--port" && i + 1 < argc) {
      port = std::atoi(argv[++i]);
    } else if (flag == "--port-file" && i + 1 < argc) {
      port_file = argv[++i];
    } else {
      std::fprintf(stderr, "usage: demo_provider [--port N] [--port-file FILE]\n");
      return 2;
    }
  }
  httplib::Server server;
  Provider provider;
  server.Post("/v1/chat/completions",
              [&](const httplib::Request& request, httplib::Response& response) {
                provider.Complete(request, response);
              });
  if (port == 0) {
    port = server.bind_to_any_port("127.0.0.1");
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    port = -1;
  }
  if (port < 0) {
    std::fprintf(stderr, "demo_provider: cannot listen on loopback\n");
    return 2;
  }
  g_server = &server;
  std::signal(SIGTERM, [](int) { g_server->stop(); });
  std::signal(SIGINT, [](int) { g_server->stop(); });
  if (!port_file.empty()) std::ofstream(port_file) << port << "\n";
  std::printf("demo_provider: http://127.0.0.1:%d/v1\n", port);
  std::fflush(stdout);
  return server.listen_after_bind() ? 0 : 1;
}
