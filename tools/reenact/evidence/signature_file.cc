#include "tools/reenact/evidence/signature_file.h"

#include <sys/stat.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "schema/sha256.h"
#include "store/reader/evidence_head.h"
#include "store/store_layout.h"
#include "tools/evidence/envelope.h"
#include "tools/evidence/statement.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/io/write_file.h"

namespace reenact::tools {
namespace {

using EvidenceStatement = evidence::Statement;
using store::EvidenceHead;

bool IsStoreFolder(const std::string& path) {
  struct stat status {};

  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string NameOfFile(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// What was signed is still what is there; empty when it is.
std::string CompareWithSigned(const std::string& path, const EvidenceStatement& statement,
                              const EvidenceHead& first_line) {
  if (statement.is_store != first_line.is_store)
    return statement.is_store ? "is of a store, and this is a bundle"
                              : "is of a bundle, and this is a store";
  const auto head = store::ReadEvidenceHead(path, statement.manifest_lines);
  if (statement.is_store && statement.first_line_sha256 != schema::ToHex(first_line.first_line))
    return "is of another store";
  if (absl::IsOutOfRange(head.status()))
    return absl::StrCat("is of ", statement.manifest_lines, " lines, and ", head.status().message(),
                        ": lines were cut off, or the whole store is of an earlier day");
  if (!head.ok()) return std::string(head.status().message());
  if (schema::ToHex(head->sha256) == statement.sha256) return "";
  return statement.is_store
             ? absl::StrCat("does not fit: lines 1 to ", statement.manifest_lines,
                            " of the manifest are not those that were signed")
             : absl::StrCat("does not fit: these are not the bytes that were signed (as ",
                            statement.subject, ")");
}

// One line of the file after the other.
class SignatureCheckList {
 public:
  SignatureCheckList(const std::string& path, const evidence::PublicKey& key, EvidenceHead now)
      : path_(path), key_(key), now_(now) {}

  void Check(const std::string& file, int64_t number, absl::string_view line) {
    const std::string record = absl::StrCat("signature ", number);
    const auto add = [&](std::string problem) {
      report_.findings.push_back({file, record, std::move(problem)});
    };
    const auto envelope = evidence::EnvelopeFromJson({line.data(), line.size()});
    if (!envelope.ok()) return add(std::string(envelope.status().message()));
    switch (CheckSignature(key_, *envelope)) {
      case evidence::SignatureCheck::kFits:
        break;
      case evidence::SignatureCheck::kBroken:
        return add("was changed: it does not fit the key that it names");
      case evidence::SignatureCheck::kOtherKey:
        for (const auto& signature : envelope->signatures) other_keys_.insert(signature.key_id);
        return;
    }
    const auto statement = evidence::StatementFromPayload(envelope->payload);
    if (!statement.ok()) return add(std::string(statement.status().message()));
    if (std::string problem = CompareWithSigned(path_, *statement, now_); !problem.empty())
      return add(absl::StrCat("of ", FormatSeconds(statement->signed_at_wall_ns), " ", problem));
    report_.good.push_back({.signed_at_wall_ns = statement->signed_at_wall_ns,
                            .signed_lines = statement->manifest_lines,
                            .lines = now_.lines});
  }

  SignatureReport Finish(const std::string& file) {
    if (report_.good.empty() && report_.findings.empty()) {
      std::string problem = absl::StrCat("there is none by this key (", key_.id(), ")");
      if (!other_keys_.empty())
        absl::StrAppend(&problem, "; there are by ", absl::StrJoin(other_keys_, ", "));
      report_.findings.push_back({file, "signature", std::move(problem)});
    }
    return std::move(report_);
  }

 private:
  const std::string& path_;
  const evidence::PublicKey& key_;
  EvidenceHead now_;
  std::set<std::string> other_keys_;
  SignatureReport report_;
};

}  // namespace

std::string SignatureFileOf(const std::string& path) {
  return absl::StrCat(path, IsStoreFolder(path) ? "/evidence" : "", ".intoto.jsonl");
}

absl::Status AddSignature(const std::string& path, const evidence::SigningKey& key,
                          const std::string& file) {
  const auto head = store::ReadEvidenceHead(path, 0);
  if (!head.ok()) return head.status();
  EvidenceStatement statement{.is_store = head->is_store,
                              .subject = head->is_store ? "manifest.jsonl" : NameOfFile(path),
                              .sha256 = schema::ToHex(head->sha256),
                              .signed_at_wall_ns = store::WallNowNs()};
  if (head->is_store) {
    statement.manifest_lines = head->lines;
    statement.manifest_bytes = head->bytes;
    statement.first_line_sha256 = schema::ToHex(head->first_line);
  }
  evidence::Envelope envelope{.payload_type = evidence::kPayloadType,
                              .payload = ToPayload(statement)};
  if (absl::Status done = SignEnvelope(key, &envelope); !done.ok()) return done;
  auto before = ReadFile(file);
  if (!before.ok() && !absl::IsNotFound(before.status())) return before.status();
  const std::string earlier = before.ok() ? *std::move(before) : "";
  return WriteFile(file, earlier + ToJsonLine(envelope) + "\n", true);
}

absl::StatusOr<SignatureReport> CheckSignatures(const std::string& path,
                                                const evidence::PublicKey& key,
                                                const std::string& file) {
  const std::string name = NameOfFile(file);
  auto text = ReadFile(file);
  if (absl::IsNotFound(text.status()))
    return SignatureReport{.findings = {{name, "signature", "there is none: no such file"}}};
  if (!text.ok()) return text.status();
  auto now = store::ReadEvidenceHead(path, 0);
  if (absl::IsFailedPrecondition(now.status()))
    return SignatureReport{.findings = {{name, "signature", std::string(now.status().message())}}};
  if (!now.ok()) return now.status();
  SignatureCheckList list(path, key, *now);
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty()))
    list.Check(name, ++number, line);
  return list.Finish(name);
}

}  // namespace reenact::tools
