#include "tests/schema/dialect_samples.h"

#include <cstdlib>

namespace reenact::schema {
namespace {

const Headers kJsonHeaders = {{"content-type", "application/json"}};
const Headers kEvents = {{"content-type", "text/event-stream"}};
const Headers kLines = {{"content-type", "application/x-ndjson"}};

DialectSample Completion() {
  return {
      "completion",
      ModelDialect::kOpenAiCompletions,
      {.request = R"({"model":"gpt-3.5-turbo-instruct","prompt":"Once","logprobs":2})",
       .headers = kJsonHeaders,
       .endpoint = "https://api.openai.com/v1/completions"},
      R"({"id":"cmpl-1","object":"text_completion","created":1764400000,"model":"gpt-3.5-turbo-instruct",
          "system_fingerprint":"fp_44","choices":[{"index":0,"text":" upon a","finish_reason":"length",
          "logprobs":{"tokens":[" upon"," a"],"token_logprobs":[-0.25,-0.5],
          "top_logprobs":[{" upon":-0.25," more":-1.5},{" a":-0.5}],"text_offset":[4,9]}}],
          "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}})"};
}

std::string CompletionChunk(std::string_view text, std::string_view rest) {
  return R"(data: {"id":"cmpl-2","object":"text_completion","created":1,"model":"base","choices":[{"index":0,"text":")" +
         std::string(text) + R"(",)" + std::string(rest) + "}]}\n\n";
}

DialectSample CompletionStream() {
  return {
      "completion_stream",
      ModelDialect::kOpenAiCompletions,
      {.request = R"({"model":"base","prompt":["Once"],"stream":true,"return_token_ids":true})",
       .headers = kEvents,
       .provider = "vllm",
       .endpoint = "http://127.0.0.1:8000/v1/completions"},
      CompletionChunk(" upon",
                      R"("prompt_token_ids":[7454],"token_ids":[2402],"finish_reason":null)") +
          CompletionChunk(" a", R"("token_ids":[257],"finish_reason":"stop","stop_reason":"\n")") +
          "data: [DONE]\n\n"};
}

DialectSample Embeddings() {
  return {"embeddings",
          ModelDialect::kOpenAiEmbeddings,
          {.request = R"({"model":"text-embedding-3-small","input":["refund","policy"]})",
           .headers = kJsonHeaders,
           .endpoint = "https://api.openai.com/v1/embeddings"},
          R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-0.2,0.3]},
          {"object":"embedding","index":1,"embedding":[0.0,0.5,0.25]}],
          "model":"text-embedding-3-small","usage":{"prompt_tokens":4,"total_tokens":4}})"};
}

ChatCall ResponsesCall(bool stream) {
  std::string request =
      R"({"model":"gpt-6-astra","instructions":"Be brief.","input":[{"role":"user","content":"Weather?"},
      {"type":"function_call","id":"fc_0","call_id":"call_0","name":"place","arguments":"{}"},
      {"type":"function_call_output","call_id":"call_0","output":"Oslo"}],
      "include":["message.output_text.logprobs"],"stream":)";
  request += stream ? "true}" : "false}";
  return {.request = request,
          .headers = stream ? kEvents : kJsonHeaders,
          .endpoint = "https://api.openai.com/v1/responses"};
}

constexpr std::string_view kFinalResponse =
    R"({"id":"resp_1","object":"response","created_at":1764400000,"status":"completed","error":null,
    "incomplete_details":null,"model":"gpt-6-astra-2026-09-01","service_tier":"default","output":[
    {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Look it up."}],
     "encrypted_content":"gAAAx"},
    {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[
     {"type":"output_text","text":"Hé","annotations":[],"logprobs":[
      {"token":"H","logprob":-0.01,"bytes":[72],"top_logprobs":[{"token":"H","logprob":-0.01,"bytes":[72]}]},
      {"token":"é","logprob":-0.2,"bytes":[195,169],"top_logprobs":[]}]}]},
    {"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}],
    "usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":8,"cache_write_tokens":2},
     "output_tokens":12,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":42}})";

// White space out of the way: an event's data is one line.
std::string OneLine(std::string_view json) {
  std::string line;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '\n') {
      line += json[i];
      continue;
    }
    while (i + 1 < json.size() && json[i + 1] == ' ') ++i;
  }
  return line;
}

