#include "tools/reenact/causes/known_answers.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/status/status.h"

#include "schema/json_view.h"
#include "schema/sha256.h"
#include "tools/reenact/io/write_file.h"

namespace reenact::tools {
namespace {

using explain::ScheduledAnswer;

// Enough digits for the same double; what has no runner-up is infinitely far from it.
std::string MarginDigits(double margin) {
  if (std::isinf(margin)) return margin > 0 ? "1e999" : "-1e999";
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", margin);
  return digits;
}

std::string LineOf(const std::string& of, const std::string& schedule,
                   const ScheduledAnswer& answer) {
  std::string line = "{\"of\":\"" + of + "\",\"schedule\":\"" + schedule + "\",\"tokens\":[";
  for (size_t i = 0; i < answer.tokens.size(); ++i) {
    line += (i == 0 ? "" : ",") + std::to_string(answer.tokens[i]);
  }
  line += "],\"margins\":[";
  for (size_t i = 0; i < answer.margins.size(); ++i) {
    line += (i == 0 ? "" : ",") + MarginDigits(answer.margins[i]);
  }
  // Hexadecimal: an answer may end within a character.
  return line + "],\"text\":\"" + schema::ToHex(answer.text) + "\"}\n";
}

std::optional<std::string> BytesOfHex(std::string_view hex) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c - 'a' + 10; };
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || high > 15 || low < 0 || low > 15) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

bool KnownAnswers::Read(std::string_view line, std::string_view of) {
  const auto document = schema::JsonDocument::Parse(line);
  if (!document) return true;  // Cut off.
  const schema::JsonValue root = document->root();
  if (root["of"].AsString() != of) return false;
  ScheduledAnswer answer;
  answer.is_known = true;
  const schema::JsonValue tokens = root["tokens"];
  for (size_t i = 0; i < tokens.size(); ++i) {
    answer.tokens.push_back(static_cast<int32_t>(tokens[i].AsInt64().value_or(-1)));
  }
  const schema::JsonValue margins = root["margins"];
  for (size_t i = 0; i < margins.size(); ++i) {
    answer.margins.push_back(margins[i].AsDouble().value_or(INFINITY));
  }
  std::optional<std::string> text = BytesOfHex(root["text"].AsString());
  if (!text) return true;
  answer.text = *std::move(text);
  answers_[root["schedule"].AsString()] = std::move(answer);
  return true;
}

absl::StatusOr<KnownAnswers> KnownAnswers::Open(const std::string& path, const std::string& of) {
  KnownAnswers known;
  known.path_ = path;
  known.of_ = of;
  if (path.empty()) return known;
  const absl::StatusOr<std::string> file = ReadFile(path);
  if (absl::IsNotFound(file.status())) return known;
  if (!file.ok()) return file.status();
  for (std::string_view rest = *file; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    if (end > 0 && !known.Read(rest.substr(0, end), of)) {
      return absl::InvalidArgumentError(path +
                                        " holds answers to another call, or of another engine");
    }
    rest.remove_prefix(end + 1);
  }
  return known;
}

absl::StatusOr<ScheduledAnswer> KnownAnswers::Answer(
    const local_engine::StockSchedule& schedule,
    const std::function<absl::StatusOr<ScheduledAnswer>()>& compute) {
  const std::string key = local_engine::StockScheduleToJson(schedule);
  const auto found = answers_.find(key);
  if (found != answers_.end()) return found->second;
  absl::StatusOr<ScheduledAnswer> answer = compute();
  if (!answer.ok() || path_.empty()) return answer;
  std::ofstream file(path_, std::ios::app);
  // Should what was written last have been cut off, this one begins a line of its own.
  if (!std::exchange(has_written_, true)) file << "\n";
  file << LineOf(of_, key, *answer);
  if (!file.flush()) return absl::ResourceExhaustedError("cannot write " + path_);
  return answer;
}

}  // namespace reenact::tools
