#include "local_engine/tokenizer/internal/text_stages.h"

#include <optional>
#include <utility>

#include "local_engine/tokenizer/internal/byte_alphabet.h"
#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

// "<0x0A>": the byte that a piece of byte fallback stands for.
std::optional<char> AsByte(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token.back() != '>') {
    return std::nullopt;
  }
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    static constexpr std::string_view kDigits = "0123456789ABCDEFabcdef";
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<int>(digit < 16 ? digit : digit - 6);
  }
  return static_cast<char>(value);
}

class Output final : public TextStage {
 public:
  explicit Output(std::string* out) : out_(out) {}

  void Fragment(std::string_view text) override { out_->append(text); }

  void EndToken() override {}

  void Finish() override {}

 private:
  std::string* out_;
};

class Linked : public TextStage {
 public:
  explicit Linked(std::unique_ptr<TextStage> next) : next_(std::move(next)) {}

  void EndToken() override { next_->EndToken(); }

  void Finish() override { next_->Finish(); }

 protected:
  TextStage& next() { return *next_; }

 private:
  std::unique_ptr<TextStage> next_;
};

// What the original does without a decoder.
class JoinBySpace final : public Linked {
 public:
  using Linked::Linked;

  void Fragment(std::string_view text) override { token_ += text; }

  void EndToken() override {
    if (!is_first_) next().Fragment(" ");
    is_first_ = false;
    next().Fragment(token_);
    token_.clear();
  }

 private:
  std::string token_;
  bool is_first_ = true;
};

class Fuse final : public Linked {
 public:
  using Linked::Linked;

  void Fragment(std::string_view text) override { next().Fragment(text); }

  void EndToken() override {}

  void Finish() override {
    next().EndToken();
    next().Finish();
  }
};

// Characters of the byte alphabet to bytes, all tokens to one string. A token with any other
// character is taken as it is.
class ByteLevel final : public Linked {
 public:
  using Linked::Linked;

  void Fragment(std::string_view text) override { token_ += text; }

  void EndToken() override {
    std::string bytes;
    if (!AppendFromAlphabet(token_, &bytes)) bytes = token_;
    token_.clear();
    std::string text;
    characters_.Push(bytes, &text);
    if (!text.empty()) next().Fragment(text);
  }

  void Finish() override {
    std::string text;
    characters_.Finish(&text);
    if (!text.empty()) next().Fragment(text);
    next().EndToken();
    next().Finish();
  }

 private:
  std::string token_;
  LossyUtf8 characters_;
};

// <0x00> … <0xFF> to bytes. A run of them is text as a whole or not at all: if it is not UTF-8,
// every byte of it becomes U+FFFD. So a run is held back until it ends.
class ByteFallback final : public Linked {
 public:
  using Linked::Linked;

  void Fragment(std::string_view text) override { token_ += text; }

  void EndToken() override {
    if (const std::optional<char> byte = AsByte(token_)) {
      run_ += *byte;
    } else {
      EndRun();
      next().Fragment(token_);
      next().EndToken();
    }
    token_.clear();
  }

  void Finish() override {
    EndRun();
    next().Finish();
  }

 private:
  // A run that is text is one string; one that is not is a string for every byte.
  void EndRun() {
    if (run_.empty()) return;
    if (FirstInvalidByte(run_) == std::string_view::npos) {
      next().Fragment(run_);
      next().EndToken();
    } else {
      for (size_t i = 0; i < run_.size(); ++i) {
        next().Fragment("\xef\xbf\xbd");
        next().EndToken();
      }
    }
    run_.clear();
  }

  std::string token_;
  std::string run_;
};

// One character to a string, wherever it stands: Metaspace, and Replace of a single character.
class ReplaceCharacter final : public Linked {
 public:
  ReplaceCharacter(std::string from, std::string to, bool drop_in_first_token,
                   std::unique_ptr<TextStage> next)
      : Linked(std::move(next)),
        from_(std::move(from)),
        to_(std::move(to)),
        dropping_(drop_in_first_token) {}

  void Fragment(std::string_view text) override {
    std::string replaced;
    size_t at = 0;
    for (size_t found = text.find(from_); found != std::string_view::npos;
         found = text.find(from_, at)) {
      replaced += text.substr(at, found - at);
      if (!dropping_) replaced += to_;
      at = found + from_.size();
    }
    replaced += text.substr(at);
    if (!replaced.empty()) next().Fragment(replaced);
  }

  void EndToken() override {
    dropping_ = false;
    next().EndToken();
  }

 private:
  const std::string from_;
  const std::string to_;
  bool dropping_;
};

// A longer string may begin in one fragment and end in the next: the token is held back.
class ReplaceString final : public Linked {
 public:
  ReplaceString(std::string from, std::string to, std::unique_ptr<TextStage> next)
      : Linked(std::move(next)), from_(std::move(from)), to_(std::move(to)) {}

