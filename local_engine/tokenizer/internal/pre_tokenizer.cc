#include "local_engine/tokenizer/internal/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "local_engine/tokenizer/internal/byte_alphabet.h"

namespace reenact::local_engine {

namespace {

// How GPT-2 cuts, and every ByteLevel stage that is not told otherwise.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Each delimiter joins the stretch before it; of delimiters in a row, only the first does.
std::vector<Span> MergedWithPrevious(const std::vector<Span>& spans) {
  std::vector<Span> words;
  bool previous_match = false;
  for (const Span& span : spans) {
    if (span.is_match && !previous_match && !words.empty()) {
      words.back().end = span.end;
    } else {
      words.push_back(span);
    }
    previous_match = span.is_match;
  }
  return words;
}

// The mirror image: each delimiter joins the stretch after it; of several in a row, only the last.
std::vector<Span> MergedWithNext(const std::vector<Span>& spans) {
  std::vector<Span> words;
  bool next_match = false;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    if (span->is_match && !next_match && !words.empty()) {
      words.back().begin = span->begin;
    } else {
      words.push_back(*span);
    }
    next_match = span->is_match;
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::vector<Span> Contiguous(const std::vector<Span>& spans) {
  std::vector<Span> words;
  bool previous_match = false;
  for (const Span& span : spans) {
    if (span.is_match == previous_match && !words.empty()) {
      words.back().end = span.end;
    } else {
      words.push_back(span);
    }
    previous_match = span.is_match;
  }
  return words;
}

std::string ReplaceSpaces(std::string_view word, const std::string& replacement) {
  std::string replaced;
  for (const char c : word) {
    if (c == ' ') {
      replaced += replacement;
    } else {
      replaced += c;
    }
  }
  return replaced;
}

}  // namespace

std::vector<Span> SpansToWords(const std::vector<Span>& spans, SplitBehavior behavior,
                               bool invert) {
  std::vector<Span> words = spans;
  if (invert) {
    for (Span& span : words) span.is_match = !span.is_match;
  }
  switch (behavior) {
    case SplitBehavior::kRemoved:
      words.erase(std::remove_if(words.begin(), words.end(),
                                 [](const Span& span) { return span.is_match; }),
                  words.end());
      return words;
    case SplitBehavior::kIsolated:
      return words;
    case SplitBehavior::kMergedWithPrevious:
      return MergedWithPrevious(words);
    case SplitBehavior::kMergedWithNext:
      return MergedWithNext(words);
    case SplitBehavior::kContiguous:
      return Contiguous(words);
  }
  return words;
}

absl::StatusOr<PreTokenizer> PreTokenizer::Create(const std::vector<PreTokenizerStage>& stages) {
  PreTokenizer pre_tokenizer;
  for (const PreTokenizerStage& config : stages) {
    Stage stage{config, {}, false};
    TextPattern pattern = config.pattern;
    if (config.kind == PreTokenizerStage::Kind::kByteLevel && config.use_regex) {
      pattern = {std::string(kGpt2Pattern), true};
    } else if (config.kind == PreTokenizerStage::Kind::kMetaspace && config.split) {
      pattern = {config.replacement, false};
      stage.config.behavior = SplitBehavior::kMergedWithNext;
    }
    stage.has_pattern = config.kind == PreTokenizerStage::Kind::kSplit || !pattern.text.empty();
    if (stage.has_pattern) {
      absl::StatusOr<Pattern> compiled = Pattern::Compile(pattern);
      if (!compiled.ok()) return compiled.status();
      stage.pattern = *std::move(compiled);
    }
    pre_tokenizer.stages_.push_back(std::move(stage));
  }
  return pre_tokenizer;
}

absl::Status PreTokenizer::Apply(WordList* words) const {
  for (const Stage& stage : stages_) {
    absl::Status status = ApplyStage(stage, words);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PreTokenizer::ApplyStage(const Stage& stage, WordList* words) {
  const PreTokenizerStage& config = stage.config;
  WordList result;
  std::vector<Span> spans;
  std::string changed;
  size_t begin = 0;
  for (const size_t end : words->ends) {
    std::string_view word = std::string_view(words->text).substr(begin, end - begin);
    const bool begins_input = words->begins_input && begin == 0;
    begin = end;
    if (config.kind == PreTokenizerStage::Kind::kMetaspace) {
      changed = ReplaceSpaces(word, config.replacement);
      const bool wanted = config.prepend_scheme == PrependScheme::kAlways ||
                          (config.prepend_scheme == PrependScheme::kFirst && begins_input);
      if (wanted && changed.rfind(config.replacement, 0) != 0) {
        changed.insert(0, config.replacement);
      }
      word = changed;
    } else if (config.add_prefix_space && word.front() != ' ') {
      changed.assign(" ").append(word);
      word = changed;
    }
    spans.clear();
    if (stage.has_pattern) {
      absl::Status status = stage.pattern.Cut(word, &spans);
      if (!status.ok()) return status;
      spans = SpansToWords(spans, config.behavior, config.invert);
    } else {
      spans.push_back({0, word.size(), false});
    }
    for (const Span& span : spans) {
      const std::string_view piece = word.substr(span.begin, span.end - span.begin);
      if (config.kind != PreTokenizerStage::Kind::kByteLevel) {
        result.Add(piece);
      } else if (!piece.empty()) {
        AppendAsAlphabet(piece, &result.text);
        result.ends.push_back(result.text.size());
      }
    }
  }
  *words = std::move(result);
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
