#include "tools/reenact/engine/engine_token_text.h"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/reenact/io/text_table.h"

namespace reenact::tools {
namespace {

constexpr size_t kTokenTableWidth = 110;

void WriteTokenLogprob(const local_engine::Engine& engine, const local_engine::TokenLogprob& token,
                       JsonWriter* json) {
  json->IntField("token", token.token);
  json->TextField("text", engine.BytesOf(token.token));
  json->RealField("logprob", static_cast<double>(token.logprob));
  json->TextField("bits", BitsText(token.logprob));
}

std::string Quoted(const std::string& text) {
  return "\"" + Shortened(text, 24) + "\"";
}

std::string Decimal(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(value));
  return text;
}

}  // namespace

std::string BitsText(float value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", std::bit_cast<uint32_t>(value));
  return text;
}

void WriteTokenScore(const local_engine::Engine& engine, const local_engine::TokenScore& score,
                     JsonWriter* json) {
  json->BeginObject();
  WriteTokenLogprob(engine, score.chosen, json);
  if (!score.top.empty()) {
    json->Key("top");
    json->BeginArray();
    for (const local_engine::TokenLogprob& token : score.top) {
      json->BeginObject();
      WriteTokenLogprob(engine, token, json);
      json->EndObject();
    }
    json->EndArray();
  }
  json->EndObject();
}

std::string RenderTokenScores(const local_engine::Engine& engine,
                              const std::vector<local_engine::TokenScore>& scores,
                              const Style& style) {
  Table table({{.title = "#", .right = true},
               {.title = "token", .right = true},
               {.title = "text"},
               {.title = "logprob", .right = true},
               {.title = "bits"},
               {.title = "likely", .shrinks = true}},
              kTokenTableWidth);
  for (size_t i = 0; i < scores.size(); ++i) {
    std::string likely;
    for (const local_engine::TokenLogprob& token : scores[i].top) {
      if (!likely.empty()) likely += "  ";
      likely += Quoted(engine.BytesOf(token.token)) + " " + Decimal(token.logprob);
    }
    const local_engine::TokenLogprob& chosen = scores[i].chosen;
    table.AddRow({std::to_string(i), std::to_string(chosen.token),
                  Quoted(engine.BytesOf(chosen.token)), Decimal(chosen.logprob),
                  BitsText(chosen.logprob), likely});
  }
  return table.Render(style);
}

}  // namespace reenact::tools
