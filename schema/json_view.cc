#include "schema/json_view.h"

#include <charconv>
#include <limits>
#include <system_error>

#include "schema/internal/decimal.h"
#include "schema/internal/json_parser.h"
#include "schema/internal/json_text.h"

namespace reenact::schema {
namespace {

// The text between the quotes of a string as written.
std::string_view Inner(std::string_view quoted) {
  return quoted.substr(1, quoted.size() - 2);
}

bool HasText(std::string_view quoted, std::string_view text) {
  const std::string_view inner = Inner(quoted);
  if (inner.find('\\') == std::string_view::npos) return inner == text;
  std::string decoded;
  internal::AppendDecodedJson(inner, &decoded);
  return decoded == text;
}

// An integer's magnitude, when it has one that fits.
std::optional<uint64_t> Magnitude(const internal::Decimal& decimal) {
  constexpr int64_t kMaxZeros = 19;
  if (decimal.exponent < 0 || decimal.exponent > kMaxZeros) return std::nullopt;
  const std::string digits =
      decimal.digits + std::string(static_cast<size_t>(decimal.exponent), '0');
  if (digits.empty()) return 0;
  uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::unique_ptr<JsonDocument> JsonDocument::Parse(std::string_view text, std::string* error) {
  auto document = std::make_unique<JsonDocument>();
  document->text_ = text;
  JsonParser parser(document.get());
  if (parser.Run()) return document;
  if (error != nullptr) *error = parser.error();
  return nullptr;
}

JsonType JsonValue::type() const {
  return is_present() ? document_->nodes_[node_].type : JsonType::kNull;
}

std::string_view JsonValue::raw() const {
  return is_present() ? document_->text_.substr(begin_offset(), end_offset() - begin_offset())
                      : std::string_view();
}

size_t JsonValue::begin_offset() const {
  return is_present() ? document_->nodes_[node_].begin : 0;
}

size_t JsonValue::end_offset() const {
  return is_present() ? document_->nodes_[node_].end : 0;
}

std::string JsonValue::AsString() const {
  std::string text;
  if (is_string()) internal::AppendDecodedJson(Inner(raw()), &text);
  return text;
}

bool JsonValue::AsBool() const {
  return is_bool() && raw() == "true";
}

std::optional<int64_t> JsonValue::AsInt64() const {
  if (!is_number()) return std::nullopt;
  const std::optional<internal::Decimal> decimal = internal::ParseDecimal(raw());
  if (!decimal) return std::nullopt;
  const std::optional<uint64_t> magnitude = Magnitude(*decimal);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!magnitude || *magnitude > kMax + (decimal->negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(decimal->negative ? ~*magnitude + 1 : *magnitude);
}

std::optional<uint64_t> JsonValue::AsUint64() const {
  if (!is_number()) return std::nullopt;
  const std::optional<internal::Decimal> decimal = internal::ParseDecimal(raw());
  if (!decimal || decimal->negative) return std::nullopt;
  return Magnitude(*decimal);
}

std::optional<double> JsonValue::AsDouble() const {
  if (!is_number()) return std::nullopt;
  const std::string_view written = raw();
  double value = 0;
  const auto result = std::from_chars(written.data(), written.data() + written.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  const bool negative = written.front() == '-';
  const double limit = internal::IsHuge(written) ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -limit : limit;
}

size_t JsonValue::size() const {
  return is_present() ? document_->nodes_[node_].size : 0;
}

uint32_t JsonValue::KeyNodeAt(size_t index) const {
  return document_->children_[document_->nodes_[node_].children + index];
}

JsonValue JsonValue::operator[](size_t index) const {
  if (index >= size()) return {};
  const uint32_t child = KeyNodeAt(index);
  return {document_, type() == JsonType::kObject ? child + 1 : child};
}

JsonValue JsonValue::operator[](std::string_view key) const {
  if (!is_object()) return {};
  for (size_t i = size(); i-- > 0;) {
    if (HasText(RawKeyAt(i), key)) return {document_, KeyNodeAt(i) + 1};
  }
  return {};
}

std::string JsonValue::KeyAt(size_t index) const {
  std::string key;
  if (is_object() && index < size()) internal::AppendDecodedJson(Inner(RawKeyAt(index)), &key);
  return key;
}

std::string_view JsonValue::RawKeyAt(size_t index) const {
  if (!is_object() || index >= size()) return {};
  return JsonValue(document_, KeyNodeAt(index)).raw();
}

}  // namespace reenact::schema