  void Fragment(std::string_view text) override { token_ += text; }

  void EndToken() override {
    size_t at = 0;
    for (size_t found = token_.find(from_); found != std::string::npos;
         found = token_.find(from_, at)) {
      next().Fragment(std::string_view(token_).substr(at, found - at));
      next().Fragment(to_);
      at = found + from_.size();
    }
    next().Fragment(std::string_view(token_).substr(at));
    next().EndToken();
    token_.clear();
  }

 private:
  const std::string from_;
  const std::string to_;
  std::string token_;
};

// Takes away at most `start` of one character from the left of each string, `stop` from its right.
class Strip final : public Linked {
 public:
  Strip(const DecoderStage& config, std::unique_ptr<TextStage> next)
      : Linked(std::move(next)),
        content_(config.content),
        start_(config.start),
        stop_(config.stop),
        left_(config.start) {}

  void Fragment(std::string_view text) override {
    std::string kept;
    for (size_t at = 0; at < text.size();) {
      const size_t size = CharLength(text[at]);
      const std::string_view character = text.substr(at, size);
      at += size;
      if (character != content_) {
        left_ = 0;
        for (; held_ > 0; --held_) kept += content_;
        kept += character;
      } else if (left_ > 0) {
        --left_;
      } else if (held_ < stop_) {
        ++held_;
      } else {
        kept += content_;  // The oldest of those held; the newest takes its place.
      }
    }
    if (!kept.empty()) next().Fragment(kept);
  }

  void EndToken() override {
    left_ = start_;
    held_ = 0;
    next().EndToken();
  }

 private:
  const std::string content_;
  const uint32_t start_;
  const uint32_t stop_;
  uint32_t left_;      // How many may still go from the left of this string.
  uint32_t held_ = 0;  // Characters that go if the string ends here.
};

std::unique_ptr<TextStage> MakeStage(const DecoderStage& config, std::unique_ptr<TextStage> next) {
  switch (config.kind) {
    case DecoderStage::Kind::kByteLevel:
      return std::make_unique<ByteLevel>(std::move(next));
    case DecoderStage::Kind::kMetaspace:
      return std::make_unique<ReplaceCharacter>(
          config.content, " ", config.prepend_scheme != PrependScheme::kNever, std::move(next));
    case DecoderStage::Kind::kByteFallback:
      return std::make_unique<ByteFallback>(std::move(next));
    case DecoderStage::Kind::kFuse:
      return std::make_unique<Fuse>(std::move(next));
    case DecoderStage::Kind::kReplace:
      if (config.pattern.size() == CharLength(config.pattern[0])) {
        return std::make_unique<ReplaceCharacter>(config.pattern, config.content, false,
                                                  std::move(next));
      }
      return std::make_unique<ReplaceString>(config.pattern, config.content, std::move(next));
    case DecoderStage::Kind::kStrip:
      return std::make_unique<Strip>(config, std::move(next));
  }
  return next;
}

}  // namespace

std::unique_ptr<TextStage> MakeTextStages(const std::optional<std::vector<DecoderStage>>& stages,
                                          std::string* out) {
  std::unique_ptr<TextStage> first = std::make_unique<Output>(out);
  if (!stages.has_value()) return std::make_unique<JoinBySpace>(std::move(first));
  for (auto stage = stages->rbegin(); stage != stages->rend(); ++stage) {
    first = MakeStage(*stage, std::move(first));
  }
  return first;
}

std::string BytesOfPiece(std::string_view piece,
                         const std::optional<std::vector<DecoderStage>>& stages) {
  std::string bytes(piece);
  const auto replace = [&bytes](std::string_view pattern, std::string_view content) {
    if (pattern.empty()) return;
    for (size_t at = bytes.find(pattern); at != std::string::npos;
         at = bytes.find(pattern, at + content.size())) {
      bytes.replace(at, pattern.size(), content);
    }
  };
  for (const DecoderStage& stage : stages.value_or(std::vector<DecoderStage>())) {
    switch (stage.kind) {
      case DecoderStage::Kind::kByteLevel: {
        std::string raw;
        if (AppendFromAlphabet(bytes, &raw)) bytes = std::move(raw);
        break;
      }
      case DecoderStage::Kind::kByteFallback:
        // What follows is for text.
        if (const std::optional<char> byte = AsByte(bytes)) return std::string(1, *byte);
        break;
      case DecoderStage::Kind::kMetaspace:
        replace(stage.content, " ");
        break;
      case DecoderStage::Kind::kReplace:
        replace(stage.pattern, stage.content);
        break;
      case DecoderStage::Kind::kFuse:
      case DecoderStage::Kind::kStrip:  // Of the ends of a text.
        break;
    }
  }
  return bytes;
}

}  // namespace reenact::local_engine
