#include "tests/schema/chat_call.h"

#include <optional>
#include <sstream>

namespace reenact::schema {
namespace {

template <typename T>
std::string Show(const std::optional<T>& value) {
  if (!value) return "-";
  std::ostringstream out;
  out << "'" << *value << "'";
  return out.str();
}

void Show(const TokenAlternative& token, std::ostream& out) {
  out << "'" << token.token << "' " << Show(token.bytes) << " " << Show(token.id) << " "
      << token.logprob << (token.censored ? " censored" : "") << "\n";
}

void Show(const LogprobSeries& series, std::ostream& out) {
  for (const TokenLogprob& token : series.tokens) {
    out << "token ";
    Show(token.chosen, out);
    for (const TokenAlternative& alternative : token.top) {
      out << "  top ";
      Show(alternative, out);
    }
  }
  for (const std::string& anomaly : series.anomalies) out << "series anomaly " << anomaly << "\n";
}

void Show(const std::vector<ToolCall>& calls, std::ostream& out) {
  for (const ToolCall& call : calls) {
    out << "tool " << Show(call.index) << " " << call.id << " " << call.type << " " << call.name
        << " " << call.arguments << "\n";
  }
}

}  // namespace

std::string Describe(const ModelView& view) {
  std::ostringstream out;
  out << static_cast<int>(view.dialect) << " asked " << view.asked_model << " served "
      << view.served_model << " id " << view.response_id << " fingerprint "
      << static_cast<int>(view.fingerprint_presence) << " " << view.system_fingerprint << " tier "
      << view.service_tier << " status " << view.http_status << "\n";
  for (const RequestMessage& message : view.messages) {
    out << "message " << message.role << " " << message.text << " " << message.tool_call_id << "\n";
    Show(message.tool_calls, out);
  }
  for (const Choice& choice : view.choices) {
    for (const std::string& sealed : choice.sealed_reasoning) out << "sealed " << sealed << "\n";
    for (const int64_t id : choice.token_ids) out << "id " << id << "\n";
    out << "stopped at " << choice.stopped_at << "\nchoice " << choice.index << " content "
        << Show(choice.content) << " reasoning " << choice.reasoning << " refusal "
        << choice.refusal << " finish " << choice.finish_reason << "\n";
    Show(choice.tool_calls, out);
    Show(choice.logprobs, out);
    Show(choice.refusal_logprobs, out);
  }
  const Usage& usage = view.usage;
  out << "usage " << Show(usage.prompt_tokens) << Show(usage.completion_tokens)
      << Show(usage.total_tokens) << Show(usage.cached_tokens) << Show(usage.cache_write_tokens)
      << Show(usage.reasoning_tokens) << "\nerror " << view.error_kind << " " << view.error_message
      << "\nend " << view.end_marker << " " << DescribeEnd(view.end_state, view.end_detail) << "\n";
  for (const int64_t id : view.prompt_token_ids) out << "prompt id " << id << "\n";
  Show(view.prompt_logprobs, out);
  for (const auto& [name, value] : view.facts) out << "fact " << name << " " << value << "\n";
  for (const std::string& anomaly : view.anomalies) out << "anomaly " << anomaly << "\n";
  return out.str();
}

}  // namespace reenact::schema