DialectSample Response() {
  return {"response", ModelDialect::kOpenAiResponses, ResponsesCall(false),
          std::string(kFinalResponse)};
}

std::string Numbered(int number, std::string_view type, std::string_view members) {
  return TypedEvent(type,
                    R"("sequence_number":)" + std::to_string(number) + "," + std::string(members));
}

DialectSample ResponseStream() {
  const std::string begun =
      R"("response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-6-astra-2026-09-01","output":[]})";
  return {
      "response_stream", ModelDialect::kOpenAiResponses, ResponsesCall(true),
      Numbered(0, "response.created", begun) + Numbered(1, "response.in_progress", begun) +
          Numbered(2, "response.output_item.added",
                   R"("output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]})") +
          Numbered(
              3, "response.reasoning_summary_part.added",
              R"("item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""})") +
          Numbered(
              4, "response.reasoning_summary_text.delta",
              R"("item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Look it","obfuscation":"x")") +
          Numbered(5, "response.reasoning_summary_text.done",
                   R"("item_id":"rs_1","output_index":0,"summary_index":0,"text":"Look it up.")") +
          Numbered(
              6, "response.output_item.added",
              R"("output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]})") +
          Numbered(
              7, "response.content_part.added",
              R"("output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]})") +
          Numbered(
              8, "response.output_text.delta",
              R"("output_index":1,"content_index":0,"delta":"H","logprobs":[{"token":"H","logprob":-0.01,"top_logprobs":[]}],"obfuscation":"x8f")") +
          Numbered(9, "keepalive", R"("note":"")") +
          Numbered(
              10, "response.output_text.delta",
              R"("output_index":1,"content_index":0,"delta":"é","logprobs":[{"token":"é","logprob":-0.2,"top_logprobs":[]}])") +
          Numbered(11, "response.output_text.done",
                   R"("output_index":1,"content_index":0,"text":"Hé","logprobs":[])") +
          Numbered(
              12, "response.output_item.added",
              R"("output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":""})") +
          Numbered(13, "response.function_call_arguments.delta",
                   R"("output_index":2,"delta":"{\"city\":")") +
          Numbered(14, "response.function_call_arguments.done",
                   R"("output_index":2,"arguments":"{\"city\":\"Oslo\"}")") +
          Numbered(15, "response.completed", "\"response\":" + OneLine(kFinalResponse))};
}

ChatCall MessagesCall(bool stream) {
  std::string request =
      R"({"model":"claude-opus-5","max_tokens":1024,"system":[{"type":"text","text":"Be brief."}],
      "messages":[{"role":"user","content":"Weather?"},
       {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"EqQB"},
        {"type":"tool_use","id":"toolu_0","name":"place","input":{"who":"me"}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":"Oslo"},
        {"type":"text","text":"Well?"}]}],"stream":)";
  request += stream ? "true}" : "false}";
  return {.request = request,
          .headers = stream ? kEvents : kJsonHeaders,
          .provider = "anthropic",
          .endpoint = "https://api.anthropic.com/v1/messages"};
}

DialectSample AnthropicMessage() {
  return {"message", ModelDialect::kAnthropicMessages, MessagesCall(false),
          R"({"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5","content":[
          {"type":"thinking","thinking":"Look it up.","signature":"ErUB"},
          {"type":"redacted_thinking","data":"EmwK"},
          {"type":"text","text":"Let me see."},
          {"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Oslo"}}],
          "stop_reason":"tool_use","stop_sequence":null,
          "usage":{"input_tokens":25,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,
           "output_tokens":15,"output_tokens_details":{"thinking_tokens":6},"service_tier":"standard"}})"};
}

