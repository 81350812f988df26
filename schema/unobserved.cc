#include "schema/unobserved.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "schema/json_view.h"
#include "schema/request_edit.h"

namespace reenact::schema {
namespace {

constexpr std::string_view kKind = "unobserved";
constexpr std::string_view kName = "record";
constexpr std::string_view kForm = "1";

void AddList(std::string_view key, std::vector<std::string>* texts, std::string* out) {
  std::sort(texts->begin(), texts->end());
  texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
  *out += out->empty() ? "{" : ",";
  *out += QuotedJson(key) + ":[";
  for (size_t i = 0; i < texts->size(); ++i) *out += (i > 0 ? "," : "") + QuotedJson((*texts)[i]);
  *out += ']';
}

std::vector<std::string> ListOf(const JsonValue& value) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < value.size(); ++i) texts.push_back(value[i].AsString());
  return texts;
}

}  // namespace

Component ToComponent(Unobserved unobserved) {
  Component component;
  component.kind = kKind;
  component.name = kName;
  component.version = kForm;
  std::string& json = component.content.bytes;
  AddList("peers", &unobserved.peers, &json);
  AddList("names", &unobserved.names, &json);
  AddList("tunnels", &unobserved.tunnels, &json);
  AddList("programs", &unobserved.programs, &json);
  json += '}';
  return component;
}

std::optional<Unobserved> UnobservedOf(const RecordedRun& run) {
  for (const Component& component : run.components) {
    if (component.kind != kKind || component.version != kForm) continue;
    const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(component.content.bytes);
    if (!document) continue;
    const JsonValue root = document->root();
    return Unobserved{.peers = ListOf(root["peers"]),
                      .names = ListOf(root["names"]),
                      .tunnels = ListOf(root["tunnels"]),
                      .programs = ListOf(root["programs"])};
  }
  return std::nullopt;
}

}  // namespace reenact::schema
