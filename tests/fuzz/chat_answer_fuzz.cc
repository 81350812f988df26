// Whatever a provider sends, a view is made of it, and how the bytes were cut into reads does not
// change it. The first byte chooses where the body is cut, the second what was asked.

#include "schema/model_view.h"
#include "schema/sse.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schema/chat_call.h"

namespace reenact::fuzz::chat_answer {

using namespace reenact::schema;

namespace {

// Records stand in the stream one after the other, and inside it.
void CheckEventStream(std::string_view body) {
  const SseStream stream = ParseSse(body);
  size_t last = 0;
  for (const SseEvent& event : stream.events) {
    if (event.begin_offset < last || event.end_offset < event.begin_offset ||
        event.end_offset > body.size()) {
      Broken("a record that is not in its place");
    }
    last = event.end_offset;
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const size_t cut = static_cast<uint8_t>(bytes[0]) % bytes.size();
  const auto asked = static_cast<uint8_t>(bytes[1]);
  ChatCall call;
  if ((asked & 1) != 0) call.request = R"({"model":"m","logprobs":true,"n":2,"messages":[]})";
  if ((asked & 2) != 0) call.status = 500;
  if ((asked & 4) != 0) call.headers = {{"content-type", "application/json"}};
  const std::string body(bytes.substr(2));
  CheckEventStream(body);
  const ModelView view = ViewModelCall(MakeEvent(body, call));
  if (Describe(ViewModelCall(MakeEvent(body, call, cut))) != Describe(view)) {
    Broken("a cut changes the view");
  }
  int64_t unknown = 0;
  for (const Choice& choice : view.choices) {
    FindNearTies(choice.logprobs, kNearTieNats, &unknown);
  }
  if (!view.choices.empty()) Reached();
  // The same bytes as a request.
  call.request = body;
  ViewModelCall(MakeEvent("{}", call));
}

std::vector<std::string> Seeds() {
  const std::string tool =
      R"("tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\""}}])";
  const std::string logprobs =
      R"("logprobs":{"content":[{"token":"H","logprob":-0.1,"bytes":[72],"top_logprobs":[{"token":"H","logprob":-0.1},{"token":"J","logprob":-0.11}]}],"refusal":null})";
  return {
      std::string("\x07\0", 2) + TextChunk("Hi") + Chunk(tool) + FinishChunk() +
          "data: "
          "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":"
          "12}}\n\n" +
          kDone,
      "\x20\x01" + TextChunk("H", logprobs) + ": comment\r\nevent: x\ndata: {\ndata: }\n\n" +
          FinishChunk("length") + kDone,
      std::string("\x09\x04") +
          R"({"id":"c1","object":"chat.completion","model":"g","system_fingerprint":"fp","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"refusal":"no",)" +
          tool + "}," + logprobs +
          R"(}],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}})",
      std::string("\x09\x06") +
          R"({"error":{"message":"slow down","type":"rate_limit","code":"rate_limit_exceeded"}})",
      std::string("\x02\x01") +
          R"({"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]},{"role":"tool","tool_call_id":"a","content":"r"}]})"};
}

std::vector<std::string> Tokens() {
  return {"data: ",
          "data:",
          "\n\n",
          "\r\n\r\n",
          "\r",
          "[DONE]",
          "event: error\n",
          "\"choices\":[",
          "\"delta\":{",
          "\"index\":",
          "\"logprobs\":",
          "\"content\":",
          "null",
          "\\ud83d",
          "\\ude00",
          "\"finish_reason\":\"stop\"",
          "\"refusal\":\"",
          "\"arguments\":\"",
          "\"top_logprobs\":[",
          "\"logprob\":-9999.0",
          "\xef\xbb\xbf",
          "\xf0\x9f"};
}

const bool added = AddTarget({"chat_answer", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::chat_answer
