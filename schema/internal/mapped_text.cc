#include "schema/internal/mapped_text.h"

#include <algorithm>

#include "schema/internal/json_text.h"

namespace reenact::schema::internal {

void MappedText::AppendDecoded(std::string_view source, size_t begin, size_t end, size_t origin) {
  const std::string_view inner = source.substr(0, end);
  if (text_.empty() && end > begin) text_.reserve(end - begin);  // Decoded text is never longer.
  size_t at = begin;
  while (at < end) {
    const size_t escape = std::min(inner.find('\\', at), end);
    if (escape > at) Append(inner.substr(at, escape - at), origin + at, escape - at);
    at = escape;
    if (at == end) return;
    const JsonUnit unit = ReadJsonUnit(inner, at);
    if (unit.written_size == 0) {
      Append(inner.substr(at, 1), origin + at, 1);
      ++at;
    } else {
      Append(unit.AsText(), origin + at, unit.written_size);
      at += unit.written_size;
    }
  }
}

void MappedText::AppendLine(std::string_view source, size_t begin, size_t end) {
  Append(source.substr(begin, end - begin), begin, end - begin);
  Append("\n", end, 0);
}

void MappedText::Append(std::string_view text, size_t source_begin, size_t source_size) {
  if (text.empty()) return;
  const bool literal = text.size() == source_size;
  if (literal && !runs_.empty()) {
    Run& last = runs_.back();
    if (last.text_size == last.source_size &&
        last.source_begin + last.source_size == source_begin) {
      last.text_size += source_size;
      last.source_size += source_size;
      text_.append(text);
      return;
    }
  }
  runs_.push_back({text_.size(), text.size(), source_begin, source_size});
  text_.append(text);
}

std::vector<TextSpan> MappedText::ToSource(size_t begin, size_t end) const {
  std::vector<TextSpan> spans;
  auto run = std::partition_point(runs_.begin(), runs_.end(), [begin](const Run& r) {
    return r.text_begin + r.text_size <= begin;
  });
  for (; run != runs_.end() && run->text_begin < end; ++run) {
    TextSpan span{run->source_begin, run->source_begin + run->source_size};
    if (run->text_size == run->source_size) {
      const size_t skipped = begin > run->text_begin ? begin - run->text_begin : 0;
      span.begin += skipped;
      span.end = run->source_begin + std::min(run->text_size, end - run->text_begin);
    }
    if (span.begin == span.end) continue;  // The line end of AppendLine.
    if (!spans.empty() && spans.back().end == span.begin) {
      spans.back().end = span.end;
    } else {
      spans.push_back(span);
    }
  }
  return spans;
}

}  // namespace reenact::schema::internal
