#include "local_engine/tokenizer/internal/bpe_model.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

uint64_t PairKey(uint32_t left, uint32_t right) {
  return uint64_t{left} << 32 | right;
}

absl::string_view AsKey(std::string_view piece) {
  return {piece.data(), piece.size()};
}

}  // namespace

absl::StatusOr<BpeModel> BpeModel::Create(BpeConfig config) {
  BpeModel model(std::move(config));
  const std::vector<std::string>& pieces = model.config_.pieces;
  model.ids_.reserve(pieces.size());
  for (uint32_t id = 0; id < pieces.size(); ++id) {
    const std::string& piece = pieces[id];
    if (piece.empty()) continue;
    if (FirstInvalidByte(piece) != std::string_view::npos) {
      return absl::InvalidArgumentError("the piece with id " + std::to_string(id) +
                                        " is not UTF-8");
    }
    const auto [other, is_new] = model.ids_.emplace(AsKey(piece), id);
    if (!is_new) {
      return absl::InvalidArgumentError("piece \"" + piece + "\" has the ids " +
                                        std::to_string(other->second) + " and " +
                                        std::to_string(id));
    }
  }
  model.merges_.reserve(model.config_.merges.size());
  for (const MergeRule& rule : model.config_.merges) {
    for (const uint32_t id : {rule.left, rule.right, rule.merged}) {
      if (model.PieceOf(id).empty()) {
        return absl::InvalidArgumentError("a merge names id " + std::to_string(id) +
                                          ", which has no piece");
      }
    }
    model.merges_[PairKey(rule.left, rule.right)] = {rule.rank, rule.merged};
  }
  model.config_.merges = {};
  model.FillTables();
  return model;
}

void BpeModel::FillTables() {
  if (config_.unk_token.has_value()) unk_id_ = Find(*config_.unk_token);
  const auto id_or_none = [this](std::string_view piece) {
    const std::optional<uint32_t> id = Find(piece);
    return id.has_value() ? int64_t{*id} : int64_t{-1};
  };
  for (char32_t c = 0; c < low_characters_.size(); ++c) {
    std::string character;
    AppendCodePoint(c, &character);
    low_characters_[c] = id_or_none(character);
  }
  for (unsigned byte = 0; byte < byte_pieces_.size(); ++byte) {
    char piece[8];
    std::snprintf(piece, sizeof piece, "<0x%02X>", byte);
    byte_pieces_[byte] = id_or_none(piece);
  }
}

