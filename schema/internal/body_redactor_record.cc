// What a JSON record says about its strings: which hold a credential by the name they are under,
// which are pieces of a longer text, which spell the tokens of an answer.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "schema/internal/assigned_values.h"
#include "schema/internal/body_redactor.h"
#include "schema/internal/credential_names.h"
#include "schema/internal/json_text.h"
#include "schema/redaction.h"

namespace reenact::schema::internal {
namespace {

// Strings that every record of a stream repeats, and that are nobody's continuation.
constexpr std::array<std::string_view, 12> kWholeKeys = {
    "id",   "object",        "model",        "created",     "type",    "system_fingerprint",
    "role", "finish_reason", "service_tier", "obfuscation", "item_id", "event"};

// Members by which a record says which of several texts its piece belongs to.
constexpr std::array<std::string_view, 4> kIndexKeys = {"index", "output_index", "content_index",
                                                        "summary_index"};

constexpr std::array<std::string_view, 4> kPairNameKeys = {"name", "key", "header", "header_name"};

template <size_t kSize>
bool IsOneOf(std::string_view key, const std::array<std::string_view, kSize>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

// Of short texts, eight bytes at a time.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = text.size();
  for (; text.size() > sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof(word));
    hash = Mix(hash, word);
  }
  uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  return Mix(hash, rest);
}

// The key as it is meant; `*decoded` is where it is put when it has escapes.
std::string_view KeyText(std::string_view text, TextSpan key, std::string* decoded) {
  const std::string_view written = Written(text, key);
  if (written.find('\\') == std::string_view::npos) return written;
  decoded->clear();
  AppendDecodedJson(written, decoded);
  return *decoded;
}

}  // namespace

void BodyRedactor::ReadContexts(const View& view, Record* record) const {
  record->contexts.clear();
  for (const OutlineNode& node : record->outline.nodes()) {
    record->contexts.push_back(ContextOf(view, *record, node));
    if (node.parent != kNoNode) NoteMember(view, record, node);
  }
}

BodyRedactor::Context BodyRedactor::ContextOf(const View& view, const Record& record,
                                              const OutlineNode& node) const {
  Context context;
  if (node.parent == kNoNode) return context;
  const Context& parent = record.contexts[node.parent];
  const bool is_element = record.outline.nodes()[node.parent].type == JsonType::kArray;
  std::string decoded;
  const std::string_view key = KeyText(view.text, node.key, &decoded);
  context.in_logprobs = parent.in_logprobs || key == "logprobs";
  context.in_alternatives = parent.in_alternatives || key == "top_logprobs";
  context.path = Mix(parent.path, is_element ? 1 : HashOf(key));
  if (view.level == 0 && !suspicious_) return context;  // Only pieces are of interest.
  if (is_element) {
    context.is_credential = parent.is_credential;
    context.is_header_list = parent.is_header_list;
    // ["Authorization", "Bearer …"] in a list of headers.
    const bool is_pair_value = node.place == 1 && parent.names_credential;
    context.is_credential = context.is_credential || is_pair_value;
  } else {
    context.is_credential =
        scanner_.IsCredential(key) || (parent.is_headers && IsCredentialHeaderMember(key));
    const bool holds_headers = IsHeadersKey(key);
    context.is_headers = holds_headers && node.type == JsonType::kObject;
    context.is_header_list = holds_headers && node.type == JsonType::kArray;
  }
  return context;
}

// What a member says about its parent, and so about the parent's other members. The value of a
// pair may stand before its name; such a pair is seen by ScanNode, which runs afterwards.
void BodyRedactor::NoteMember(const View& view, Record* record, const OutlineNode& node) const {
  Context& parent = record->contexts[node.parent];
  std::string decoded;
  if (node.type == JsonType::kNumber) {
    if (!IsOneOf(KeyText(view.text, node.key, &decoded), kIndexKeys)) return;
    const std::string_view digits = Written(view.text, node.span);
    int64_t index = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), index);
    parent.index = static_cast<int64_t>(
        Mix(static_cast<uint64_t>(parent.index), static_cast<uint64_t>(index)));
    return;
  }
  if (node.type != JsonType::kString || (view.level == 0 && !suspicious_)) return;
  const bool is_element = record->outline.nodes()[node.parent].type == JsonType::kArray;
  if (is_element ? !(parent.is_header_list && node.place == 0)
                 : !IsOneOf(KeyText(view.text, node.key, &decoded), kPairNameKeys)) {
    return;
  }
  std::string decoded_value;
  const std::string_view value = KeyText(view.text, node.span, &decoded_value);
  if (scanner_.IsCredential(value) || IsSecretHeader(value)) parent.names_credential = true;
}

