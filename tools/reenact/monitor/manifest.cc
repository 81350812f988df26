#include "tools/reenact/monitor/manifest.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "nlohmann/json.hpp"
#include "tools/reenact/io/yaml_json.h"

namespace reenact::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

absl::Status Invalid(std::string message) {
  return absl::InvalidArgumentError(absl::StrCat("manifest: ", message));
}

absl::Status CheckKeys(const OrderedJson& object, const std::string& place,
                       std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return Invalid(absl::StrCat(place, " is no object"));
  for (const auto& [key, value] : object.items()) {
    bool is_known = false;
    for (const std::string_view name : known) is_known = is_known || key == name;
    if (!is_known) return Invalid(absl::StrCat("\"", key, "\" of ", place, " is no known key"));
  }
  return absl::OkStatus();
}

// A whole number is as good as its digits; 1.10 would come back as 1.1.
absl::Status ReadText(const OrderedJson& object, const std::string& place, const char* key,
                      std::string* text) {
  if (!object.contains(key)) return absl::OkStatus();
  const OrderedJson& value = object[key];
  if (value.is_string()) {
    *text = value.get<std::string>();
  } else if (value.is_number_integer()) {
    *text = value.dump();
  } else {
    return Invalid(absl::StrCat("\"", key, "\" of ", place, " is no text: write it in quotes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ManifestComponent> ReadComponent(const OrderedJson& object, size_t index) {
  const std::string place = absl::StrCat("component ", index);
  absl::Status read = CheckKeys(object, place, {"kind", "name", "version", "content", "file"});
  ManifestComponent component;
  for (const auto& [key, text] :
       {std::pair{"kind", &component.kind}, std::pair{"name", &component.name},
        std::pair{"version", &component.version}, std::pair{"file", &component.file}}) {
    if (read.ok()) read = ReadText(object, place, key, text);
  }
  if (!read.ok()) return read;
  if (component.kind.empty() || component.name.empty())
    return Invalid(absl::StrCat(place, " needs a kind and a name"));
  if (!object.contains("content")) return component;
  if (!component.file.empty())
    return Invalid(absl::StrCat(place, " has content and file: one of them"));
  const OrderedJson& content = object["content"];
  component.content = content.is_string()
                          ? content.get<std::string>()
                          : content.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return component;
}

}  // namespace

absl::StatusOr<Manifest> ParseManifest(const std::string& text) {
  const absl::StatusOr<OrderedJson> root = ReadYaml(text);
  if (!root.ok()) return Invalid(std::string(root.status().message()));
  Manifest manifest;
  absl::Status read = CheckKeys(*root, "the manifest", {"service", "note", "tags", "components"});
  if (read.ok()) read = ReadText(*root, "the manifest", "service", &manifest.service);
  if (read.ok()) read = ReadText(*root, "the manifest", "note", &manifest.note);
  if (!read.ok()) return read;
  if (root->contains("tags")) {
    const OrderedJson& tags = (*root)["tags"];
    if (!tags.is_object()) return Invalid("\"tags\" is no object");
    for (const auto& [name, value] : tags.items()) {
      manifest.tags.emplace_back(name, "");
      read = ReadText(tags, "tags", name.c_str(), &manifest.tags.back().second);
      if (!read.ok()) return read;
    }
  }
  if (!root->contains("components")) return manifest;
  const OrderedJson& components = (*root)["components"];
  if (!components.is_array()) return Invalid("\"components\" is no list");
  for (size_t i = 0; i < components.size(); ++i) {
    auto component = ReadComponent(components[i], i);
    if (!component.ok()) return component.status();
    manifest.components.push_back(*std::move(component));
  }
  return manifest;
}

}  // namespace reenact::tools