std::string BlockDelta(int index, std::string_view delta) {
  return TypedEvent("content_block_delta", R"("index":)" + std::to_string(index) + R"(,"delta":{)" +
                                               std::string(delta) + "}");
}

std::string BlockStart(int index, std::string_view block) {
  return TypedEvent("content_block_start", R"("index":)" + std::to_string(index) +
                                               R"(,"content_block":{)" + std::string(block) + "}");
}

std::string BlockStop(int index) {
  return TypedEvent("content_block_stop", R"("index":)" + std::to_string(index));
}

DialectSample MessageStream() {
  return {
      "message_stream", ModelDialect::kAnthropicMessages, MessagesCall(true),
      TypedEvent(
          "message_start",
          R"("message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1,"service_tier":"standard"}})") +
          BlockStart(0, R"("type":"thinking","thinking":"","signature":"")") +
          TypedEvent("ping", R"("x":0)") +
          BlockDelta(0, R"("type":"thinking_delta","thinking":"Look ")") +
          BlockDelta(0, R"("type":"thinking_delta","thinking":"it up.")") +
          BlockDelta(0, R"("type":"signature_delta","signature":"ErUB")") + BlockStop(0) +
          BlockStart(1, R"("type":"redacted_thinking","data":"EmwK")") + BlockStop(1) +
          BlockStart(2, R"("type":"text","text":"")") +
          BlockDelta(2, R"("type":"text_delta","text":"Let me")") +
          BlockDelta(2, R"("type":"text_delta","text":" see.")") + BlockStop(2) +
          BlockStart(3, R"("type":"tool_use","id":"toolu_1","name":"weather","input":{})") +
          BlockDelta(3, R"("type":"input_json_delta","partial_json":"")") +
          BlockDelta(3, R"("type":"input_json_delta","partial_json":"{\"city\":")") +
          BlockDelta(3, R"("type":"input_json_delta","partial_json":"\"Oslo\"}")") + BlockStop(3) +
          TypedEvent(
              "message_delta",
              R"("delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":null,"output_tokens":15,"output_tokens_details":{"thinking_tokens":6}})") +
          "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"};
}

ChatCall GeminiCall(std::string_view action, const Headers& headers) {
  return {.request =
              R"({"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[
              {"role":"user","parts":[{"text":"Weather?"}]},
              {"role":"model","parts":[{"functionCall":{"name":"place","args":{}}}]},
              {"role":"user","parts":[{"functionResponse":{"name":"place","response":{"result":"Oslo"}}}]}],
              "generationConfig":{"responseLogprobs":true,"logprobs":2}})",
          .headers = headers,
          .provider = "gemini",
          .endpoint = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:" +
                      std::string(action)};
}

constexpr std::string_view kFirstPiece =
    R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Look it up.","thought":true},{"text":"It","thoughtSignature":"CiQB"}]},"logprobsResult":{"chosenCandidates":[{"token":"It","tokenId":7,"logProbability":-0.125}],"topCandidates":[{"candidates":[{"token":"It","tokenId":7,"logProbability":-0.125},{"token":"We","tokenId":9,"logProbability":-2.5}]}]}}],"usageMetadata":{"promptTokenCount":30,"totalTokenCount":30},"modelVersion":"gemini-2.5-flash-001","responseId":"r-1"})";
constexpr std::string_view kSecondPiece =
    R"({"candidates":[{"content":{"role":"model","parts":[{"text":" rains."},{"functionCall":{"id":"f1","name":"alarm","args":{"at":7}}}]},"finishReason":"STOP","logprobsResult":{"chosenCandidates":[{"token":" rains.","tokenId":8,"logProbability":-0.5}],"topCandidates":[{"candidates":[]}]}}],"usageMetadata":{"promptTokenCount":30,"cachedContentTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":5,"totalTokenCount":37},"modelVersion":"gemini-2.5-flash-001","responseId":"r-1"})";

