#include "tools/reenact/evidence/redaction_policy.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "tools/reenact/io/yaml_json.h"

namespace reenact::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kShortestText = 6;  // Shorter ones are ignored by the policy.

absl::Status InvalidPolicy(std::string message) {
  return absl::InvalidArgumentError(absl::StrCat("redaction policy: ", message));
}

absl::Status AddEach(const OrderedJson& list, const std::string& name,
                     absl::Status (*add)(const std::string&, schema::RedactionPolicy*),
                     schema::RedactionPolicy* policy) {
  if (!list.is_array()) return InvalidPolicy(absl::StrCat("\"", name, "\" is no list"));
  for (const OrderedJson& item : list) {
    // A number is as good as its digits; true and null are words that somebody meant otherwise.
    if (!item.is_string() && !item.is_number_integer())
      return InvalidPolicy(
          absl::StrCat("\"", name, "\" holds what is no text: write it in quotes"));
    absl::Status added = add(item.is_string() ? item.get<std::string>() : item.dump(), policy);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddText(const std::string& text, schema::RedactionPolicy* policy) {
  if (text.size() < kShortestText)
    return InvalidPolicy(absl::StrCat("a text of ", text.size(), " bytes is too short: below ",
                                      kShortestText, " it would be found in ordinary text"));
  if (text == schema::kRedactedMark)
    return InvalidPolicy("the mark of what was redacted cannot be redacted");
  policy->secrets.push_back(text);
  return absl::OkStatus();
}

absl::Status AddKey(const std::string& key, schema::RedactionPolicy* policy) {
  const std::string trimmed(absl::StripAsciiWhitespace(key));
  if (trimmed.empty()) return InvalidPolicy("a key has no name");
  // Changed runs list the names with commas between them.
  if (trimmed.find(',') != std::string::npos)
    return InvalidPolicy(absl::StrCat("the key \"", trimmed, "\" holds a comma"));
  policy->extra_json_keys.push_back(trimmed);
  return absl::OkStatus();
}

absl::StatusOr<schema::RedactionPolicy> ParseRedactionPolicy(const std::string& text) {
  const absl::StatusOr<OrderedJson> root = ReadYaml(text);
  if (!root.ok()) return InvalidPolicy(std::string(root.status().message()));
  if (!root->is_object()) return InvalidPolicy("the file holds no object with texts or keys");
  schema::RedactionPolicy policy;
  for (const auto& [name, value] : root->items()) {
    if (name != "texts" && name != "keys")
      return InvalidPolicy(
          absl::StrCat("\"", name, "\" is no known key; there are texts and keys"));
    absl::Status added = AddEach(value, name, name == "texts" ? AddText : AddKey, &policy);
    if (!added.ok()) return added;
  }
  return policy;
}

}  // namespace reenact::tools
