// Strings that are tokens by themselves wherever they stand in a text: control tokens of a model
// above all. They are found before anything else is done with the text, the longest first.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_ADDED_TOKENS_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

// A stretch of text, or an added token.
struct Section {
  const AddedToken* token = nullptr;
  size_t begin = 0;
  size_t end = 0;
};

class AddedTokenFinder {
 public:
  // A longer content could make the search slow on purpose.
  static constexpr size_t kLongestContent = 1024;

  AddedTokenFinder();

  // Looks for `content`, which stands for `token`. The token must outlive the finder.
  // Errors: InvalidArgument for a content that is empty or too long.
  absl::Status Add(std::string_view content, const AddedToken* token);

  // Appends the sections that cover `text`. With `special` false, special tokens are text.
  // Cost: at most kLongestContent steps a byte, and for real vocabularies hardly more than one.
  void Cut(std::string_view text, bool special, std::vector<Section>* sections) const;

  bool empty() const { return nodes_.size() == 1; }

 private:
  struct Node {
    std::vector<std::pair<unsigned char, uint32_t>> children;
    const AddedToken* token = nullptr;
  };

  // The longest content at `at`, or nullptr; its end goes to `end`.
  const AddedToken* Longest(std::string_view text, size_t at, size_t* end) const;

  std::vector<Node> nodes_;             // A trie; the root is the first.
  std::array<bool, 256> starts_one_{};  // By first byte.
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_ADDED_TOKENS_H_
