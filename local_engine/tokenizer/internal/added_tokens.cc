#include "local_engine/tokenizer/internal/added_tokens.h"

#include <algorithm>

#include "local_engine/tokenizer/internal/unicode_versions.h"
#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

bool EndsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(CodePointAt(text, PreviousChar(text, text.size())));
}

bool StartsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(CodePointAt(text, 0));
}

// The start of the white space that ends at `end`, not before `floor`.
size_t WhiteSpaceBefore(std::string_view text, size_t end, size_t floor) {
  while (end > floor) {
    const size_t last = PreviousChar(text, end);
    if (!IsWhiteSpace(CodePointAt(text, last))) break;
    end = last;
  }
  return end;
}

size_t WhiteSpaceAfter(std::string_view text, size_t begin) {
  while (begin < text.size() && IsWhiteSpace(CodePointAt(text, begin))) {
    begin += CharLength(text[begin]);
  }
  return begin;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder() : nodes_(1) {}

absl::Status AddedTokenFinder::Add(std::string_view content, const AddedToken* token) {
  if (content.empty() || content.size() > kLongestContent) {
    return absl::InvalidArgumentError("an added token of " + std::to_string(content.size()) +
                                      " bytes: 1 to " + std::to_string(kLongestContent) +
                                      " are possible");
  }
  starts_one_[static_cast<unsigned char>(content[0])] = true;
  uint32_t node = 0;
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    auto& children = nodes_[node].children;
    const auto place = std::lower_bound(children.begin(), children.end(), std::pair(byte, 0u));
    if (place != children.end() && place->first == byte) {
      node = place->second;
      continue;
    }
    const auto created = static_cast<uint32_t>(nodes_.size());
    children.insert(place, {byte, created});
    nodes_.emplace_back();
    node = created;
  }
  // Of two that are written the same, the first stands.
  if (nodes_[node].token == nullptr) nodes_[node].token = token;
  return absl::OkStatus();
}

const AddedToken* AddedTokenFinder::Longest(std::string_view text, size_t at, size_t* end) const {
  const AddedToken* longest = nullptr;
  uint32_t node = 0;
  for (; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto& children = nodes_[node].children;
    const auto child = std::lower_bound(children.begin(), children.end(), std::pair(byte, 0u));
    if (child == children.end() || child->first != byte) break;
    node = child->second;
    if (nodes_[node].token != nullptr) {
      longest = nodes_[node].token;
      *end = at + 1;
    }
  }
  return longest;
}

void AddedTokenFinder::Cut(std::string_view text, bool special,
                           std::vector<Section>* sections) const {
  size_t covered = 0;
  for (size_t at = 0; at < text.size();) {
    size_t match_end = 0;
    const AddedToken* token =
        starts_one_[static_cast<unsigned char>(text[at])] ? Longest(text, at, &match_end) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    // What is found is used up, taken or not: nothing shorter is looked for inside.
    size_t begin = at;
    size_t end = match_end;
    at = match_end;
    if (token->special && !special) continue;
    if (token->single_word &&
        (EndsWithWord(text.substr(0, begin)) || StartsWithWord(text.substr(end)))) {
      continue;
    }
    if (token->lstrip) begin = WhiteSpaceBefore(text, begin, std::min(covered, begin));
    if (token->rstrip) end = WhiteSpaceAfter(text, end);
    if (covered < begin) sections->push_back({nullptr, covered, begin});
    sections->push_back({token, begin, end});
    covered = end;
  }
  if (covered < text.size()) sections->push_back({nullptr, covered, text.size()});
}

}  // namespace reenact::local_engine
