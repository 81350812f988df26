#include "local_engine/tokenizer/internal/normalizer.h"

#include <string_view>
#include <utility>

#include "local_engine/tokenizer/internal/unicode_normalization.h"
#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

// A chain of replacements can double a text at every step.
constexpr size_t kLargestNormalized = size_t{1} << 30;

void StripWhiteSpace(const NormalizerStage& stage, std::string* text) {
  size_t begin = 0;
  while (stage.strip_left && begin < text->size() && IsWhiteSpace(CodePointAt(*text, begin))) {
    begin += CharLength((*text)[begin]);
  }
  size_t end = text->size();
  while (stage.strip_right && end > begin) {
    const size_t last = PreviousChar(*text, end);
    if (!IsWhiteSpace(CodePointAt(*text, last))) break;
    end = last;
  }
  *text = text->substr(begin, end - begin);
}

absl::Status Replace(const Pattern& pattern, const std::string& content, std::string* text) {
  std::vector<Span> spans;
  absl::Status status = pattern.Cut(*text, &spans);
  if (!status.ok()) return status;
  std::string replaced;
  replaced.reserve(text->size());
  for (const Span& span : spans) {
    if (span.is_match) {
      replaced += content;
    } else {
      replaced.append(*text, span.begin, span.end - span.begin);
    }
    if (replaced.size() > kLargestNormalized) {
      return absl::ResourceExhaustedError("a normalized text is larger than a gibibyte");
    }
  }
  *text = std::move(replaced);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Normalizer> Normalizer::Create(const std::vector<NormalizerStage>& stages) {
  Normalizer normalizer;
  for (const NormalizerStage& config : stages) {
    Stage stage{config, {}};
    if (config.kind == NormalizerStage::Kind::kReplace) {
      absl::StatusOr<Pattern> pattern = Pattern::Compile(config.pattern);
      if (!pattern.ok()) return pattern.status();
      stage.pattern = *std::move(pattern);
    }
    normalizer.stages_.push_back(std::move(stage));
  }
  return normalizer;
}

absl::Status Normalizer::Normalize(std::string* text) const {
  for (const Stage& stage : stages_) {
    absl::Status status = Apply(stage, text);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Normalizer::Apply(const Stage& stage, std::string* text) {
  switch (stage.config.kind) {
    case NormalizerStage::Kind::kNfc:
      *text = NormalizeUnicode(*text, {.compatibility = false, .composed = true});
      break;
    case NormalizerStage::Kind::kNfd:
      *text = NormalizeUnicode(*text, {.compatibility = false, .composed = false});
      break;
    case NormalizerStage::Kind::kNfkc:
      *text = NormalizeUnicode(*text, {.compatibility = true, .composed = true});
      break;
    case NormalizerStage::Kind::kNfkd:
      *text = NormalizeUnicode(*text, {.compatibility = true, .composed = false});
      break;
    case NormalizerStage::Kind::kLowercase:
      *text = LowercaseUnicode(*text);
      break;
    case NormalizerStage::Kind::kPrepend:
      if (!text->empty()) text->insert(0, stage.config.content);
      break;
    case NormalizerStage::Kind::kReplace:
      return Replace(stage.pattern, stage.config.content, text);
    case NormalizerStage::Kind::kStrip:
      StripWhiteSpace(stage.config, text);
      break;
  }
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
