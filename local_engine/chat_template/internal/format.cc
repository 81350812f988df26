#include "local_engine/chat_template/internal/format.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "local_engine/chat_template/internal/ascii.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/python_text.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(std::string_view format, const Value& operand, Budget* budget)
      : format_(format), operand_(operand), budget_(*budget) {
    const Sequence* sequence = operand.AsSequence();
    if (sequence != nullptr && sequence->kind == SequenceKind::kTuple) several_ = &sequence->items;
  }

  std::string Run() {
    while (at_ < format_.size()) {
      if (format_[at_] != '%') {
        out_ += format_[at_++];
      } else {
        ++at_;
        ReadConversion();
      }
    }
    const size_t given = several_ != nullptr            ? several_->size()
                         : operand_.AsDict() != nullptr ? taken_
                                                        : 1;
    if (taken_ < given) throw TemplateError("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  char Take() {
    if (at_ >= format_.size()) throw TemplateError("incomplete format");
    return format_[at_++];
  }

  Value NextOperand() {
    const size_t index = taken_++;
    if (several_ == nullptr && index == 0) return operand_;
    if (several_ == nullptr || index >= several_->size())
      throw TemplateError("not enough arguments for format string");
    return (*several_)[index];
  }

  Value NamedOperand() {
    const size_t end = format_.find(')', at_);
    if (end == std::string_view::npos) throw TemplateError("incomplete format key");
    const std::string_view name = format_.substr(at_, end - at_);
    at_ = end + 1;
    const Dict* dict = operand_.AsDict();
    const Value* value = dict == nullptr ? nullptr : dict->Find(name);
    if (value == nullptr)
      throw TemplateError("format requires a mapping with '" + std::string(name) + "'");
    return *value;
  }

  int ReadNumber() {
    int number = 0;
    while (at_ < format_.size() && IsDigit(format_[at_])) {
      number = number * 10 + (format_[at_++] - '0');
      if (number > 10'000)
        throw TemplateError("a width or precision above 10000", TemplateFault::kLimit);
    }
    return number;
  }

  void ReadConversion() {
    Value value;
    bool named = false;
    if (at_ < format_.size() && format_[at_] == '(') {
      ++at_;
      value = NamedOperand();
      named = true;
    }
    std::string flags;
    while (at_ < format_.size() &&
           std::string_view("-+ #0").find(format_[at_]) != std::string_view::npos) {
      flags += format_[at_++];
    }
    const int width = ReadNumber();
    int precision = -1;
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      precision = ReadNumber();
    }
    const char kind = Take();
    if (kind == '%') {
      out_ += '%';
      return;
    }
    if (!named) value = NextOperand();
    Pad(Convert(kind, value, flags, precision), flags, width, kind);
  }

  std::string Convert(char kind, const Value& value, const std::string& flags, int precision) {
    budget_.ChargeWalk(value);
    if (kind == 's' || kind == 'r') {
      const std::string text = kind == 's' ? ToText(value) : Repr(value);
      return precision < 0 ? text
                           : text.substr(0, ByteOffset(text, static_cast<size_t>(precision)));
    }
    if (kind == 'c' && value.IsString() && CodePointCount(value.Utf8()) == 1) return value.Utf8();
    std::string spec = "%";
    for (const char flag : flags) {
      if (flag == '+' || flag == ' ' || flag == '#') spec += flag;
    }
    if (precision >= 0) spec += "." + std::to_string(precision);
    return ConvertNumber(spec, kind, value);
  }

  static std::string ConvertNumber(std::string spec, char kind, const Value& value) {
    const std::optional<double> real = AsReal(value);
    if (!real)
      throw TemplateError(std::string("%") + kind + " format: a number is required, not " +
                          TypeName(value));
    std::string text(11'000, '\0');
    int size = 0;
    if (kind == 'd' || kind == 'i' || kind == 'u' || kind == 'x' || kind == 'X' || kind == 'o') {
      const bool decimal = kind == 'd' || kind == 'i' || kind == 'u';
      std::optional<int64_t> whole = AsInteger(value);
      if (!whole && decimal && *real > -9e18 && *real < 9e18) whole = static_cast<int64_t>(*real);
      if (!whole || (!decimal && *whole < 0)) {
        throw TemplateError(std::string("%") + kind + " format: the integer is not supported",
                            TemplateFault::kUnsupported);
      }
      spec += decimal ? "lld" : std::string("ll") + kind;
      size = std::snprintf(text.data(), text.size(), spec.c_str(), static_cast<long long>(*whole));
    } else if (std::string_view("eEfFgG").find(kind) != std::string_view::npos) {
      spec += kind;
      size = std::snprintf(text.data(), text.size(), spec.c_str(), *real);
    } else {
      throw TemplateError(std::string("unsupported format character '") + kind + "'");
    }
    text.resize(std::min(static_cast<size_t>(size), text.size() - 1));
    return text;
  }

  void Pad(const std::string& text, const std::string& flags, int width, char kind) {
    const size_t size = CodePointCount(text);
    const size_t missing =
        static_cast<size_t>(width) > size ? static_cast<size_t>(width) - size : 0;
    budget_.Charge(static_cast<int64_t>(text.size() + missing));
    const bool is_text = kind == 's' || kind == 'r' || kind == 'c';
    if (flags.find('-') != std::string::npos) {
      out_ += text + std::string(missing, ' ');
    } else if (!is_text && flags.find('0') != std::string::npos) {
      const size_t sign =
          !text.empty() && std::string_view("+- ").find(text[0]) != std::string_view::npos ? 1 : 0;
      out_ += text.substr(0, sign) + std::string(missing, '0') + text.substr(sign);
    } else {
      out_ += std::string(missing, ' ') + text;
    }
  }

  std::string_view format_;
  const Value& operand_;
  Budget& budget_;
  const std::vector<Value>* several_ = nullptr;
  size_t taken_ = 0;
  size_t at_ = 0;
  std::string out_;
};

const Value& FieldValue(std::string_view field, const Arguments& arguments, size_t* automatic) {
  if (field.empty() || std::all_of(field.begin(), field.end(), IsDigit)) {
    const size_t index = field.empty()      ? (*automatic)++
                         : field.size() > 4 ? SIZE_MAX
                                            : std::stoul(std::string(field));
    if (index >= arguments.positional.size()) throw TemplateError("replacement index out of range");
    return arguments.positional[index];
  }
  if (field.find_first_of(".[!:") != std::string_view::npos) {
    throw TemplateError("format fields other than {}, {0} and {name} are not supported",
                        TemplateFault::kUnsupported);
  }
  for (const auto& [name, value] : arguments.named) {
    if (name == field) return value;
  }
  throw TemplateError("format has no argument '" + std::string(field) + "'");
}

}  // namespace

std::string FormatPercent(std::string_view format, const Value& operand, Budget* budget) {
  budget->Charge(static_cast<int64_t>(format.size()));
  return PercentFormatter(format, operand, budget).Run();
}

std::string FormatBraces(std::string_view format, const Arguments& arguments, Budget* budget) {
  budget->Charge(static_cast<int64_t>(format.size()));
  std::string out;
  size_t automatic = 0;
  for (size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      out += c;
    } else if (at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      ++at;
    } else {
      const size_t end = format.find('}', at);
      if (c == '}' || end == std::string_view::npos)
        throw TemplateError("a single brace in a format string");
      const Value& value = FieldValue(format.substr(at + 1, end - at - 1), arguments, &automatic);
      budget->ChargeWalk(value);
      out += ToText(value);
      at = end;
    }
  }
  return out;
}

}  // namespace reenact::local_engine
