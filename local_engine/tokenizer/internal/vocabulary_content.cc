#include "local_engine/tokenizer/internal/vocabulary_content.h"

#include <algorithm>
#include <string>
#include <vector>

namespace reenact::local_engine {

namespace {

// Changes with the order below or with what a stage means: other ids, another digest.
constexpr std::string_view kTag = "reenact tokenizer 1";
constexpr size_t kFlushAt = 64 * 1024;

class Writer {
 public:
  explicit Writer(const std::function<void(std::string_view)>& sink) : sink_(sink) {}

  ~Writer() { Flush(); }

  void Number(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      buffer_.push_back(static_cast<char>(value >> shift & 0xff));
    }
  }

  template <typename Enum>
  void Choice(Enum value) {
    Number(static_cast<uint64_t>(value));
  }

  void Text(std::string_view text) {
    Number(text.size());
    buffer_ += text;
    if (buffer_.size() >= kFlushAt) Flush();
  }

  void Ids(const std::vector<uint32_t>& ids) {
    Number(ids.size());
    for (const uint32_t id : ids) Number(id);
  }

 private:
  void Flush() {
    if (!buffer_.empty()) sink_(buffer_);
    buffer_.clear();
  }

  const std::function<void(std::string_view)>& sink_;
  std::string buffer_;
};

void WriteModel(const BpeModel& model, Writer* out) {
  const BpeConfig& config = model.config();
  out->Number(config.pieces.size());
  for (const std::string& piece : config.pieces) out->Text(piece);
  const std::vector<MergeRule> merges = model.Merges();
  out->Number(merges.size());
  // Ranks matter by their order and their ties only.
  uint64_t rank = 0;
  for (size_t i = 0; i < merges.size(); ++i) {
    if (i > 0 && merges[i].rank != merges[i - 1].rank) ++rank;
    for (const uint64_t number :
         {rank, uint64_t{merges[i].left}, uint64_t{merges[i].right}, uint64_t{merges[i].merged}}) {
      out->Number(number);
    }
  }
  out->Number(config.unk_token.has_value());
  out->Text(config.unk_token.value_or(""));
  out->Text(config.continuing_subword_prefix);
  out->Text(config.end_of_word_suffix);
  for (const bool flag : {config.fuse_unk, config.byte_fallback, config.ignore_merges}) {
    out->Number(flag);
  }
}

void WriteAddedTokens(const TokenizerConfig& config, Writer* out) {
  std::vector<const AddedToken*> tokens;
  for (const AddedToken& token : config.added_tokens) tokens.push_back(&token);
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken* a, const AddedToken* b) { return a->id < b->id; });
  out->Number(tokens.size());
  for (const AddedToken* token : tokens) {
    out->Number(token->id);
    out->Text(token->content);
    for (const bool flag :
         {token->single_word, token->lstrip, token->rstrip, token->normalized, token->special}) {
      out->Number(flag);
    }
  }
}

void WriteStages(const TokenizerConfig& config, Writer* out) {
  out->Number(config.normalizers.size());
  for (const NormalizerStage& stage : config.normalizers) {
    out->Choice(stage.kind);
    out->Number(stage.pattern.is_regex);
    out->Text(stage.pattern.text);
    out->Text(stage.content);
    out->Number(stage.strip_left);
    out->Number(stage.strip_right);
  }
  out->Number(config.pre_tokenizers.size());
  for (const PreTokenizerStage& stage : config.pre_tokenizers) {
    out->Choice(stage.kind);
    out->Number(stage.pattern.is_regex);
    out->Text(stage.pattern.text);
    out->Choice(stage.behavior);
    for (const bool flag : {stage.invert, stage.add_prefix_space, stage.use_regex, stage.split}) {
      out->Number(flag);
    }
    out->Text(stage.replacement);
    out->Choice(stage.prepend_scheme);
  }
  out->Number(config.decoders.has_value());
  if (!config.decoders.has_value()) return;
  out->Number(config.decoders->size());
  for (const DecoderStage& stage : *config.decoders) {
    out->Choice(stage.kind);
    out->Text(stage.pattern);
    out->Text(stage.content);
    out->Number(stage.start);
    out->Number(stage.stop);
    out->Choice(stage.prepend_scheme);
  }
}

}  // namespace

void WriteContent(const TokenizerConfig& config, const BpeModel& model,
                  const std::function<void(std::string_view)>& sink) {
  Writer out(sink);
  out.Text(kTag);
  WriteModel(model, &out);
  WriteAddedTokens(config, &out);
  WriteStages(config, &out);
  out.Ids(config.prefix_ids);
  out.Ids(config.suffix_ids);
}

}  // namespace reenact::local_engine
