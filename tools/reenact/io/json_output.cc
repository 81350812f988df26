#include "tools/reenact/io/json_output.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

constexpr uint64_t kLargestExactInteger = uint64_t{1} << 53;

// One UTF-16 unit, or two.
void AppendEscape(uint32_t value, std::string* out) {
  char text[16];
  if (value < 0x10000) {
    std::snprintf(text, sizeof text, "\\u%04x", value);
  } else {
    const uint32_t rest = value - 0x10000;
    std::snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD800 + (rest >> 10),
                  0xDC00 + (rest & 0x3FF));
  }
  *out += text;
}

// The characters that are legal in JSON and yet would act on a terminal, or stay unseen there, by
// their UTF-8 form: C1 controls, bidirectional controls, line separators, tag characters.
uint32_t ActingCharacterAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0};
  };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return byte(1);
  if (byte(0) == 0xD8 && byte(1) == 0x9C) return 0x061C;
  if (byte(0) == 0xF3 && byte(1) == 0xA0 && byte(2) >= 0x80 && byte(2) <= 0x81)
    return 0xE0000u | ((byte(2) & 0x3Fu) << 6) | (byte(3) & 0x3Fu);
  if (byte(0) != 0xE2) return 0;
  const uint32_t value = 0x2000u | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3Fu);
  const bool acts = value == 0x200E || value == 0x200F || (value >= 0x2028 && value <= 0x202E) ||
                    (value >= 0x2066 && value <= 0x2069);
  return acts ? value : 0;
}

}  // namespace

JsonWriter JsonWriter::Document(std::string_view verb) {
  JsonWriter json;
  json.BeginObject();
  json.IntField("schema_version", kJsonSchemaVersion);
  json.TextField("verb", verb);
  return json;
}

void JsonWriter::NewLine() {
  out_ += '\n';
  out_.append(static_cast<size_t>(depth_) * 2, ' ');
}

void JsonWriter::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_ += ',';
  NewLine();
  first_ = false;
}

void JsonWriter::Open(char bracket) {
  BeforeValue();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::Close(char bracket) {
  --depth_;
  if (!first_) NewLine();
  out_ += bracket;
  first_ = false;
}

void JsonWriter::BeginObject() {
  Open('{');
}

void JsonWriter::EndObject() {
  Close('}');
}

void JsonWriter::BeginArray() {
  Open('[');
}

void JsonWriter::EndArray() {
  Close(']');
}

void JsonWriter::Key(std::string_view name) {
  BeforeValue();
  Quote(name);
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::Quote(std::string_view text) {
  out_ += '"';
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out_ += {'\\', c};
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      AppendEscape(byte, &out_);
    } else if (const uint32_t acting = ActingCharacterAt(text, at)) {
      AppendEscape(acting, &out_);
      at += acting >= 0x10000 ? 3 : acting >= 0x800 ? 2 : 1;
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

void JsonWriter::Text(std::string_view bytes) {
  if (IsValidUtf8(bytes)) {
    BeforeValue();
    Quote(bytes);
    return;
  }
  BeginObject();
  TextField("base64", Base64(bytes));
  EndObject();
}

void JsonWriter::Int(int64_t number) {
  const uint64_t size =
      number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  BeforeValue();
  if (size > kLargestExactInteger) {
    Quote(std::to_string(number));
  } else {
    out_ += std::to_string(number);
  }
}

void JsonWriter::Uint(uint64_t number) {
  BeforeValue();
  if (number > kLargestExactInteger) {
    Quote(std::to_string(number));
  } else {
    out_ += std::to_string(number);
  }
}

void JsonWriter::Real(double number) {
  BeforeValue();
  if (std::isnan(number)) {
    Quote("NaN");
  } else if (std::isinf(number)) {
    Quote(number > 0 ? "Infinity" : "-Infinity");
  } else {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, number);
    out_.append(text, end.ptr);
  }
}

void JsonWriter::Bool(bool value) {
  BeforeValue();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  BeforeValue();
  out_ += "null";
}

void JsonWriter::TextField(std::string_view name, std::string_view bytes) {
  Key(name);
  Text(bytes);
}

void JsonWriter::IntField(std::string_view name, int64_t number) {
  Key(name);
  Int(number);
}

void JsonWriter::UintField(std::string_view name, uint64_t number) {
  Key(name);
  Uint(number);
}

void JsonWriter::RealField(std::string_view name, double number) {
  Key(name);
  Real(number);
}

void JsonWriter::BoolField(std::string_view name, bool value) {
  Key(name);
  Bool(value);
}

void JsonWriter::NullField(std::string_view name) {
  Key(name);
  Null();
}

void JsonWriter::OptionalIntField(std::string_view name, const std::optional<int64_t>& number) {
  number ? IntField(name, *number) : NullField(name);
}

void JsonWriter::OptionalRealField(std::string_view name, const std::optional<double>& number) {
  number ? RealField(name, *number) : NullField(name);
}

void JsonWriter::GivenTextField(std::string_view name, std::string_view bytes) {
  bytes.empty() ? NullField(name) : TextField(name, bytes);
}

void JsonWriter::TextsField(std::string_view name, const std::vector<std::string>& texts) {
  Key(name);
  BeginArray();
  for (const std::string& text : texts) Text(text);
  EndArray();
}

void JsonWriter::PairsField(std::string_view name,
                            const std::vector<std::pair<std::string, std::string>>& pairs) {
  Key(name);
  BeginArray();
  for (const auto& [key, value] : pairs) {
    BeginObject();
    TextField("name", key);
    TextField("value", value);
    EndObject();
  }
  EndArray();
}

void JsonWriter::TimeField(std::string_view name, int64_t wall_ns) {
  TextField(name, FormatExact(wall_ns));
  TextField(std::string(name) + "_unix_ns", std::to_string(wall_ns));
}

void JsonWriter::DigitsField(std::string_view name, uint64_t number) {
  TextField(name, std::to_string(number));
}

std::string JsonWriter::Take() {
  out_ += '\n';
  return std::move(out_);
}

std::string Base64(std::string_view bytes) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = (group << 8) | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i < 4; ++i) {
      out += i <= count ? kAlphabet[(group >> (18 - 6 * i)) & 63] : '=';
    }
  }
  return out;
}

}  // namespace reenact::tools