DialectSample Gemini() {
  return {
      "gemini", ModelDialect::kGemini, GeminiCall("generateContent", kJsonHeaders),
      R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Look it up.","thought":true},
      {"text":"It","thoughtSignature":"CiQB"},{"text":" rains."},
      {"functionCall":{"id":"f1","name":"alarm","args":{"at":7}}}]},"finishReason":"STOP",
      "logprobsResult":{"chosenCandidates":[{"token":"It","tokenId":7,"logProbability":-0.125},
       {"token":" rains.","tokenId":8,"logProbability":-0.5}],
       "topCandidates":[{"candidates":[{"token":"It","tokenId":7,"logProbability":-0.125},
        {"token":"We","tokenId":9,"logProbability":-2.5}]},{"candidates":[]}]}}],
      "usageMetadata":{"promptTokenCount":30,"cachedContentTokenCount":4,"candidatesTokenCount":2,
       "thoughtsTokenCount":5,"totalTokenCount":37},
      "modelVersion":"gemini-2.5-flash-001","responseId":"r-1"})"};
}

DialectSample GeminiEvents() {
  return {"gemini_events", ModelDialect::kGemini,
          GeminiCall("streamGenerateContent?alt=sse", kEvents),
          "data: " + std::string(kFirstPiece) + "\r\n\r\ndata: " + std::string(kSecondPiece) +
              "\r\n\r\n"};
}

DialectSample GeminiList() {
  return {"gemini_list", ModelDialect::kGemini, GeminiCall("streamGenerateContent", kJsonHeaders),
          "[" + std::string(kFirstPiece) + "\n,\r\n" + std::string(kSecondPiece) + "\n]"};
}

ChatCall OllamaCall(bool stream) {
  std::string request =
      R"({"model":"llama3.2:latest","messages":[{"role":"user","content":"Weather?"},
      {"role":"assistant","content":"","tool_calls":[{"function":{"name":"place","arguments":{}}}]},
      {"role":"tool","tool_name":"place","content":"Oslo"}],"options":{"seed":1})";
  request += stream ? "}" : R"(,"stream":false})";
  return {.request = request,
          .headers = stream ? kLines : kJsonHeaders,
          .provider = "ollama",
          .endpoint = "http://localhost:11434/api/chat"};
}

DialectSample Ollama() {
  return {
      "ollama", ModelDialect::kOllama, OllamaCall(false),
      R"({"model":"llama3.2:latest","created_at":"2026-11-29T10:00:00Z","message":{"role":"assistant","content":"It rains.","thinking":"Look it up.","tool_calls":[{"function":{"name":"alarm","arguments":{"at":7}}}]},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":30,"eval_count":7})"};
}

DialectSample OllamaStream() {
  return {
      "ollama_stream", ModelDialect::kOllama, OllamaCall(true),
      R"({"model":"llama3.2:latest","created_at":"2026-11-29T10:00:00Z","message":{"role":"assistant","content":"","thinking":"Look it up."},"done":false})"
      "\n"
      R"({"model":"llama3.2:latest","created_at":"2026-11-29T10:00:01Z","message":{"role":"assistant","content":"It "},"done":false})"
      "\n"
      R"({"model":"llama3.2:latest","message":{"role":"assistant","content":"rains.","tool_calls":[{"function":{"name":"alarm","arguments":{"at":7}}}]},"done":false})"
      "\n"
      R"({"model":"llama3.2:latest","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":30,"eval_count":7})"
      "\n"};
}

DialectSample OllamaGenerate() {
  return {
      "ollama_generate",
      ModelDialect::kOllama,
      {.request = R"({"model":"llama3.2","prompt":"Once","logprobs":true})",
       .headers = kLines,
       .provider = "ollama",
       .endpoint = "http://localhost:11434/api/generate"},
      R"({"model":"llama3.2","response":" upon","logprobs":[{"token":" upon","logprob":-0.5,"bytes":[32,117,112,111,110]}],"done":false})"
      "\n"
      R"({"model":"llama3.2","response":"","done":true,"done_reason":"length","context":[1,2],"prompt_eval_count":1,"eval_count":1})"
      "\n"};
}