void BodyRedactor::ScanNode(const View& view, const Record& record, uint32_t index) {
  const OutlineNode& node = record.outline.nodes()[index];
  const Context& context = record.contexts[index];
  ScanString(view, node.key);
  bool is_credential = context.is_credential;
  const std::string_view written = Written(view.text, node.span);
  if (!is_credential && node.parent != kNoNode) {
    std::string decoded;
    const std::string_view key = KeyText(view.text, node.key, &decoded);
    is_credential = (record.contexts[node.parent].names_credential && key == "value") ||
                    (IsTokenKey(key) && !context.in_logprobs && node.type == JsonType::kString &&
                     IsOpaque(written));
  }
  if (node.type == JsonType::kNumber) {
    if (is_credential || scanner_.known().IsWithin(written)) {
      AddEdit(view, node.span, Fill::kNull);
    }
  } else if (node.type == JsonType::kString) {
    if (!is_credential) return ScanString(view, node.span);
    if (!written.empty() && written != kRedactedMark) AddEdit(view, node.span, Fill::kMark);
  }
}

void BodyRedactor::AddPieces(const View& view, const Record& record, Pieces pieces) {
  const std::vector<OutlineNode>& nodes = record.outline.nodes();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const OutlineNode& node = nodes[i];
    const Context& context = record.contexts[i];
    if (node.type != JsonType::kString || context.in_alternatives) continue;
    if (node.span.begin >= node.span.end) continue;
    const std::string_view key = Written(view.text, node.key);
    const bool is_token = context.in_logprobs && (key == "token" || key.empty());
    if (!is_token && (pieces != Pieces::kAll || IsOneOf(key, kWholeKeys))) continue;
    uint64_t path = context.path;
    for (uint32_t at = node.parent; at != kNoNode; at = nodes[at].parent) {
      path = Mix(path, static_cast<uint64_t>(record.contexts[at].index));
    }
    Channel& channel = channels_[path];
    channel.text.AppendDecoded(view.text, node.span.begin, node.span.end, OriginOf(view));
    ++channel.piece_count;
  }
}

void BodyRedactor::AddLogprobs(const View& view, const Record& record) {
  const std::vector<OutlineNode>& nodes = record.outline.nodes();
  const size_t first = logprobs_.size();
  const auto in_body = [origin = OriginOf(view)](const TextSpan& span) {
    return TextSpan{span.begin + origin, span.end + origin};
  };
  TextSpan completion_alternatives;  // The older form: {"tokens": […], "top_logprobs": […]}.
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const OutlineNode& node = nodes[i];
    const Context& context = record.contexts[i];
    if (!context.in_logprobs || node.parent == kNoNode) continue;
    const std::string_view key = Written(view.text, node.key);
    const bool is_top = key == "top_logprobs";
    if (context.in_alternatives && !is_top) continue;
    const std::string_view parent_key = Written(view.text, nodes[node.parent].key);
    if (is_top && parent_key == "logprobs") {
      completion_alternatives = in_body(node.span);
      continue;
    }
    if (node.type == JsonType::kString && parent_key == "tokens") {
      logprobs_.push_back(
          {.owner = i, .token = in_body(node.span), .alternatives_fill = Fill::kNull});
      continue;
    }
    // An entry's members are neighbours: {"token", "logprob", "bytes", "top_logprobs"}.
    if (key == "token" || key == "bytes" || is_top) {
      if (logprobs_.size() == first || logprobs_.back().owner != node.parent) {
        logprobs_.push_back({.owner = node.parent});
      }
      LogprobEntry& entry = logprobs_.back();
      if (key == "token") entry.token = in_body(node.span);
      if (key == "bytes" && node.type == JsonType::kArray) entry.bytes = in_body(node.span);
      if (is_top && node.type == JsonType::kArray) entry.alternatives = in_body(node.span);
    }
  }
  for (size_t i = first; i < logprobs_.size(); ++i) {
    if (logprobs_[i].alternatives_fill == Fill::kNull) {
      logprobs_[i].alternatives = completion_alternatives;
    }
  }
}

}  // namespace reenact::schema::internal
