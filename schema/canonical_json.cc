#include "schema/canonical_json.h"

#include <algorithm>
#include <cstdint>

#include "schema/internal/canonical_reading.h"
#include "schema/internal/decimal.h"

namespace reenact::schema {
namespace internal {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// The code unit that the three bytes at `at` spell when they are a surrogate's, else 0.
unsigned SurrogateAt(std::string_view text, size_t at) {
  if (text.size() - at < 3) return 0;
  const auto byte = [text, at](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  if (byte(0) != 0xed || byte(1) < 0xa0 || byte(1) > 0xbf || (byte(2) & 0xc0) != 0x80) return 0;
  return 0xd000u | static_cast<unsigned>(byte(1) & 0x3f) << 6 |
         static_cast<unsigned>(byte(2) & 0x3f);
}

void AppendUnicodeEscape(unsigned unit, std::string* out) {
  out->append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out->push_back(kHexDigits[unit >> shift & 15]);
}

void AppendEscaped(char c, std::string* out) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  const size_t place = kEscaped.find(c);
  if (place == std::string_view::npos) return AppendUnicodeEscape(static_cast<uint8_t>(c), out);
  out->push_back('\\');
  out->push_back(kLetters[place]);
}

void AppendQuoted(std::string_view text, std::string* out) {
  out->push_back('"');
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (const unsigned surrogate = SurrogateAt(text, at); surrogate != 0) {
      AppendUnicodeEscape(surrogate, out);
      at += 3;
      continue;
    }
    if (static_cast<uint8_t>(c) < 0x20 || c == '"' || c == '\\') {
      AppendEscaped(c, out);
    } else {
      out->push_back(c);
    }
    ++at;
  }
  out->push_back('"');
}

void AppendCanonical(const JsonReading& reading, std::string* out);

void AppendArray(const JsonReading& array, std::string* out) {
  out->push_back('[');
  for (size_t i = 0; i < array.value.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendCanonical({array.value[i], array.edits}, out);
  }
  out->push_back(']');
}

void AppendObject(const JsonReading& object, std::string* out) {
  std::vector<JsonMember> members = CountingMembers(object);
  std::sort(members.begin(), members.end(),
            [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  out->push_back('{');
  bool first = true;
  for (const JsonMember& member : members) {
    if (!first) out->push_back(',');
    first = false;
    AppendQuoted(member.key, out);
    out->push_back(':');
    AppendCanonical({member.value, object.edits}, out);
  }
  out->push_back('}');
}

// Recursion is bounded by kMaxJsonDepth.
void AppendCanonical(const JsonReading& reading, std::string* out) {
  const JsonValue& value = reading.value;
  const auto edit = reading.edits->find(value.begin_offset());
  if (edit != reading.edits->end() && edit->second) {
    out->append(*edit->second);
    return;
  }
  switch (value.type()) {
    case JsonType::kNull:
    case JsonType::kBool:
      out->append(value.raw());
      break;
    case JsonType::kNumber:
      out->append(CanonicalNumber(value.raw()));
      break;
    case JsonType::kString:
      AppendQuoted(value.AsString(), out);
      break;
    case JsonType::kArray:
      AppendArray(reading, out);
      break;
    case JsonType::kObject:
      AppendObject(reading, out);
      break;
  }
}

}  // namespace

std::vector<JsonMember> CountingMembers(const JsonReading& object) {
  std::vector<JsonMember> members;
  for (size_t i = 0; i < object.value.size(); ++i) {
    members.push_back({object.value.KeyAt(i), object.value[i]});
  }
  // Places of the members by key, later ones first among equals: all but the first are shadowed.
  std::vector<size_t> order(members.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&members](size_t a, size_t b) {
    const int comparison = members[a].key.compare(members[b].key);
    return comparison != 0 ? comparison < 0 : a > b;
  });
  std::vector<bool> counts(members.size(), true);
  for (size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].key == members[order[i - 1]].key) counts[order[i]] = false;
  }
  std::vector<JsonMember> counting;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto edit = object.edits->find(members[i].value.begin_offset());
    const bool absent = edit != object.edits->end() && !edit->second;
    if (counts[i] && !absent) counting.push_back(std::move(members[i]));
  }
  return counting;
}

std::string CanonicalJson(const JsonReading& reading) {
  std::string out;
  if (reading.value.is_present()) AppendCanonical(reading, &out);
  return out;
}

}  // namespace internal

std::string CanonicalJson(JsonValue value) {
  const internal::Edits none;
  return internal::CanonicalJson({value, &none});
}

// Plain digits where that takes few zeros, else digits and exponent: 1e999999999 is a number of
// ten characters, and stays one.
std::string CanonicalNumber(std::string_view written) {
  constexpr int64_t kMaxZeros = 40;
  const std::optional<internal::Decimal> decimal = internal::ParseDecimal(written);
  if (!decimal) return std::string(written);  // NaN, Infinity, and exponents beyond counting.
  if (decimal->digits.empty()) return "0";
  std::string text = decimal->negative ? "-" : "";
  const std::string& digits = decimal->digits;
  const auto point = static_cast<int64_t>(digits.size()) + decimal->exponent;
  if (decimal->exponent > kMaxZeros || point < -kMaxZeros) {
    return text.append(digits).append("e").append(std::to_string(decimal->exponent));
  }
  if (decimal->exponent >= 0) {
    return text.append(digits).append(static_cast<size_t>(decimal->exponent), '0');
  }
  if (point <= 0) return text.append("0.").append(static_cast<size_t>(-point), '0').append(digits);
  return text.append(digits, 0, static_cast<size_t>(point))
      .append(".")
      .append(digits, static_cast<size_t>(point));
}

}  // namespace reenact::schema
