#include "schema/internal/json_outline.h"

#include <algorithm>

#include "schema/internal/text_classes.h"

namespace reenact::schema::internal {
namespace {

bool IsWordCharacter(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '+' || c == '.';
}

}  // namespace

size_t JsonOutline::Read(std::string_view text, size_t begin, bool is_line) {
  text_ = text;
  is_line_ = is_line;
  at_ = begin;
  nodes_.clear();
  open_.clear();
  is_complete_ = ReadValue({});
  while (is_complete_ && !open_.empty()) is_complete_ = Step();
  for (const Open& open : open_) nodes_[open.node].span.end = at_;
  return at_;
}

void JsonOutline::SkipSpace() {
  while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
}

bool JsonOutline::Step() {
  Open& top = open_.back();
  const bool is_object = nodes_[top.node].type == JsonType::kObject;
  SkipSpace();
  if (at_ == text_.size()) return false;
  if (text_[at_] == (is_object ? '}' : ']')) {
    nodes_[top.node].span.end = ++at_;
    open_.pop_back();
    return true;
  }
  if (top.child_count > 0) {
    if (text_[at_] != ',') return false;
    ++at_;
    SkipSpace();
  }
  TextSpan key;
  if (is_object) {
    if (!ReadString(&key)) return false;
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != ':') return false;
    ++at_;
    SkipSpace();
  }
  return ReadValue(key);
}

bool JsonOutline::ReadValue(TextSpan key) {
  if (at_ == text_.size()) return false;
  const char c = text_[at_];
  if (c == '"') {
    TextSpan inner;
    const bool closed = ReadString(&inner);
    Add(JsonType::kString, inner, key);
    return closed;
  }
  if (c != '{' && c != '[') return ReadWord(key);
  if (open_.size() == kMaxJsonDepth) return false;
  Add(c == '{' ? JsonType::kObject : JsonType::kArray, {at_, at_}, key);
  open_.push_back({static_cast<uint32_t>(nodes_.size() - 1), 0});
  ++at_;
  return true;
}

bool JsonOutline::ReadString(TextSpan* inner) {
  if (at_ == text_.size() || text_[at_] != '"') return false;
  inner->begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (is_line_ && (text_[at_] == '\n' || text_[at_] == '\r')) break;
    at_ = std::min(text_.size(), at_ + (text_[at_] == '\\' ? 2 : 1));
  }
  inner->end = at_;
  if (at_ == text_.size() || text_[at_] != '"') return false;
  ++at_;
  return true;
}

bool JsonOutline::ReadWord(TextSpan key) {
  const size_t begin = at_;
  while (at_ < text_.size() && IsWordCharacter(text_[at_])) ++at_;
  if (at_ == begin) return false;
  const char c = text_[begin];
  const bool is_number = c == '-' || (c >= '0' && c <= '9');
  const bool is_bool = c == 't' || c == 'f';
  Add(is_number ? JsonType::kNumber : (is_bool ? JsonType::kBool : JsonType::kNull), {begin, at_},
      key);
  return true;
}

void JsonOutline::Add(JsonType type, TextSpan span, TextSpan key) {
  OutlineNode node;
  node.type = type;
  node.span = span;
  node.key = key;
  if (!open_.empty()) {
    node.parent = open_.back().node;
    node.place = open_.back().child_count++;
  }
  nodes_.push_back(node);
}

}  // namespace reenact::schema::internal
