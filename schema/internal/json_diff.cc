#include <algorithm>
#include <utility>

#include "schema/internal/canonical_reading.h"
#include "schema/internal/json_text.h"

namespace reenact::schema {
namespace internal {
namespace {

constexpr size_t kMaxShownSize = 200;
constexpr size_t kContextSize = 60;
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

size_t CommonPrefixSize(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(size), b.begin()).first -
      a.begin());
}

bool IsInsideCharacter(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80;
}

// Moves a cut to the start of the character that it fell into. Bytes that belong to no character
// are cut anywhere.
size_t OnCodePoint(std::string_view text, size_t at) {
  size_t start = at;
  for (int i = 0; i < 3 && start > 0 && IsInsideCharacter(text, start); ++i) --start;
  return start + Utf8SizeAt(text, start) > at ? start : at;
}

std::string ShowAround(std::string_view text, size_t place) {
  if (text.size() <= kMaxShownSize) return std::string(text);
  const size_t begin =
      place > kContextSize ? OnCodePoint(text, std::min(place, text.size()) - kContextSize) : 0;
  const size_t room = kMaxShownSize - 2 * kEllipsis.size();
  const size_t end = text.size() - begin > room ? OnCodePoint(text, begin + room) : text.size();
  std::string shown;
  if (begin > 0) shown.append(kEllipsis);
  shown.append(text.substr(begin, end - begin));
  if (end < text.size()) shown.append(kEllipsis);
  return shown;
}

bool IsPlainKey(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string MemberPath(const std::string& path, const std::string& key) {
  if (IsPlainKey(key)) return path.empty() ? key : path + "." + key;
  std::string quoted = path + "[\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"]";
}

class JsonDiffer {
 public:
  explicit JsonDiffer(size_t limit) : limit_(limit) {}

  // Recursion is bounded by kMaxJsonDepth.
  void Compare(const std::string& path, const JsonReading& expected, const JsonReading& actual) {
    if (Full()) return;
    const JsonType type = expected.value.type();
    const bool present = expected.value.is_present() && actual.value.is_present();
    if (present && type == actual.value.type() && type == JsonType::kObject) {
      return CompareObjects(path, expected, actual);
    }
    if (present && type == actual.value.type() && type == JsonType::kArray) {
      return CompareArrays(path, expected, actual);
    }
    if (present == (expected.value.is_present() || actual.value.is_present()) &&
        CanonicalJson(expected) == CanonicalJson(actual)) {
      return;
    }
    Add(path, expected.value, actual.value);
  }

  std::vector<JsonDifference> Take() { return std::move(differences_); }

 private:
  bool Full() const { return differences_.size() >= limit_; }

  void Add(const std::string& path, const JsonValue& expected, const JsonValue& actual) {
    if (Full()) return;
    JsonDifference difference;
    difference.path = path;
    difference.expected_present = expected.is_present();
    difference.actual_present = actual.is_present();
    ShowDifference(expected.raw(), actual.raw(), &difference);
    if (expected.is_string() && actual.is_string()) {
      difference.first_difference = CommonPrefixSize(expected.AsString(), actual.AsString());
    }
    differences_.push_back(std::move(difference));
  }

  void CompareArrays(const std::string& path, const JsonReading& expected,
                     const JsonReading& actual) {
    const size_t count = std::max(expected.value.size(), actual.value.size());
    for (size_t i = 0; i < count && !Full(); ++i) {
      Compare(path + "[" + std::to_string(i) + "]", {expected.value[i], expected.edits},
              {actual.value[i], actual.edits});
    }
  }

  void CompareObjects(const std::string& path, const JsonReading& expected,
                      const JsonReading& actual) {
    const std::vector<JsonMember> ours = CountingMembers(expected);
    const std::vector<JsonMember> theirs = CountingMembers(actual);
    const std::map<std::string_view, JsonValue> our_values = ByKey(ours);
    const std::map<std::string_view, JsonValue> their_values = ByKey(theirs);
    for (const JsonMember& member : ours) {
      if (Full()) return;
      const auto match = their_values.find(member.key);
      const JsonValue other = match == their_values.end() ? JsonValue() : match->second;
      Compare(MemberPath(path, member.key), {member.value, expected.edits}, {other, actual.edits});
    }
    for (const JsonMember& member : theirs) {
      if (our_values.count(member.key) == 0) {
        Add(MemberPath(path, member.key), JsonValue(), member.value);
      }
    }
  }

  static std::map<std::string_view, JsonValue> ByKey(const std::vector<JsonMember>& members) {
    std::map<std::string_view, JsonValue> by_key;
    for (const JsonMember& member : members) by_key.emplace(member.key, member.value);
    return by_key;
  }

  size_t limit_;
  std::vector<JsonDifference> differences_;
};

}  // namespace

void ShowDifference(std::string_view expected, std::string_view actual,
                    JsonDifference* difference) {
  const size_t place = CommonPrefixSize(expected, actual);
  difference->expected = ShowAround(expected, place);
  difference->actual = ShowAround(actual, place);
  difference->first_difference = place;
}

std::vector<JsonDifference> DiffJson(const JsonReading& expected, const JsonReading& actual,
                                     size_t limit) {
  JsonDiffer differ(limit);
  differ.Compare("", expected, actual);
  return differ.Take();
}

}  // namespace internal

std::vector<JsonDifference> DiffJson(JsonValue expected, JsonValue actual, size_t limit) {
  const internal::Edits none;
  return internal::DiffJson({expected, &none}, {actual, &none}, limit);
}

}  // namespace reenact::schema
