#include "local_engine/tokenizer/internal/unicode_normalization.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "local_engine/tokenizer/internal/unicode_versions.h"
#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

// Characters below this are normalized and never combine, in the canonical forms.
constexpr char32_t kFirstCombining = 0x300;
// No decomposition of one character is longer (U+FDFA has 18).
constexpr size_t kLongestDecomposition = 32;

struct Mark {
  utf8proc_int32_t code_point;
  int combining_class;
};

int CombiningClass(utf8proc_int32_t code_point) {
  if (code_point < static_cast<utf8proc_int32_t>(kFirstCombining)) return 0;
  if (IsInertInNormalization(static_cast<char32_t>(code_point))) return 0;
  return utf8proc_get_property(code_point)->combining_class;
}

std::vector<Mark> Decompose(std::string_view text, bool compatibility) {
  std::vector<Mark> marks;
  marks.reserve(text.size());
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatibility ? UTF8PROC_COMPAT : 0));
  for (size_t at = 0; at < text.size(); at += CharLength(text[at])) {
    const auto c = static_cast<utf8proc_int32_t>(CodePointAt(text, at));
    if (c < 0x80 || IsInertInNormalization(static_cast<char32_t>(c))) {
      marks.push_back({c, 0});
      continue;
    }
    std::array<utf8proc_int32_t, kLongestDecomposition> parts;
    int last_bound_class = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(c, parts.data(), parts.size(), options, &last_bound_class);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const utf8proc_int32_t part = parts[static_cast<size_t>(i)];
      marks.push_back({part, CombiningClass(part)});
    }
  }
  return marks;
}

// Marks between two starters in the order of their classes. A sort, since untrusted text may have
// a million of them.
void Reorder(std::vector<Mark>* marks) {
  const auto is_starter = [](const Mark& mark) { return mark.combining_class == 0; };
  auto run = std::find_if_not(marks->begin(), marks->end(), is_starter);
  while (run != marks->end()) {
    const auto end = std::find_if(run, marks->end(), is_starter);
    std::stable_sort(run, end, [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    });
    run = std::find_if_not(end, marks->end(), is_starter);
  }
}

// The character that two make, or -1.
utf8proc_int32_t ComposePair(utf8proc_int32_t first, utf8proc_int32_t second) {
  std::array<utf8proc_int32_t, 2> pair = {first, second};
  const utf8proc_ssize_t count = utf8proc_normalize_utf32(
      pair.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (count != 1 || IsInertInNormalization(static_cast<char32_t>(pair[0]))) return -1;
  return pair[0];
}

void Compose(std::vector<Mark>* marks) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t starter = kNone;
  int last_class = -1;  // Of the last mark kept since the starter; -1: none yet.
  size_t kept = 0;
  for (size_t i = 0; i < marks->size(); ++i) {
    const Mark mark = (*marks)[i];
    // A mark reaches the starter unless one of the same or a higher class stands between.
    if (starter != kNone && last_class < mark.combining_class) {
      const utf8proc_int32_t composed = ComposePair((*marks)[starter].code_point, mark.code_point);
      if (composed >= 0) {
        (*marks)[starter].code_point = composed;
        continue;
      }
    }
    if (mark.combining_class == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = mark.combining_class;
    }
    (*marks)[kept++] = mark;
  }
  marks->resize(kept);
}

bool IsNormalizedAlready(std::string_view text, NormalizationForm form) {
  const bool latin_is_stable = form.composed && !form.compatibility;
  for (size_t at = 0; at < text.size(); at += CharLength(text[at])) {
    if (static_cast<unsigned char>(text[at]) < 0x80) continue;
    if (!latin_is_stable || CodePointAt(text, at) >= kFirstCombining) return false;
  }
  return true;
}

}  // namespace

std::string NormalizeUnicode(std::string_view text, NormalizationForm form) {
  if (IsNormalizedAlready(text, form)) return std::string(text);
  std::vector<Mark> marks = Decompose(text, form.compatibility);
  Reorder(&marks);
  if (form.composed) Compose(&marks);
  std::string normalized;
  normalized.reserve(text.size());
  for (const Mark& mark : marks) {
    AppendCodePoint(static_cast<char32_t>(mark.code_point), &normalized);
  }
  return normalized;
}

std::string LowercaseUnicode(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (size_t at = 0; at < text.size(); at += CharLength(text[at])) {
    const char32_t c = CodePointAt(text, at);
    if (c == 0x130) {
      lower += "i\xcc\x87";  // The one character whose lower case is two: i and a dot above.
    } else {
      AppendCodePoint(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
                      &lower);
    }
  }
  return lower;
}

}  // namespace reenact::local_engine
