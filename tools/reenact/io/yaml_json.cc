#include "tools/reenact/io/yaml_json.h"

#include <yaml.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace reenact::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Aliases of YAML can make a small file into an endless one.
constexpr int kMaxDepth = 32;
constexpr size_t kMaxNodes = 100'000;

absl::Status RefusedYaml(std::string message) {
  return absl::InvalidArgumentError(std::move(message));
}

// Plain words mean what they mean in JSON; YAML 1.1's yes, on and 010 are text.
OrderedJson FromScalar(const yaml_node_t& node) {
  std::string text(reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length);
  if (node.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return text;
  if (text.empty() || text == "~") return nullptr;
  OrderedJson value = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_primitive() && !value.is_discarded() && !value.is_string() ? value
                                                                             : OrderedJson(text);
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

  absl::StatusOr<OrderedJson> Read() {
    if (!loaded_) {
      return RefusedYaml(absl::StrCat("line ", parser_.problem_mark.line + 1, ": ",
                                      parser_.problem != nullptr ? parser_.problem : "no YAML"));
    }
    const yaml_node_t* root = yaml_document_get_root_node(&document_);
    if (root == nullptr) return RefusedYaml("the file is empty");
    return FromNode(*root, 0);
  }

 private:
  absl::StatusOr<OrderedJson> FromNode(const yaml_node_t& node, int depth) {
    if (depth > kMaxDepth || ++nodes_ > kMaxNodes)
      return RefusedYaml("nested too deep, or too large");
    if (node.type == YAML_SCALAR_NODE) return FromScalar(node);
    if (node.type == YAML_SEQUENCE_NODE) {
      OrderedJson list = OrderedJson::array();
      for (auto* item = node.data.sequence.items.start; item < node.data.sequence.items.top;
           ++item) {
        auto value = FromNode(*yaml_document_get_node(&document_, *item), depth + 1);
        if (!value.ok()) return value;
        list.push_back(*std::move(value));
      }
      return list;
    }
    OrderedJson object = OrderedJson::object();
    for (auto* pair = node.data.mapping.pairs.start; pair < node.data.mapping.pairs.top; ++pair) {
      const yaml_node_t& key = *yaml_document_get_node(&document_, pair->key);
      if (key.type != YAML_SCALAR_NODE) return RefusedYaml("a key is a list or an object");
      std::string name(reinterpret_cast<const char*>(key.data.scalar.value),
                       key.data.scalar.length);
      if (object.contains(name))
        return RefusedYaml(
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

}  // namespace

absl::StatusOr<OrderedJson> ReadYaml(const std::string& text) {
  return YamlDocument(text).Read();
}

}  // namespace reenact::tools
