#include "schema/internal/json_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "schema/internal/decimal.h"
#include "schema/internal/json_text.h"
#include "schema/internal/text_classes.h"

namespace reenact::schema {
namespace {

using internal::IsDigit;
using internal::IsSpace;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Bytes that end a plain stretch of a string or are worth a note.
bool IsPlain(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

struct Literal {
  std::string_view text;
  JsonType type;
  std::string_view anomaly;
};

constexpr std::array<Literal, 6> kLiterals = {{
    {"null", JsonType::kNull, ""},
    {"true", JsonType::kBool, ""},
    {"false", JsonType::kBool, ""},
    {"NaN", JsonType::kNumber, "nan"},
    {"Infinity", JsonType::kNumber, "infinity"},
    {"-Infinity", JsonType::kNumber, "infinity"},
}};

}  // namespace

bool JsonParser::Run() {
  if (text_.size() > UINT32_MAX) return Fail("text of 4 GiB or more");
  if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    at_ = kByteOrderMark.size();
    Note("bom");
  }
  SkipSpace();
  if (!ReadValue()) return false;
  while (!open_.empty()) {
    if (!Step()) return false;
  }
  SkipSpace();
  return at_ == text_.size() || Fail("text after the value");
}

bool JsonParser::Fail(std::string_view what) {
  error_ = std::string(what) + " at offset " + std::to_string(at_);
  return false;
}

void JsonParser::Note(std::string_view anomaly) {
  std::vector<std::string>& seen = document_->anomalies_;
  if (std::find(seen.begin(), seen.end(), anomaly) == seen.end()) seen.emplace_back(anomaly);
}

void JsonParser::SkipSpace() {
  while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
}

bool JsonParser::TakeIf(char c) {
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool JsonParser::Step() {
  const uint32_t node = open_.back().node;
  const bool is_object = document_->nodes_[node].type == JsonType::kObject;
  SkipSpace();
  if (TakeIf(is_object ? '}' : ']')) {
    Close();
    return true;
  }
  if (pending_.size() > open_.back().first_child) {
    if (!TakeIf(',')) return Fail(is_object ? "expected ',' or '}'" : "expected ',' or ']'");
    SkipSpace();
  }
  pending_.push_back(static_cast<uint32_t>(document_->nodes_.size()));
  return (!is_object || ReadKey()) && ReadValue();
}

bool JsonParser::ReadKey() {
  if (at_ == text_.size() || text_[at_] != '"') return Fail("expected a key");
  if (!ReadString()) return false;
  SkipSpace();
  if (!TakeIf(':')) return Fail("expected ':'");
  SkipSpace();
  return true;
}

bool JsonParser::ReadValue() {
  if (at_ == text_.size()) return Fail("expected a value");
  const char c = text_[at_];
  if (c == '"') return ReadString();
  if (c == '{') return Open(JsonType::kObject);
  if (c == '[') return Open(JsonType::kArray);
  if (IsDigit(c) || (c == '-' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
    return ReadNumber();
  }
  return ReadLiteral();
}

bool JsonParser::ReadString() {
  const size_t begin = at_++;
  bool ascii = true;
  for (;;) {
    while (at_ < text_.size() && IsPlain(text_[at_])) ++at_;
    if (at_ == text_.size()) return Fail("string without end");
    const char c = text_[at_];
    if (c == '"') break;
    if (c == '\\') {
      const internal::JsonUnit unit = internal::ReadJsonUnit(text_, at_);
      if (unit.written_size == 0) return Fail("bad escape");
      if (unit.lone_surrogate) Note("lone_surrogate");
      at_ += unit.written_size;
      continue;
    }
    if (static_cast<uint8_t>(c) < 0x20) Note("control_character");
    ascii = ascii && static_cast<uint8_t>(c) < 0x80;
    ++at_;
  }
  ++at_;
  if (!ascii && !internal::IsUtf8(text_.substr(begin, at_ - begin))) Note("invalid_utf8");
  AddNode(JsonType::kString, begin, at_);
  return true;
}

bool JsonParser::ReadLiteral() {
  for (const Literal& literal : kLiterals) {
    if (text_.substr(at_, literal.text.size()) != literal.text) continue;
    AddNode(literal.type, at_, at_ + literal.text.size());
    at_ += literal.text.size();
    if (!literal.anomaly.empty()) Note(literal.anomaly);
    return true;
  }
  return Fail("expected a value");
}

bool JsonParser::ReadNumber() {
  const size_t begin = at_;
  const auto skip_digits = [this] {
    const size_t first = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > first;
  };
  TakeIf('-');
  if (TakeIf('0')) {
    if (at_ < text_.size() && IsDigit(text_[at_])) return Fail("number with a leading zero");
  } else {
    skip_digits();
  }
  if (TakeIf('.') && !skip_digits()) return Fail("fraction without digits");
  if (TakeIf('e') || TakeIf('E')) {
    if (!TakeIf('-')) TakeIf('+');
    if (!skip_digits()) return Fail("exponent without digits");
  }
  const std::string_view written = text_.substr(begin, at_ - begin);
  double value = 0;
  const auto result = std::from_chars(written.data(), written.data() + written.size(), value);
  if (result.ec == std::errc::result_out_of_range && internal::IsHuge(written)) {
    Note("number_overflow");
  }
  AddNode(JsonType::kNumber, begin, at_);
  return true;
}

bool JsonParser::Open(JsonType type) {
  if (open_.size() == kMaxJsonDepth) return Fail("nested too deeply");
  open_.push_back(
      {static_cast<uint32_t>(document_->nodes_.size()), static_cast<uint32_t>(pending_.size())});
  AddNode(type, at_, at_);
  ++at_;
  return true;
}

void JsonParser::Close() {
  const OpenContainer closed = open_.back();
  open_.pop_back();
  JsonDocument::Node& node = document_->nodes_[closed.node];
  node.end = static_cast<uint32_t>(at_);
  node.children = static_cast<uint32_t>(document_->children_.size());
  node.size = static_cast<uint32_t>(pending_.size() - closed.first_child);
  if (node.type == JsonType::kObject) NoteDuplicateKeys(closed.first_child);
  document_->children_.insert(document_->children_.end(), pending_.begin() + closed.first_child,
                              pending_.end());
  pending_.resize(closed.first_child);
}

void JsonParser::NoteDuplicateKeys(uint32_t first_child) {
  std::vector<std::string> decoded;  // Keys with escapes only; views into it stay valid.
  const size_t count = pending_.size() - first_child;
  if (count < 2) return;
  decoded.reserve(count);
  std::vector<std::string_view> keys;
  keys.reserve(count);
  for (size_t i = first_child; i < pending_.size(); ++i) {
    const JsonDocument::Node& key = document_->nodes_[pending_[i]];
    std::string_view inner = text_.substr(key.begin + 1, key.end - key.begin - 2);
    if (inner.find('\\') != std::string_view::npos) {
      internal::AppendDecodedJson(inner, &decoded.emplace_back());
      inner = decoded.back();
    }
    keys.push_back(inner);
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) Note("duplicate_key");
}

void JsonParser::AddNode(JsonType type, size_t begin, size_t end) {
  JsonDocument::Node node;
  node.begin = static_cast<uint32_t>(begin);
  node.end = static_cast<uint32_t>(end);
  node.type = type;
  document_->nodes_.push_back(node);
}

}  // namespace reenact::schema
