#include "tools/reenact/manifest.h"

#include <yaml.h>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "nlohmann/json.hpp"

namespace reenact::tools {
namespace {

using Json = nlohmann::ordered_json;

// Aliases of YAML can make a small file into an endless one.
constexpr int kMaxDepth = 32;
constexpr size_t kMaxNodes = 100'000;

absl::Status Invalid(std::string message) {
  return absl::InvalidArgumentError(absl::StrCat("manifest: ", message));
}

// Plain words mean what they mean in JSON; YAML 1.1's yes, on and 010 are text.
Json FromScalar(const yaml_node_t& node) {
  std::string text(reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length);
  if (node.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return text;
  if (text.empty() || text == "~") return nullptr;
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_primitive() && !value.is_discarded() && !value.is_string() ? value : Json(text);
}

class YamlDocument {
 public:
  explicit YamlDocument(const std::string& text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    loaded_ = yaml_parser_load(&parser_, &document_) != 0;
  }

  ~YamlDocument() {
    if (loaded_) yaml_document_delete(&document_);
    yaml_parser_delete(&parser_);
  }

  YamlDocument(const YamlDocument&) = delete;
  YamlDocument& operator=(const YamlDocument&) = delete;

  absl::StatusOr<Json> Read() {
    if (!loaded_) {
      return Invalid(absl::StrCat("line ", parser_.problem_mark.line + 1, ": ",
                                  parser_.problem != nullptr ? parser_.problem : "no YAML"));
    }
    const yaml_node_t* root = yaml_document_get_root_node(&document_);
    if (root == nullptr) return Invalid("the file is empty");
    return FromNode(*root, 0);
  }

 private:
  absl::StatusOr<Json> FromNode(const yaml_node_t& node, int depth) {
    if (depth > kMaxDepth || ++nodes_ > kMaxNodes) return Invalid("nested too deep, or too large");
    if (node.type == YAML_SCALAR_NODE) return FromScalar(node);
    if (node.type == YAML_SEQUENCE_NODE) {
      Json list = Json::array();
      for (auto* item = node.data.sequence.items.start; item < node.data.sequence.items.top;
           ++item) {
        auto value = FromNode(*yaml_document_get_node(&document_, *item), depth + 1);
        if (!value.ok()) return value;
        list.push_back(*std::move(value));
      }
      return list;
    }
    Json object = Json::object();
    for (auto* pair = node.data.mapping.pairs.start; pair < node.data.mapping.pairs.top; ++pair) {
      const yaml_node_t& key = *yaml_document_get_node(&document_, pair->key);
      if (key.type != YAML_SCALAR_NODE) return Invalid("a key is a list or an object");
      std::string name(reinterpret_cast<const char*>(key.data.scalar.value),
                       key.data.scalar.length);
      if (object.contains(name))
        return Invalid(
            absl::StrCat("line ", key.start_mark.line + 1, ": \"", name, "\" is there twice"));
      auto value = FromNode(*yaml_document_get_node(&document_, pair->value), depth + 1);
      if (!value.ok()) return value;
      object[name] = *std::move(value);
    }
    return object;
  }

  yaml_parser_t parser_{};
  yaml_document_t document_{};
  bool loaded_ = false;
  size_t nodes_ = 0;
};

absl::Status CheckKeys(const Json& object, const std::string& place,
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
absl::Status ReadText(const Json& object, const std::string& place, const char* key,
                      std::string* text) {
  if (!object.contains(key)) return absl::OkStatus();
  const Json& value = object[key];
  if (value.is_string()) {
    *text = value.get<std::string>();
  } else if (value.is_number_integer()) {
    *text = value.dump();
  } else {
    return Invalid(absl::StrCat("\"", key, "\" of ", place, " is no text: write it in quotes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ManifestComponent> ReadComponent(const Json& object, size_t index) {
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
  const Json& content = object["content"];
  component.content = content.is_string()
                          ? content.get<std::string>()
                          : content.dump(-1, ' ', false, Json::error_handler_t::replace);
  return component;
}

}  // namespace

absl::StatusOr<Manifest> ParseManifest(const std::string& text) {
  const absl::StatusOr<Json> root = YamlDocument(text).Read();
  if (!root.ok()) return root.status();
  Manifest manifest;
  absl::Status read = CheckKeys(*root, "the manifest", {"service", "note", "tags", "components"});
  if (read.ok()) read = ReadText(*root, "the manifest", "service", &manifest.service);
  if (read.ok()) read = ReadText(*root, "the manifest", "note", &manifest.note);
  if (!read.ok()) return read;
  if (root->contains("tags")) {
    const Json& tags = (*root)["tags"];
    if (!tags.is_object()) return Invalid("\"tags\" is no object");
    for (const auto& [name, value] : tags.items()) {
      manifest.tags.emplace_back(name, "");
      read = ReadText(tags, "tags", name.c_str(), &manifest.tags.back().second);
      if (!read.ok()) return read;
    }
  }
  if (!root->contains("components")) return manifest;
  const Json& components = (*root)["components"];
  if (!components.is_array()) return Invalid("\"components\" is no list");
  for (size_t i = 0; i < components.size(); ++i) {
    auto component = ReadComponent(components[i], i);
    if (!component.ok()) return component.status();
    manifest.components.push_back(*std::move(component));
  }
  return manifest;
}

}  // namespace reenact::tools
