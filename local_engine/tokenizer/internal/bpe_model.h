// Byte pair encoding: a word starts as its characters, and neighbours are merged, best rule first,
// until no rule applies.
//
// The merges of a word come out of a heap, so a word of n characters costs n log n; the textbook
// loop that looks for the best pair again after each merge costs n², and a million letters without
// a space would hang it. Entries of the heap that a later merge has overtaken are left there and
// recognised when they come out: the pair that stands at their place now makes another piece.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_BPE_MODEL_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_BPE_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

class BpeModel {
 public:
  // What encoding one word leaves allocated for the next. Threads: one at a time.
  class Scratch {
    friend class BpeModel;

    struct Symbol {
      uint32_t id;
      int32_t previous;  // -1: none
      int32_t next;      // -1: none
      bool merged_away;
    };

    struct Candidate {
      uint32_t rank;
      uint32_t position;  // Of the left symbol.
      uint32_t merged;
    };

    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::string character;
  };

  // Errors: InvalidArgument for a piece that is not UTF-8 or stands twice, and for a merge of ids
  // that have no piece.
  static absl::StatusOr<BpeModel> Create(BpeConfig config);

  BpeModel(BpeModel&&) = default;
  BpeModel& operator=(BpeModel&&) = default;

  // Appends the ids of one word. The word is valid UTF-8.
  // Errors: FailedPrecondition when an unknown character wants an unk_token that is not there.
  absl::Status Encode(std::string_view word, Scratch* scratch, std::vector<uint32_t>* ids) const;

  std::optional<uint32_t> Find(std::string_view piece) const;
  // Empty for an id without a piece.
  const std::string& PieceOf(uint32_t id) const;

  // The number of pieces, as the original counts a vocabulary.
  size_t piece_count() const { return ids_.size(); }

  const BpeConfig& config() const { return config_; }

  // The rules that count, by rank.
  std::vector<MergeRule> Merges() const;

 private:
  struct Target {
    uint32_t rank;
    uint32_t merged;
  };

  explicit BpeModel(BpeConfig config) : config_(std::move(config)) {}

  void FillTables();
  std::optional<uint32_t> FindCharacter(std::string_view character, bool is_first, bool is_last,
                                        std::string* spelled) const;
  absl::Status SplitToSymbols(std::string_view word, Scratch* scratch) const;
  absl::Status AddUnknown(std::string_view character, std::optional<uint32_t>* pending,
                          Scratch* scratch) const;
  void MergeSymbols(Scratch* scratch) const;
  void Consider(uint32_t position, Scratch* scratch) const;
  const Target* FindMerge(uint32_t left, uint32_t right) const;

  BpeConfig config_;  // Its merges are in `merges_`, and nowhere else.
  // Keys live in config_.pieces, whose strings do not move.
  absl::flat_hash_map<absl::string_view, uint32_t> ids_;
  absl::flat_hash_map<uint64_t, Target> merges_;
  std::optional<uint32_t> unk_id_;
  // The ids of the first characters, which are most of all, and of <0x00> … <0xFF>; -1: none.
  std::array<int64_t, 0x180> low_characters_{};
  std::array<int64_t, 256> byte_pieces_{};
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_BPE_MODEL_H_
