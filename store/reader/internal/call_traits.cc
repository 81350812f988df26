#include "store/reader/internal/call_traits.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"

#include "schema/request_settings.h"

namespace reenact::store::internal {
namespace {

// Providers cache prompts from here on.
constexpr int64_t kCachedPromptTokens = 1024;
constexpr size_t kCachedPromptBytes = 4096;  // Where nobody counted the tokens.
constexpr size_t kPromptHeadBytes = 1024;

// Servers, by the name that their settings have there.
constexpr std::string_view kBatchSettings[] = {
    "max_num_seqs",   "max-num-seqs",         "max_batch_size",
    "max-batch-size", "max_running_requests", "max-running-requests",
    "num_parallel",   "--parallel",           "--max-requests"};

std::string PromptHead(const schema::Event& event, const schema::ModelView& view) {
  const bool is_long = view.usage.prompt_tokens ? *view.usage.prompt_tokens >= kCachedPromptTokens
                                                : event.request.bytes.size() >= kCachedPromptBytes;
  std::string head;
  if (!is_long) return head;
  for (const schema::RequestMessage& message : view.messages) {
    head += message.text;
    if (head.size() >= kPromptHeadBytes) break;
  }
  head.resize(std::min(head.size(), kPromptHeadBytes));
  return head;
}

bool IsWordByte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '-' || byte == ':' ||
         byte == '.';
}

// Words that hold a digit (times, ids, counters) all look alike.
std::string WithoutNumbers(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    bool has_digit = false;
    while (end < text.size() && IsWordByte(text[end])) {
      has_digit = has_digit || std::isdigit(static_cast<unsigned char>(text[end])) != 0;
      ++end;
    }
    if (end == i) end = i + 1;
    if (has_digit)
      out += '#';
    else
      out += text.substr(i, end - i);
    i = end;
  }
  return out;
}

// A clock was read for it: most such texts begin with "Today is".
bool NamesItsDay(const schema::Event& event, const schema::ModelView& view) {
  if (view.messages.empty()) return false;
  const std::string day =
      absl::FormatTime("%Y-%m-%d", absl::FromUnixNanos(event.started.wall_ns), absl::UTCTimeZone());
  return view.messages.front().text.find(day) != std::string::npos;
}

}  // namespace

std::vector<Trait> TraitsOf(const schema::Event& event, const schema::ModelView& view,
                            EarlierCall* earlier) {
  std::vector<Trait> traits;
  const schema::RequestSettings settings = schema::SettingsOf(event.request.bytes);
  if (!settings.readable) return traits;
  const auto add_if = [&](bool holds, Trait trait) {
    if (holds) traits.push_back(trait);
  };
  add_if(settings.temperature == 0.0, Trait::kTemperatureZero);
  add_if(settings.top_k == 1, Trait::kTopKOne);
  add_if(settings.top_p == 1.0, Trait::kTopPOne);
  add_if(settings.seed && settings.seed == earlier->seed, Trait::kSeedRepeated);
  add_if(!settings.seed && settings.temperature != 0.0, Trait::kSeedMissing);
  add_if(!settings.logprobs, Trait::kLogprobsMissing);
  add_if(settings.max_tokens.value_or(0) > kLongAnswerTokens, Trait::kLongAnswerAllowed);
  add_if(NamesItsDay(event, view), Trait::kNamesItsDay);
  earlier->seed = settings.seed;
  std::string head = PromptHead(event, view);
  if (!head.empty() && !earlier->prompt_head.empty()) {
    const bool kept = head == earlier->prompt_head;
    add_if(kept, Trait::kPrefixKept);
    add_if(!kept && WithoutNumbers(head) == WithoutNumbers(earlier->prompt_head),
           Trait::kPrefixChurn);
  }
  earlier->prompt_head = std::move(head);
  return traits;
}

std::string BatchingOff(std::string_view content) {
  const std::string text = absl::AsciiStrToLower(absl::string_view(content.data(), content.size()));
  for (const std::string_view setting : kBatchSettings) {
    for (size_t at = text.find(setting); at != std::string::npos; at = text.find(setting, at + 1)) {
      const size_t value = text.find_first_not_of(" =:\"'", at + setting.size());
      if (value == std::string::npos || value == at + setting.size() || text[value] != '1')
        continue;
      const bool is_one = value + 1 == text.size() ||
                          std::isalnum(static_cast<unsigned char>(text[value + 1])) == 0;
      if (is_one) return std::string(setting.substr(setting.find_first_not_of('-')));
    }
  }
  return "";
}

}  // namespace reenact::store::internal
