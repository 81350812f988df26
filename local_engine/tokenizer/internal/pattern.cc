#include "local_engine/tokenizer/internal/pattern.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "local_engine/tokenizer/internal/pattern_translator.h"
#include "local_engine/tokenizer/internal/unicode_versions.h"
#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }

  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }

  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }

  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

using MatchData = std::unique_ptr<pcre2_match_data, Free>;
using MatchContext = std::unique_ptr<pcre2_match_context, Free>;

// Backtracking steps of one match: a run of n characters that is tried and given back costs n.
constexpr uint64_t kStepsAtLeast = 100'000;
constexpr uint64_t kStepsPerByte = 32;
// What remembered backtracking points may take.
constexpr uint32_t kHeapLimitKiB = 256 * 1024;

std::string MessageOf(int error) {
  PCRE2_UCHAR message[256] = {};
  pcre2_get_error_message(error, message, sizeof message);
  return reinterpret_cast<const char*>(message);
}

}  // namespace

// The interpreter, not the just-in-time compiler: that one counts steps in another way and has a
// stack of its own, so a text at the limit would be refused on one machine and not on the next.
struct Pattern::Regex {
  std::string source;
  std::unique_ptr<pcre2_code, Free> code;
  bool names_categories = false;
};

absl::StatusOr<Pattern> Pattern::Compile(const TextPattern& pattern) {
  if (pattern.text.empty()) return absl::InvalidArgumentError("a pattern is empty");
  Pattern compiled;
  if (!pattern.is_regex) {
    compiled.literal_ = pattern.text;
    return compiled;
  }
  absl::StatusOr<TranslatedPattern> translated = TranslatePattern(pattern.text);
  if (!translated.ok()) return translated.status();
  const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto regex = std::make_shared<Regex>();
  regex->source = pattern.text;
  regex->names_categories = translated->names_categories;
  regex->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->text.data()),
                                  translated->text.size(), PCRE2_UTF | PCRE2_MULTILINE, &error,
                                  &offset, context.get()));
  if (regex->code == nullptr) {
    return absl::InvalidArgumentError("pattern \"" + pattern.text + "\": " + MessageOf(error));
  }
  compiled.regex_ = std::move(regex);
  return compiled;
}

absl::Status Pattern::Cut(std::string_view text, std::vector<Span>* spans) const {
  if (text.empty()) return absl::OkStatus();
  if (regex_ != nullptr) return CutByRegex(text, spans);
  size_t end = 0;
  for (size_t at = text.find(literal_); at != std::string_view::npos;
       at = text.find(literal_, end)) {
    if (at != end) spans->push_back({end, at, false});
    end = at + literal_.size();
    spans->push_back({at, end, true});
  }
  if (end != text.size()) spans->push_back({end, text.size(), false});
  return absl::OkStatus();
}

absl::Status Pattern::CutByRegex(std::string_view text, std::vector<Span>* spans) const {
  std::string with_stand_ins;
  if (regex_->names_categories && WithStandIns(text, &with_stand_ins)) text = with_stand_ins;
  const MatchData data(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  const uint64_t steps = kStepsAtLeast + kStepsPerByte * text.size();
  pcre2_set_match_limit(context.get(), static_cast<uint32_t>(std::min<uint64_t>(
                                           steps, std::numeric_limits<uint32_t>::max())));
  pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
  size_t covered = 0;
  size_t at = 0;
  std::optional<size_t> match_end;
  while (at <= text.size()) {
    const int found = pcre2_match(regex_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), at, PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      return absl::ResourceExhaustedError("pattern \"" + regex_->source + "\" on a text of " +
                                          std::to_string(text.size()) +
                                          " bytes: " + MessageOf(found));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
    const size_t begin = bounds[0];
    const size_t end = bounds[1];
    if (begin == end && match_end == end) {
      at += at < text.size() ? CharLength(text[at]) : 1;
      continue;
    }
    if (covered != begin) spans->push_back({covered, begin, false});
    spans->push_back({begin, end, true});
    covered = at = end;
    match_end = end;
  }
  if (covered != text.size()) spans->push_back({covered, text.size(), false});
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
