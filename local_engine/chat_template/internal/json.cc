#include "local_engine/chat_template/internal/json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "local_engine/chat_template/internal/python_text.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

// Builds values as the parser meets them: its own tree would have turned large integers into
// doubles.
class ValueBuilder {
 public:
  using Json = nlohmann::ordered_json;

  bool null() { return Add(Value::MakeNone()); }

  bool boolean(bool value) { return Add(Value::Bool(value)); }

  bool number_integer(Json::number_integer_t value) { return Add(Value::Int(value)); }

  bool number_unsigned(Json::number_unsigned_t value) {
    return value <= INT64_MAX ? Add(Value::Int(static_cast<int64_t>(value)))
                              : Add(Value::BigInt(std::to_string(value)));
  }

  bool number_float(Json::number_float_t value, const std::string& written) {
    const bool whole = written.find_first_of(".eE") == std::string::npos;
    return Add(whole ? Value::BigInt(written) : Value::Float(value));
  }

  bool string(std::string& value) { return Add(Value::String(std::move(value))); }

  bool binary(Json::binary_t&) { return false; }

  bool start_object(size_t) { return Open(true); }

  bool key(std::string& name) {
    open_.back().entries.emplace_back(Value::String(std::move(name)), Value());
    return true;
  }

  bool end_object() {
    Container done = std::move(open_.back());
    open_.pop_back();
    return Add(Value::Mapping(std::move(done.entries)));
  }

  bool start_array(size_t) { return Open(false); }

  bool end_array() {
    Container done = std::move(open_.back());
    open_.pop_back();
    return Add(Value::List(std::move(done.items)));
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    throw TemplateError("the input is not JSON from byte " + std::to_string(position) + " on");
  }

  Value Take() { return std::move(result_); }

 private:
  struct Container {
    bool is_object;
    std::vector<Value> items;
    std::vector<std::pair<Value, Value>> entries;
  };

  bool Open(bool is_object) {
    if (open_.size() >= static_cast<size_t>(kMaxValueDepth)) {
      throw TemplateError("the input nests deeper than " + std::to_string(kMaxValueDepth),
                          TemplateFault::kLimit);
    }
    open_.push_back({is_object, {}, {}});
    return true;
  }

  bool Add(Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().entries.back().second = std::move(value);
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Container> open_;
  Value result_;
};

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void Write(const Value& value) {
    if (value.IsString()) {
      WriteString(value.Utf8());
    } else if (const Sequence* sequence = value.AsSequence();
               sequence != nullptr && sequence->kind <= SequenceKind::kTuple) {
      WriteArray(*sequence);
    } else if (const Dict* dict = value.AsDict()) {
      WriteObject(*dict);
    } else {
      text_ += Scalar(value);
    }
  }

  std::string Take() { return std::move(text_); }

 private:
  static std::string Scalar(const Value& value) {
    if (value.IsNone()) return "null";
    if (const bool* flag = value.As<bool>()) return *flag ? "true" : "false";
    if (const double* real = value.As<double>()) {
      if (*real != *real) return "NaN";
      if (*real - *real != 0) return *real < 0 ? "-Infinity" : "Infinity";
      return FloatText(*real);
    }
    if (value.As<int64_t>() || value.As<BigInteger>()) return Repr(value);
    throw TemplateError("Object of type " + TypeName(value) + " is not JSON serializable");
  }

  void WriteArray(const Sequence& array) {
    text_ += "[";
    ++level_;
    for (size_t i = 0; i < array.items.size(); ++i) {
      Separate(i > 0);
      Write(array.items[i]);
    }
    Close(!array.items.empty(), "]");
  }

  void WriteObject(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) SortByKey(&entries);
    text_ += "{";
    ++level_;
    bool first = true;
    for (const Dict::Entry* entry : entries) {
      Separate(!first);
      first = false;
      WriteString(KeyText(entry->first));
      text_ += style_.key_separator;
      Write(entry->second);
    }
    Close(!entries.empty(), "}");
  }

  static void SortByKey(std::vector<const Dict::Entry*>* entries) {
    for (const Dict::Entry* entry : *entries) {
      if (!entry->first.IsString()) throw TemplateError("sort_keys needs keys that are strings");
    }
    std::stable_sort(entries->begin(), entries->end(),
                     [](const Dict::Entry* a, const Dict::Entry* b) {
                       return a->first.Utf8() < b->first.Utf8();
                     });
  }

  static std::string KeyText(const Value& key) {
    if (key.IsString()) return key.Utf8();
    if (key.AsSequence() != nullptr || key.AsDict() != nullptr) {
      throw TemplateError("keys must be str, int, float, bool or None, not " + TypeName(key));
    }
    return Scalar(key);
  }

  void Separate(bool after_another) {
    if (after_another) text_ += style_.item_separator;
    BreakLine();
  }

  void Close(bool has_items, const char* bracket) {
    --level_;
    if (has_items) BreakLine();
    text_ += bracket;
  }

  void BreakLine() {
    if (!style_.indent) return;
    text_ += "\n";
    for (int i = 0; i < level_; ++i) text_ += *style_.indent;
  }

  void WriteString(std::string_view text) {
    text_ += '"';
    for (size_t position = 0; position < text.size();) {
      const size_t start = position;
      const char32_t c = NextCodePoint(text, &position);
      if (c == '"' || c == '\\') {
        text_ += {'\\', static_cast<char>(c)};
      } else if (c < 0x20 || (style_.ensure_ascii && c >= 0x7F)) {
        WriteEscaped(c);
      } else {
        text_.append(text, start, position - start);
      }
    }
    text_ += '"';
  }

  void WriteEscaped(char32_t c) {
    switch (c) {
      case '\b':
        text_ += "\\b";
        return;
      case '\t':
        text_ += "\\t";
        return;
      case '\n':
        text_ += "\\n";
        return;
      case '\f':
        text_ += "\\f";
        return;
      case '\r':
        text_ += "\\r";
        return;
      default:
        break;
    }
    if (c >= 0x10000) {
      WriteUnit(0xD800 + ((c - 0x10000) >> 10));
      WriteUnit(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      WriteUnit(c);
    }
  }

  void WriteUnit(char32_t unit) {
    text_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) text_ += "0123456789abcdef"[unit >> shift & 15];
  }

  const JsonStyle& style_;
  std::string text_;
  int level_ = 0;
};

}  // namespace

Value ParseJson(std::string_view json) {
  ValueBuilder builder;
  if (!nlohmann::ordered_json::sax_parse(json.begin(), json.end(), &builder)) {
    throw TemplateError("the input is not JSON");
  }
  return builder.Take();
}

std::string WriteJson(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.Write(value);
  return writer.Take();
}

}  // namespace reenact::local_engine
