#include "store/reader/internal/jsonl_value.h"

#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"

#include "store/reader/internal/utf8.h"

namespace reenact::store::internal {
namespace {

std::string Base64(std::string_view bytes) {
  return absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
}

// The salted hash that the integrity chain commits to.
std::string SaltedDigestHex(const schema::Body& body) {
  schema::Sha256 hash;
  hash.Update({reinterpret_cast<const char*>(body.salt->data()), body.salt->size()});
  hash.Update(body.bytes);
  return schema::ToHex(hash.Finish());
}

std::optional<std::string> JsonToText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || value.size() != 1 || !value.contains("base64")) return std::nullopt;
  const Json& encoded = value["base64"];
  std::string bytes;
  if (!encoded.is_string() || !absl::Base64Unescape(encoded.get_ref<const std::string&>(), &bytes))
    return std::nullopt;
  return bytes;
}

template <typename Integer>
std::optional<Integer> JsonToInteger(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  Integer number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <size_t kSize>
bool HexToArray(const Json& value, std::array<uint8_t, kSize>* out) {
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  if (text.size() != 2 * kSize) return false;
  for (size_t i = 0; i < kSize; ++i) {
    const char* begin = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, (*out)[i], 16);
    if (error != std::errc() || end != begin + 2) return false;
  }
  return true;
}

std::optional<schema::Tags> JsonToPairs(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  schema::Tags pairs;
  for (const Json& pair : value) {
    if (!pair.is_array() || pair.size() != 2) return std::nullopt;
    std::optional<std::string> first = JsonToText(pair[0]);
    std::optional<std::string> second = JsonToText(pair[1]);
    if (!first || !second) return std::nullopt;
    pairs.emplace_back(std::move(*first), std::move(*second));
  }
  return pairs;
}

std::optional<schema::ExchangeItem> JsonToItem(const Json& value) {
  JsonFields fields(value);
  schema::ExchangeItem item;
  const std::string kind = fields.Text("kind");
  item.offset_ns = fields.Number("offset_ns");
  if (kind == "head") {
    item.kind = schema::ExchangeItemKind::kHead;
    item.status = fields.Small("status");
    item.headers = fields.Pairs("headers");
  } else if (kind == "bytes") {
    item.kind = schema::ExchangeItemKind::kBytes;
    item.size = fields.Unsigned("size");
  } else if (kind == "attempt_end") {
    item.kind = schema::ExchangeItemKind::kAttemptEnd;
    item.detail = fields.Text("detail");
  } else {
    return std::nullopt;
  }
  if (!fields.ok()) return std::nullopt;
  return item;
}

}  // namespace

Json TextToJson(std::string_view text) {
  if (IsUtf8(text)) return Json(std::string(text));
  return Json{{"base64", Base64(text)}};
}

Json NumberToJson(int64_t value) {
  return Json(std::to_string(value));
}

Json UnsignedToJson(uint64_t value) {
  return Json(std::to_string(value));
}

Json TagsToJson(const schema::Tags& tags) {
  Json list = Json::array();
  for (const auto& [key, value] : tags) {
    Json pair = Json::array();
    pair.push_back(TextToJson(key));
    pair.push_back(TextToJson(value));
    list.push_back(std::move(pair));
  }
  return list;
}

Json MomentToJson(const schema::Moment& moment) {
  return Json{{"wall_ns", NumberToJson(moment.wall_ns)},
              {"monotonic_ns", NumberToJson(moment.monotonic_ns)}};
}

Json BodyToJson(const schema::Body& body) {
  Json out;
  out["bytes"] = TextToJson(body.bytes);
  if (body.redacted) out["redacted"] = true;
  if (body.cut) {
    out["original_size"] = UnsignedToJson(body.original_size);
    if (body.original_digest != schema::Digest{})
      out["original_digest"] = schema::ToHex(body.original_digest);
  }
  if (body.salt) {
    out["salt"] =
        schema::ToHex({reinterpret_cast<const char*>(body.salt->data()), body.salt->size()});
    out["digest"] = SaltedDigestHex(body);
  }
  return out;
}

Json ExchangeToJson(const schema::Exchange& exchange) {
  Json list = Json::array();
  for (const schema::ExchangeItem& item : exchange) {
    Json out;
    switch (item.kind) {
      case schema::ExchangeItemKind::kHead:
        out["kind"] = "head";
        out["status"] = item.status;
        out["headers"] = TagsToJson(item.headers);
        break;
      case schema::ExchangeItemKind::kBytes:
        out["kind"] = "bytes";
        out["size"] = UnsignedToJson(item.size);
        break;
      case schema::ExchangeItemKind::kAttemptEnd:
        out["kind"] = "attempt_end";
        out["detail"] = TextToJson(item.detail);
        break;
    }
    out["offset_ns"] = NumberToJson(item.offset_ns);
    list.push_back(std::move(out));
  }
  return list;
}

