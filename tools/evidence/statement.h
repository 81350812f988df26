// What is signed, in words: an in-toto statement whose subject is the head of a store's manifest or
// a bundle. Anybody who reads in-toto attestations can check a bundle's; the predicate says which
// lines of a store's manifest the digest is of.
//
// Source: https://github.com/in-toto/attestation, spec/v1/statement.md.

#ifndef REENACT_TOOLS_EVIDENCE_STATEMENT_H_
#define REENACT_TOOLS_EVIDENCE_STATEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace reenact::evidence {

inline constexpr char kPayloadType[] = "application/vnd.in-toto+json";

struct Statement {
  bool is_store = false;
  std::string subject;  // "manifest.jsonl", or the bundle's file name.
  std::string sha256;   // Hex; of the first `manifest_bytes` of the manifest, or of the bundle.
  int64_t signed_at_wall_ns = 0;
  // Of a store:
  int64_t manifest_lines = 0;
  int64_t manifest_bytes = 0;
  std::string first_line_sha256;  // Hex.
};

std::string ToPayload(const Statement& statement);
// Errors: DataLoss (no statement of ours, or of a kind that this version does not know).
absl::StatusOr<Statement> StatementFromPayload(std::string_view payload);

}  // namespace reenact::evidence

#endif  // REENACT_TOOLS_EVIDENCE_STATEMENT_H_
