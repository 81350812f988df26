#include "tools/evidence/statement.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace reenact::evidence {
namespace {

constexpr char kStatementType[] = "https://in-toto.io/Statement/v1";
constexpr char kStoreHead[] = "urn:reenact:store-head:1";
constexpr char kBundle[] = "urn:reenact:bundle:1";

using Json = nlohmann::ordered_json;

std::string TextAt(const nlohmann::json& json, const char* pointer) {
  const nlohmann::json::json_pointer place{pointer};
  if (!json.contains(place) || !json.at(place).is_string()) return "";
  return json.at(place).get<std::string>();
}

int64_t NumberAt(const nlohmann::json& json, const char* pointer) {
  const nlohmann::json::json_pointer place{pointer};
  if (!json.contains(place) || !json.at(place).is_number_integer()) return 0;
  return json.at(place).get<int64_t>();
}

std::string TextOfTime(int64_t wall_ns) {
  return absl::FormatTime(absl::RFC3339_sec, absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

}  // namespace

std::string ToPayload(const Statement& statement) {
  Json predicate;
  predicate["signed_at"] = TextOfTime(statement.signed_at_wall_ns);
  if (statement.is_store) {
    predicate["manifest_lines"] = statement.manifest_lines;
    predicate["manifest_bytes"] = statement.manifest_bytes;
    predicate["first_line_sha256"] = statement.first_line_sha256;
  }
  Json json;
  json["_type"] = kStatementType;
  json["subject"] =
      Json::array({{{"name", statement.subject}, {"digest", {{"sha256", statement.sha256}}}}});
  json["predicateType"] = statement.is_store ? kStoreHead : kBundle;
  json["predicate"] = std::move(predicate);
  // A file's name may be any bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Statement> StatementFromPayload(std::string_view payload) {
  const auto json = nlohmann::json::parse(payload, nullptr, false);
  if (TextAt(json, "/_type") != kStatementType)
    return absl::DataLossError("is no in-toto statement");
  const std::string kind = TextAt(json, "/predicateType");
  if (kind != kStoreHead && kind != kBundle)
    return absl::DataLossError(
        absl::StrCat("is a statement of kind \"", kind, "\", which this Reenact does not know"));
  Statement statement{.is_store = kind == kStoreHead,
                      .subject = TextAt(json, "/subject/0/name"),
                      .sha256 = TextAt(json, "/subject/0/digest/sha256")};
  absl::Time signed_at;
  std::string why;
  if (!absl::ParseTime(absl::RFC3339_full, TextAt(json, "/predicate/signed_at"), &signed_at, &why))
    return absl::DataLossError("does not say when it was signed");
  statement.signed_at_wall_ns = absl::ToUnixNanos(signed_at);
  if (!statement.is_store) return statement;
  statement.manifest_lines = NumberAt(json, "/predicate/manifest_lines");
  statement.manifest_bytes = NumberAt(json, "/predicate/manifest_bytes");
  statement.first_line_sha256 = TextAt(json, "/predicate/first_line_sha256");
  if (statement.manifest_lines <= 0)
    return absl::DataLossError("does not say how much of the manifest it is of");
  return statement;
}

}  // namespace reenact::evidence
