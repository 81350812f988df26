#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/reenact/io/time_text.h"
#include "tools/reenact/runs/run_text.h"

namespace reenact::tools {
namespace {

using schema::ExchangeItemKind;

std::string Heading(const Style& style, const std::string& text) {
  return "\n" + style(Ink::kBold, text) + "\n";
}

std::string Indented(std::string_view text) {
  std::string out = "  ";
  for (const char c : PrintableLines(text)) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out + "\n";
}

std::string HeadersText(const schema::Headers& headers) {
  std::string out;
  for (const auto& [name, value] : headers) {
    out += "  " + Printable(name) + ": " + Printable(value) + "\n";
  }
  return out;
}

std::string BodyNote(const schema::Body& body) {
  std::string out = FormatSize(body.bytes.size());
  if (body.redacted) out += ", credentials removed";
  if (body.cut) out += ", cut from " + FormatSize(body.original_size);
  return out;
}

std::string MessagesText(const schema::ModelView& model, const Style& style) {
  std::string out;
  for (size_t i = 0; i < model.messages.size(); ++i) {
    const schema::RequestMessage& message = model.messages[i];
    std::string head = "[" + std::to_string(i) + "] " + Printable(message.role);
    if (!message.tool_call_id.empty()) head += " for " + Printable(message.tool_call_id);
    out += "  " + style(Ink::kBold, head) + "\n";
    if (!message.text.empty()) out += Indented(message.text);
    for (const schema::ToolCall& call : message.tool_calls) {
      out += "  asked for " + Printable(call.name + " " + call.arguments + "  " + call.id) + "\n";
    }
  }
  return out;
}

std::string ChoiceText(const schema::Choice& choice, bool several, const Style& style) {
  std::string out;
  if (several) out += "  " + style(Ink::kBold, "choice " + std::to_string(choice.index)) + "\n";
  if (!choice.reasoning.empty()) out += style(Ink::kDim, Indented(choice.reasoning));
  if (choice.content) out += Indented(*choice.content);
  if (!choice.refusal.empty()) out += Indented("refused: " + choice.refusal);
  for (const schema::ToolCall& call : choice.tool_calls) {
    out += "  asks for " + Printable(call.name + " " + call.arguments + "  " + call.id) + "\n";
  }
  if (!choice.sealed_reasoning.empty()) {
    out += style(Ink::kDim, "  reasoning that only the provider can read: " +
                                std::to_string(choice.sealed_reasoning.size()) + "\n");
  }
  if (!choice.finish_reason.empty()) {
    out += "  finish: " + Printable(choice.finish_reason);
    if (!choice.stopped_at.empty()) out += " at \"" + Printable(choice.stopped_at) + "\"";
    out += "\n";
  }
  return out;
}

std::string TokensText(const schema::LogprobSeries& series) {
  std::string out;
  for (size_t i = 0; i < series.tokens.size(); ++i) {
    const schema::TokenLogprob& token = series.tokens[i];
    char number[48];
    std::snprintf(number, sizeof number, "%.6g", token.chosen.logprob);
    out += PadLeft(std::to_string(i), 6) + "  " +
           PadRight("\"" + Shortened(token.chosen.token, 24) + "\"", 26) + " " +
           PadLeft(token.chosen.censored ? "censored" : number, 12);
    for (size_t k = 0; k < token.top.size() && k < 3; ++k) {
      std::snprintf(number, sizeof number, "%.6g", token.top[k].logprob);
      out += "  \"" + Shortened(token.top[k].token, 16) + "\" " +
             (token.top[k].censored ? "censored" : number);
    }
    out += "\n";
  }
  return out;
}

std::string ExchangeText(const schema::Event& event) {
  std::string out;
  uint64_t at = 0;
  for (const schema::ExchangeItem& item : event.exchange) {
    const std::string when = PadLeft(FormatOffset(item.offset_ns), 12) + "  ";
    if (item.kind == ExchangeItemKind::kHead) {
      out += when + (item.status != 0 ? "status " + std::to_string(item.status) : "head") + "\n";
      for (const auto& [name, value] : item.headers) {
        out += std::string(14, ' ') + Printable(name) + ": " + Printable(value) + "\n";
      }
    } else if (item.kind == ExchangeItemKind::kAttemptEnd) {
      out += when + "attempt failed: " + Printable(item.detail) + "\n";
    } else {
      const uint64_t begin = std::min<uint64_t>(at, event.response.bytes.size());
      const std::string_view read = std::string_view(event.response.bytes).substr(begin, item.size);
      out += when + PadLeft(WithThousands(static_cast<int64_t>(item.size)), 7) + " bytes  " +
             Shortened(read, 64) + "\n";
      at += item.size;
    }
  }
  return out;
}

std::string ModelText(const EventView& event, const Style& style) {
  const schema::ModelView& model = event.model;
  std::string out = "  model        " + Printable(AskedAndServed(model)) + "\n";
  if (!event.event->endpoint.empty()) {
    out += "  endpoint     " + Printable(event.event->endpoint) + "\n";
  }
  if (model.dialect != schema::ModelDialect::kOpenAiChat) {
    out += "  dialect      " + std::string(schema::ToString(model.dialect)) + "\n";
  }
  if (model.fingerprint_presence == schema::Presence::kValue) {
    out += "  fingerprint  " + Printable(model.system_fingerprint) + "\n";
  } else {
    out += "  fingerprint  the provider gave no fingerprint\n";
  }
  if (!model.service_tier.empty()) {
    out += "  tier         " + Printable(model.service_tier) + "\n";
  }
  for (const auto& [name, value] : model.facts) {
    out += "  said         " + Printable(name + " = " + value) + "\n";
  }
  if (!model.response_id.empty()) out += "  answer id    " + Printable(model.response_id) + "\n";
  for (const std::string& anomaly : model.anomalies) {
    out += style(Ink::kYellow, "  oddity       " + Printable(anomaly)) + "\n";
  }
  if (!model.error_kind.empty()) {
    out += style(Ink::kRed,
                 "  error        " + Printable(model.error_kind + ": " + model.error_message)) +
           "\n";
  }
  if (!model.messages.empty()) {
    out += Heading(style, "Request, " + BodyNote(event.event->request));
    out += MessagesText(model, style);
  }
  if (!model.choices.empty()) {
    out += Heading(style, "Answer, " + BodyNote(event.event->response));
    for (const schema::Choice& choice : model.choices) {
      out += ChoiceText(choice, model.choices.size() > 1, style);
    }
  }
  if (!model.prompt_logprobs.tokens.empty()) {
    out += Heading(style, "Tokens of the prompt: its own, logprob (nats), best alternatives");
    out += TokensText(model.prompt_logprobs);
  }
  for (const schema::Choice& choice : model.choices) {
    if (choice.logprobs.tokens.empty()) continue;
    out += Heading(style, "Tokens of choice " + std::to_string(choice.index) +
                              ": chosen, logprob (nats), best alternatives");
    out += TokensText(choice.logprobs);
  }
  return out;
}

}  // namespace

std::string RenderEvent(const RunView& view, const EventView& event, const Style& style) {
  const schema::Event& call = *event.event;
  std::string out = style(Ink::kBold, "Event #" + std::to_string(event.index) + "  " +
                                          Printable(AddressOf(call))) +
                    "\n";
  out += "  run          " + schema::ToString(view.run().id) + "\n";
  out += "  began        " + FormatMillis(call.started.wall_ns) + "   " +
         FormatOffset(Elapsed(view.run().started.monotonic_ns, call.started.monotonic_ns)) + "\n";
  if (!event.is_call()) return out + "  value        " + ReadingText(call) + "\n";
  out += "  took         " + FormatDuration(call.elapsed_ns) + "\n";
  out +=
      "  ended        " + Printable(schema::DescribeEnd(event.end_state, event.end_detail)) + "\n";
  if (!call.provider.empty()) out += "  provider     " + Printable(call.provider) + "\n";
  if (!event.is_model() && !call.endpoint.empty()) {
    out += "  endpoint     " + Printable(call.endpoint) + "\n";
  }
  for (const auto& [name, value] : call.meta) {
    out += "  fact         " + Printable(name + " = " + value) + "\n";
  }
  if (event.is_model()) out += ModelText(event, style);
  if (!call.request_headers.empty()) {
    out += Heading(style, "Request headers") + HeadersText(call.request_headers);
  }
  if (!event.is_model() || event.model.messages.empty()) {
    out += Heading(style, "Request, " + BodyNote(call.request)) + Indented(call.request.bytes);
  }
  if (!event.is_model() || event.model.choices.empty()) {
    out += Heading(style, "Answer, " + BodyNote(call.response)) + Indented(call.response.bytes);
  }
  if (!call.exchange.empty()) {
    out += Heading(style, "As it arrived, from the beginning of the call") + ExchangeText(call);
  }
  return out;
}

}  // namespace reenact::tools