std::optional<uint32_t> BpeModel::Find(std::string_view piece) const {
  const auto found = ids_.find(AsKey(piece));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string& BpeModel::PieceOf(uint32_t id) const {
  static const std::string* const none = new std::string;
  return id < config_.pieces.size() ? config_.pieces[id] : *none;
}

std::vector<MergeRule> BpeModel::Merges() const {
  std::vector<MergeRule> rules;
  rules.reserve(merges_.size());
  for (const auto& [pair, target] : merges_) {
    rules.push_back({static_cast<uint32_t>(pair >> 32), static_cast<uint32_t>(pair), target.merged,
                     target.rank});
  }
  std::sort(rules.begin(), rules.end(), [](const MergeRule& a, const MergeRule& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return PairKey(a.left, a.right) < PairKey(b.left, b.right);
  });
  return rules;
}

const BpeModel::Target* BpeModel::FindMerge(uint32_t left, uint32_t right) const {
  const auto found = merges_.find(PairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

absl::Status BpeModel::Encode(std::string_view word, Scratch* scratch,
                              std::vector<uint32_t>* ids) const {
  if (word.empty()) return absl::OkStatus();
  if (config_.ignore_merges) {
    if (const std::optional<uint32_t> id = Find(word)) {
      ids->push_back(*id);
      return absl::OkStatus();
    }
  }
  absl::Status status = SplitToSymbols(word, scratch);
  if (!status.ok()) return status;
  MergeSymbols(scratch);
  for (const Scratch::Symbol& symbol : scratch->symbols) {
    if (!symbol.merged_away) ids->push_back(symbol.id);
  }
  return absl::OkStatus();
}

// `spelled` becomes the character as the vocabulary spells it, with prefix and suffix.
std::optional<uint32_t> BpeModel::FindCharacter(std::string_view character, bool is_first,
                                                bool is_last, std::string* spelled) const {
  const bool has_affix = (!is_first && !config_.continuing_subword_prefix.empty()) ||
                         (is_last && !config_.end_of_word_suffix.empty());
  if (!has_affix) {
    const char32_t c = CodePointAt(character, 0);
    if (c < low_characters_.size() && low_characters_[c] >= 0) {
      return static_cast<uint32_t>(low_characters_[c]);
    }
  }
  spelled->clear();
  if (!is_first) *spelled += config_.continuing_subword_prefix;
  *spelled += character;
  if (is_last) *spelled += config_.end_of_word_suffix;
  return Find(*spelled);
}

absl::Status BpeModel::SplitToSymbols(std::string_view word, Scratch* scratch) const {
  scratch->symbols.clear();
  const auto add = [scratch](uint32_t id) { scratch->symbols.push_back({id, -1, -1, false}); };
  std::optional<uint32_t> pending;  // An unknown character that the next one may be fused with.
  for (size_t at = 0; at < word.size();) {
    const size_t size = CharLength(word[at]);
    const std::string_view character = word.substr(at, size);
    const std::optional<uint32_t> id =
        FindCharacter(character, at == 0, at + size == word.size(), &scratch->character);
    at += size;
    if (!id.has_value()) {
      absl::Status status = AddUnknown(scratch->character, &pending, scratch);
      if (!status.ok()) return status;
      continue;
    }
    if (pending.has_value()) add(*pending);
    pending.reset();
    add(*id);
  }
  if (pending.has_value()) add(*pending);
  const auto count = static_cast<int32_t>(scratch->symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    scratch->symbols[static_cast<size_t>(i)].previous = i - 1;
    scratch->symbols[static_cast<size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
  return absl::OkStatus();
}

// The bytes of a fallback overtake an unknown character that is still pending: so the original has
// it, and a vocabulary with only some of the byte pieces shows it. Without an unk_token an unknown
// character leaves no trace.
absl::Status BpeModel::AddUnknown(std::string_view character, std::optional<uint32_t>* pending,
                                  Scratch* scratch) const {
  const auto piece_of = [this](char byte) {
    return byte_pieces_[static_cast<unsigned char>(byte)];
  };
  if (config_.byte_fallback && std::all_of(character.begin(), character.end(),
                                           [&](char byte) { return piece_of(byte) >= 0; })) {
    for (const char byte : character) {
      scratch->symbols.push_back({static_cast<uint32_t>(piece_of(byte)), -1, -1, false});
    }
    return absl::OkStatus();
  }
  if (!config_.unk_token.has_value()) return absl::OkStatus();
  if (!unk_id_.has_value()) {
    return absl::FailedPreconditionError("the unk_token \"" + *config_.unk_token +
                                         "\" is not a piece of the vocabulary");
  }
  if (pending->has_value() && !config_.fuse_unk) {
    scratch->symbols.push_back({**pending, -1, -1, false});
  }
  *pending = unk_id_;
  return absl::OkStatus();
}

// Puts the merge of the symbol at `position` with the next into the heap, if there is a rule.
void BpeModel::Consider(uint32_t position, Scratch* scratch) const {
  const Scratch::Symbol& left = scratch->symbols[position];
  if (left.next < 0) return;
  const Scratch::Symbol& right = scratch->symbols[static_cast<size_t>(left.next)];
  const Target* target = FindMerge(left.id, right.id);
  if (target == nullptr) return;
  scratch->heap.push_back({target->rank, position, target->merged});
}

void BpeModel::MergeSymbols(Scratch* scratch) const {
  const auto goes_later = [](const Scratch::Candidate& a, const Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  std::vector<Scratch::Symbol>& symbols = scratch->symbols;
  std::vector<Scratch::Candidate>& heap = scratch->heap;
  heap.clear();
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) Consider(i, scratch);
  std::make_heap(heap.begin(), heap.end(), goes_later);
  const auto push = [&](uint32_t position) {
    const size_t size_before = heap.size();
    Consider(position, scratch);
    if (heap.size() > size_before) std::push_heap(heap.begin(), heap.end(), goes_later);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), goes_later);
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = symbols[best.position];
    if (left.merged_away || left.next < 0) continue;
    const auto right_position = static_cast<size_t>(left.next);
    Scratch::Symbol& right = symbols[right_position];
    const Target* target = FindMerge(left.id, right.id);
    if (target == nullptr || target->merged != best.merged) continue;
    left.id = best.merged;
    left.next = right.next;
    right.merged_away = true;
    if (right.next >= 0) {
      symbols[static_cast<size_t>(right.next)].previous = static_cast<int32_t>(best.position);
    }
    if (left.previous >= 0) push(static_cast<uint32_t>(left.previous));
    push(best.position);
  }
}

}  // namespace reenact::local_engine