DialectSample Chat() {
  return {"chat_stream",
          ModelDialect::kOpenAiChat,
          {},
          TextChunk("Hel") + TextChunk("lo") + FinishChunk() + kDone};
}

// Begins with what the filter says of the prompt, by a frame without a choice, an id or a model.
DialectSample AzureStream() {
  return {
      "azure_stream",
      ModelDialect::kOpenAiChat,
      {.provider = "azure",
       .endpoint = "https://mine.openai.azure.com/openai/deployments/refunds/chat/completions"
                   "?api-version=2025-04-01-preview"},
      R"(data: {"id":"","object":"","created":0,"model":"","choices":[],)"
      R"("prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]})"
      "\n\n" +
          TextChunk("Hel", R"("content_filter_results":{"hate":{"filtered":false}})") +
          TextChunk("lo") + FinishChunk() + kDone};
}

// An answer in one piece of a server that speaks OpenAI's dialect, with members of its own in the
// message and beside it.
DialectSample OwnServer(const std::string& name, const std::string& request,
                        const std::string& message, const std::string& choice,
                        const std::string& beside) {
  return {name,
          ModelDialect::kOpenAiChat,
          {.request =
               R"({"model":"qwen3","messages":[{"role":"user","content":"hi"}],)" + request + "}",
           .headers = kJsonHeaders,
           .provider = name,
           .endpoint = "http://localhost:8000/v1/chat/completions"},
          R"({"id":"chatcmpl-7","object":"chat.completion","created":1764400000,"model":"qwen3",)"
          R"("choices":[{"index":0,"message":{"role":"assistant","content":"Hello",)" +
              message + R"(},"finish_reason":"stop",)" + choice +
              R"(}],)"
              R"("usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13},)" +
              beside + "}"};
}

DialectSample Vllm() {
  return OwnServer("vllm", R"("return_token_ids":true,"top_k":20)",
                   R"("reasoning":"They greet.","tool_calls":[])",
                   R"("logprobs":null,"stop_reason":null,"token_ids":[9707,11,2,3])",
                   R"("prompt_logprobs":null,"prompt_token_ids":[1,2],"kv_transfer_params":null)");
}

DialectSample Sglang() {
  return OwnServer("sglang", R"("separate_reasoning":true)",
                   R"("reasoning_content":"They greet.","tool_calls":null)",
                   R"("logprobs":null,"matched_stop":151645)",
                   R"("metadata":{"weight_version":"default"})");
}

DialectSample LlamaCpp() {
  return OwnServer(
      "llama.cpp", R"("cache_prompt":true,"timings_per_token":true)",
      R"("reasoning_content":"They greet.")", R"("logprobs":null)",
      R"("system_fingerprint":"b6000-1a2b3c4d","timings":{"prompt_n":9,"predicted_n":4})");
}

}  // namespace

const std::vector<DialectSample>& DialectSamples() {
  static const auto* const kSamples = new std::vector<DialectSample>{
      Chat(),           Completion(),       CompletionStream(), Embeddings(),     Response(),
      ResponseStream(), AnthropicMessage(), MessageStream(),    Gemini(),         GeminiEvents(),
      GeminiList(),     Ollama(),           OllamaStream(),     OllamaGenerate(), AzureStream(),
      Vllm(),           Sglang(),           LlamaCpp()};
  return *kSamples;
}

const DialectSample& SampleNamed(std::string_view name) {
  for (const DialectSample& sample : DialectSamples()) {
    if (sample.name == name) return sample;
  }
  std::abort();
}

std::string TypedEvent(std::string_view type, std::string_view members) {
  return "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) + "\"," +
         std::string(members) + "}\n\n";
}

ModelView View(const DialectSample& sample) {
  return View(sample.body, sample.call);
}

ModelView ViewWith(const DialectSample& sample, std::string body, int32_t status) {
  ChatCall call = sample.call;
  call.status = status;
  return View(std::move(body), call);
}

}  // namespace reenact::schema
