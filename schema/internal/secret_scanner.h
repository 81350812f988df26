// Finds secrets in one piece of plain text, by local evidence: the form of a value, the name
// before it, its place in a URL, or that it is known. Knows nothing of JSON or streams; see
// body_redactor.h for how a body is taken apart into such texts.

#ifndef REENACT_SCHEMA_INTERNAL_SECRET_SCANNER_H_
#define REENACT_SCHEMA_INTERNAL_SECRET_SCANNER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/internal/known_secrets.h"
#include "schema/internal/mapped_text.h"
#include "schema/internal/secret_triggers.h"

namespace reenact::schema::internal {

// A policy, prepared. Threads: any number may use one.
class SecretScanner {
 public:
  SecretScanner(const std::vector<std::string>& secrets, std::vector<std::string> extra_keys);

  // The secrets in `text`, in order, not overlapping. Escapes of JSON are not resolved, but a span
  // never begins or ends inside one.
  std::vector<TextSpan> Find(std::string_view text) const;

  // False only when neither Find nor a look at the JSON in `text`, escapes resolved, can find
  // anything. True costs the caller that look.
  bool MayHold(std::string_view text) const;

  // Built-in names and those of the policy.
  bool IsCredential(std::string_view key) const;

  const KnownSecrets& known() const { return known_; }

 private:
  std::optional<TextSpan> FindAt(std::string_view text, size_t at, const Trigger& trigger) const;
  bool MayHoldAt(std::string_view text, size_t at, const Trigger& trigger) const;
  std::optional<TextSpan> FindAssigned(std::string_view text, size_t at) const;

  std::vector<std::string> extra_keys_;
  KnownSecrets known_;
  SecretTriggers triggers_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_SECRET_SCANNER_H_