bool JsonFields::Has(const char* key) const {
  return object_.is_object() && object_.contains(key);
}

const Json* JsonFields::Find(const char* key) {
  if (!ok()) return nullptr;
  if (Has(key)) return &object_[key];
  Fail(key, "is missing");
  return nullptr;
}

void JsonFields::Fail(const char* key, std::string_view what) {
  if (ok()) problem_ = "\"" + std::string(key) + "\" " + std::string(what);
}

std::string JsonFields::Text(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  std::optional<std::string> text = JsonToText(*value);
  if (!text) Fail(key, "is neither a string nor base64");
  return std::move(text).value_or("");
}

int64_t JsonFields::Number(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return 0;
  const std::optional<int64_t> number = JsonToInteger<int64_t>(*value);
  if (!number) Fail(key, "is not a 64-bit integer in a string");
  return number.value_or(0);
}

uint64_t JsonFields::Unsigned(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return 0;
  const std::optional<uint64_t> number = JsonToInteger<uint64_t>(*value);
  if (!number) Fail(key, "is not an unsigned 64-bit integer in a string");
  return number.value_or(0);
}

int32_t JsonFields::Small(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return 0;
  int64_t number = INT64_MAX;
  if (value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<uint64_t>() < INT32_MAX))
    number = value->get<int64_t>();
  if (number < INT32_MIN || number > INT32_MAX) {
    Fail(key, "is not a 32-bit integer");
    return 0;
  }
  return static_cast<int32_t>(number);
}

bool JsonFields::Flag(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) Fail(key, "is not true or false");
  return value->is_boolean() && value->get<bool>();
}

schema::Ulid JsonFields::Id(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  const std::optional<schema::Ulid> id =
      value->is_string() ? schema::ParseUlid(value->get_ref<const std::string&>()) : std::nullopt;
  if (!id) Fail(key, "is not an id");
  return id.value_or(schema::Ulid{});
}

schema::Tags JsonFields::Pairs(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  std::optional<schema::Tags> pairs = JsonToPairs(*value);
  if (!pairs) Fail(key, "is not a list of pairs");
  return std::move(pairs).value_or(schema::Tags{});
}

schema::Moment JsonFields::Time(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  JsonFields fields(*value);
  const schema::Moment moment{.wall_ns = fields.Number("wall_ns"),
                              .monotonic_ns = fields.Number("monotonic_ns")};
  if (!fields.ok()) Fail(key, fields.problem());
  return moment;
}

schema::Body JsonFields::BodyOf(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  JsonFields fields(*value);
  schema::Body body;
  body.bytes = fields.Text("bytes");
  body.redacted = fields.Has("redacted") && fields.Flag("redacted");
  body.cut = fields.Has("original_size");
  if (body.cut) {
    body.original_size = fields.Unsigned("original_size");
    if (fields.Has("original_digest") &&
        !HexToArray((*value)["original_digest"], &body.original_digest))
      fields.Fail("original_digest", "is not 64 hex digits");
  }
  if (fields.ok() && fields.Has("salt")) {
    if (!HexToArray((*value)["salt"], &body.salt.emplace()))
      fields.Fail("salt", "is not 64 hex digits");
    else if (fields.Text("digest") != SaltedDigestHex(body))
      fields.Fail("bytes", "do not match their digest");
  }
  if (!fields.ok()) Fail(key, fields.problem());
  return body;
}

schema::Exchange JsonFields::ExchangeOf(const char* key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  schema::Exchange exchange;
  if (!value->is_array()) Fail(key, "is not a list");
  if (!ok()) return exchange;
  for (const Json& element : *value) {
    std::optional<schema::ExchangeItem> item = JsonToItem(element);
    if (!item) {
      Fail(key, "holds an item that cannot be read");
      break;
    }
    exchange.push_back(std::move(*item));
  }
  return exchange;
}

schema::EndState JsonFields::End(const char* key) {
  const std::string text = Text(key);
  const std::optional<schema::EndState> state = schema::ParseEndState(text);
  if (!state) Fail(key, "is no end state");
  return state.value_or(schema::EndState::kIncomplete);
}

}  // namespace reenact::store::internal
