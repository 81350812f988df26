#include "schema/redaction.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "schema/internal/body_redactor.h"
#include "schema/internal/credential_names.h"
#include "schema/internal/secret_scanner.h"

namespace reenact::schema {
namespace {

// What is taken out may bring together what now looks like a secret. A second look settles nearly
// all; the bound is for texts made to defeat it.
constexpr int kMaxPasses = 8;

Redacted Apply(std::string_view body, const std::vector<internal::Edit>& edits) {
  Redacted redacted;
  redacted.bytes.reserve(body.size());
  size_t at = 0;
  for (const internal::Edit& edit : edits) {
    redacted.bytes.append(body, at, edit.span.begin - at);
    const std::string_view fill = internal::ToText(edit.fill);
    redacted.replacements.push_back(
        {edit.span.begin, edit.span.end - edit.span.begin, redacted.bytes.size(), fill.size()});
    redacted.bytes.append(fill);
    at = edit.span.end;
  }
  redacted.bytes.append(body, at, body.size() - at);
  return redacted;
}

// Replacements of one text and of its result as replacements of the text by the second result.
// Both lists cut the middle text; each stretch that either has touched becomes one replacement.
std::vector<Replacement> Compose(const std::vector<Replacement>& first,
                                 const std::vector<Replacement>& second) {
  std::vector<Replacement> composed;
  int64_t first_shift = 0;   // What to add to an untouched offset to go back to the text,
  int64_t second_shift = 0;  // or on to the second result.
  size_t i = 0;
  size_t k = 0;
  while (i < first.size() || k < second.size()) {
    const bool starts_with_first =
        k == second.size() || (i < first.size() && first[i].new_offset <= second[k].old_offset);
    size_t begin = starts_with_first ? first[i].new_offset : second[k].old_offset;
    size_t end = begin;
    const auto old_begin = static_cast<size_t>(static_cast<int64_t>(begin) + first_shift);
    const auto new_begin = static_cast<size_t>(static_cast<int64_t>(begin) + second_shift);
    for (bool grew = true; grew;) {
      grew = false;
      if (i < first.size() && (first[i].new_offset < end || first[i].new_offset == begin)) {
        const Replacement& r = first[i++];
        end = std::max(end, r.new_offset + r.new_size);
        first_shift = static_cast<int64_t>(r.old_offset + r.old_size) -
                      static_cast<int64_t>(r.new_offset + r.new_size);
        grew = true;
      }
      if (k < second.size() && (second[k].old_offset < end || second[k].old_offset == begin)) {
        const Replacement& r = second[k++];
        end = std::max(end, r.old_offset + r.old_size);
        second_shift = static_cast<int64_t>(r.new_offset + r.new_size) -
                       static_cast<int64_t>(r.old_offset + r.old_size);
        grew = true;
      }
    }
    const auto old_end = static_cast<size_t>(static_cast<int64_t>(end) + first_shift);
    const auto new_end = static_cast<size_t>(static_cast<int64_t>(end) + second_shift);
    composed.push_back({old_begin, old_end - old_begin, new_begin, new_end - new_begin});
  }
  return composed;
}

// `offset` of the old bytes in the new ones; inside a replacement, its end.
uint64_t MapOffset(const std::vector<Replacement>& replacements, uint64_t offset) {
  auto after =
      std::partition_point(replacements.begin(), replacements.end(),
                           [offset](const Replacement& r) { return r.old_offset < offset; });
  if (after == replacements.begin()) return offset;
  const Replacement& last = *std::prev(after);
  const uint64_t old_end = last.old_offset + last.old_size;
  const uint64_t new_end = last.new_offset + last.new_size;
  return offset <= old_end ? new_end : offset - old_end + new_end;
}

}  // namespace

Redactor::Redactor(const RedactionPolicy& policy) {
  if (!policy.enabled) return;
  if (!policy.secrets.empty() || !policy.extra_json_keys.empty()) {
    scanner_ =
        std::make_shared<const internal::SecretScanner>(policy.secrets, policy.extra_json_keys);
    return;
  }
  // What all policies have in common is made ready once, and never destroyed: a host may record
  // while its statics are going.
  static const auto& built_in = *new std::shared_ptr<const internal::SecretScanner>(
      std::make_shared<const internal::SecretScanner>(std::vector<std::string>(),
                                                      std::vector<std::string>()));
  scanner_ = built_in;
}

Redacted Redactor::RedactBody(std::string_view body) const {
  Redacted result{.bytes = std::string(body), .replacements = {}};
  if (scanner_ == nullptr || internal::BodyRedactor::IsPlainlyClean(*scanner_, body)) return result;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const std::vector<internal::Edit> edits =
        internal::BodyRedactor(*scanner_, result.bytes).Find();
    if (edits.empty()) break;
    Redacted next = Apply(result.bytes, edits);
    next.replacements = Compose(result.replacements, next.replacements);
    result = std::move(next);
  }
  return result;
}

bool Redactor::NeedsRedaction(std::string_view body) const {
  if (scanner_ == nullptr || internal::BodyRedactor::IsPlainlyClean(*scanner_, body)) return false;
  return !internal::BodyRedactor(*scanner_, body).Find().empty();
}

Redacted RedactBody(std::string_view body, const RedactionPolicy& policy) {
  return Redactor(policy).RedactBody(body);
}

bool NeedsRedaction(std::string_view body, const RedactionPolicy& policy) {
  return Redactor(policy).NeedsRedaction(body);
}

void MapCuts(const std::vector<Replacement>& replacements, Exchange* exchange) {
  uint64_t old_end = 0;
  uint64_t new_begin = 0;
  for (ExchangeItem& item : *exchange) {
    if (item.kind != ExchangeItemKind::kBytes) continue;
    old_end += item.size;
    const uint64_t new_end = MapOffset(replacements, old_end);
    item.size = new_end - new_begin;
    new_begin = new_end;
  }
}

}  // namespace reenact::schema
