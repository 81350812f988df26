#include "replayer/internal/redactor.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "replayer/tape.h"

namespace reenact::replayer {
namespace {

constexpr size_t kLongestSecret = 4096;
constexpr size_t kShortestSecret = 6;  // Shorter ones are ignored by the policy.

void AddWords(std::string_view list, std::vector<std::string>* words) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    if (!word.empty()) words->emplace_back(word);
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
}

// A run that was recorded with redaction off is compared redacted all the same: redacting twice
// changes nothing, and messages then hold no secret.
schema::RedactionPolicy PolicyOf(const schema::Run& run) {
  schema::RedactionPolicy policy;
  for (const auto& [name, value] : run.process) {
    if (name == schema::kRedactedKeysFact) AddWords(value, &policy.extra_json_keys);
    if (name != "redaction_policy") continue;
    uint32_t version = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), version);
    if (parsed.ec == std::errc() && version >= 1 && version <= schema::kRedactionPolicyVersion) {
      policy.version = version;
    }
  }
  return policy;
}

// Whether texts were erased from the run after it was recorded: such a text may be a name of
// several words, in any script. What a recorder takes for a secret is one word.
bool HadTextsErased(const schema::Run& run) {
  return std::any_of(run.process.begin(), run.process.end(),
                     [](const auto& fact) { return fact.first == schema::kRedactedTextsFact; });
}

// It never reaches across the strings of a JSON text.
bool LooksLikeSecret(std::string_view text, bool several_words) {
  return text.size() >= kShortestSecret && text.size() <= kLongestSecret &&
         std::all_of(text.begin(), text.end(), [several_words](char c) {
           const bool fits = several_words ? static_cast<unsigned char>(c) >= ' ' : c > ' ';
           return fits && c != '"';
         });
}

// What stands in `text` where `pattern` has marks; nothing where they are not equal but for that.
std::optional<std::vector<std::string>> FillMarks(std::string_view pattern, std::string_view text,
                                                  bool several_words) {
  std::vector<std::string> filled;
  size_t mark = pattern.find(schema::kRedactedMark);
  if (mark == std::string_view::npos || !text.starts_with(pattern.substr(0, mark))) {
    return std::nullopt;
  }
  text.remove_prefix(mark);
  pattern.remove_prefix(mark);
  while (!pattern.empty()) {
    pattern.remove_prefix(schema::kRedactedMark.size());
    const std::string_view until = pattern.substr(0, pattern.find(schema::kRedactedMark));
    const bool last = until.size() == pattern.size();
    if (last && !text.ends_with(until)) return std::nullopt;
    const size_t end = last ? text.size() - until.size() : text.find(until);
    if (end == std::string_view::npos || (until.empty() && !last)) return std::nullopt;
    const std::string_view secret = text.substr(0, end);
    if (secret != schema::kRedactedMark) {
      if (!LooksLikeSecret(secret, several_words)) return std::nullopt;
      filled.emplace_back(secret);
    }
    text.remove_prefix(end + until.size());
    pattern.remove_prefix(until.size());
  }
  return filled;
}

}  // namespace

Redactor::Redactor(const schema::Run& run)
    : several_words_(HadTextsErased(run)), policy_(PolicyOf(run)), prepared_(policy_) {}

schema::Redactor Redactor::prepared() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return prepared_;
}

std::string Redactor::Redact(std::string_view bytes) const {
  return prepared().RedactBody(bytes).bytes;
}

std::string Redactor::RedactUrl(std::string_view url) const {
  return prepared().RedactUrl(url);
}

bool Redactor::Learn(std::string_view recorded, std::string_view now) {
  if (recorded.find(schema::kRedactedMark) == std::string_view::npos) return false;
  const auto secrets = FillMarks(CanonicalContent(recorded), CanonicalContent(now), several_words_);
  if (!secrets || secrets->empty()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string>& known = policy_.secrets;
  const size_t count_before = known.size();
  for (const std::string& secret : *secrets) {
    if (std::find(known.begin(), known.end(), secret) == known.end()) known.push_back(secret);
  }
  if (known.size() == count_before) return false;
  prepared_ = schema::Redactor(policy_);
  return true;
}

}  // namespace reenact::replayer
