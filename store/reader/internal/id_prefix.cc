#include "store/reader/internal/id_prefix.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reenact::store::internal {
namespace {

constexpr size_t kMinPrefix = 4;
constexpr size_t kUlidLength = 26;
constexpr size_t kListedCandidates = 10;

}  // namespace

bool IsLast(const std::string& text) {
  return absl::EqualsIgnoreCase(text, "last");
}

absl::StatusOr<schema::Ulid> ResolvePrefix(const std::string& text, const std::string& noun,
                                           const std::vector<schema::Ulid>& ids) {
  const std::string prefix = absl::AsciiStrToUpper(text);
  if (prefix.size() < kMinPrefix || prefix.size() > kUlidLength) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is no ", noun, " id: give \"last\", an id, or at least its first ",
        kMinPrefix, " characters"));
  }
  std::vector<std::string> matches;
  for (const schema::Ulid& id : ids) {
    std::string written = ToString(id);
    if (absl::StartsWith(written, prefix)) matches.push_back(std::move(written));
  }
  if (matches.empty()) return absl::NotFoundError(absl::StrCat("no ", noun, " \"", text, "\""));
  if (matches.size() > 1) {
    const size_t count = matches.size();
    matches.resize(std::min(count, kListedCandidates));
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is the beginning of ", count,
                                                   " ", noun, "s: ", absl::StrJoin(matches, ", "),
                                                   count > matches.size() ? ", ..." : ""));
  }
  return *schema::ParseUlid(matches.front());
}

}  // namespace reenact::store::internal
