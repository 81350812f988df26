#include "tools/engine_server/token_logprobs.h"

#include <cstdint>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

namespace reenact::engine_server {
namespace {

using nlohmann::ordered_json;

bool IsValidUtf8(const std::string& bytes) {
  const ordered_json text(bytes);
  // A byte that is no UTF-8 is replaced by the one, and dropped by the other.
  return text.dump(-1, ' ', false, ordered_json::error_handler_t::replace) ==
         text.dump(-1, ' ', false, ordered_json::error_handler_t::ignore);
}

// A token that is part of a character has no text: its bytes are named.
std::string TokenText(const std::string& bytes) {
  if (IsValidUtf8(bytes)) return bytes;
  std::string text;
  for (const unsigned char byte : bytes) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    text += escaped;
  }
  return text;
}

ordered_json Entry(const local_engine::Engine& engine, const local_engine::TokenLogprob& token) {
  const std::string text = engine.BytesOf(token.token);
  ordered_json bytes = ordered_json::array();
  for (const unsigned char byte : text) bytes.push_back(byte);
  return {{"token", TokenText(text)},
          {"logprob", static_cast<double>(token.logprob)},
          {"bytes", std::move(bytes)}};
}

}  // namespace

ordered_json EmptyCompletionLogprobs() {
  return {{"tokens", ordered_json::array()},
          {"token_logprobs", ordered_json::array()},
          {"top_logprobs", ordered_json::array()},
          {"text_offset", ordered_json::array()}};
}

int64_t CharacterCount(const std::string& text) {
  int64_t count = 0;
  for (const unsigned char byte : text) count += (byte & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

ordered_json ChatLogprob(const local_engine::Engine& engine,
                         const local_engine::TokenScore& score) {
  ordered_json entry = Entry(engine, score.chosen);
  ordered_json top = ordered_json::array();
  for (const local_engine::TokenLogprob& token : score.top) top.push_back(Entry(engine, token));
  entry["top_logprobs"] = std::move(top);
  return entry;
}

void AddCompletionLogprob(const local_engine::Engine& engine, const local_engine::TokenScore& score,
                          int64_t* offset, ordered_json* logprobs) {
  const auto name = [&engine](const local_engine::TokenLogprob& token) {
    const std::string bytes = engine.BytesOf(token.token);
    return IsValidUtf8(bytes) ? bytes : "bytes:" + TokenText(bytes);
  };
  const std::string text = name(score.chosen);
  (*logprobs)["tokens"].push_back(text);
  (*logprobs)["token_logprobs"].push_back(static_cast<double>(score.chosen.logprob));
  ordered_json top = ordered_json::object();
  for (const local_engine::TokenLogprob& token : score.top) {
    top.emplace(name(token), static_cast<double>(token.logprob));
  }
  top.emplace(text, static_cast<double>(score.chosen.logprob));
  (*logprobs)["top_logprobs"].push_back(std::move(top));
  (*logprobs)["text_offset"].push_back(*offset);
  *offset += CharacterCount(text);
}

}  // namespace reenact::engine_server
