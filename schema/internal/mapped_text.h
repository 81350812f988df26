// Text that was decoded or joined from other text, and knows where each of its bytes came from.

#ifndef REENACT_SCHEMA_INTERNAL_MAPPED_TEXT_H_
#define REENACT_SCHEMA_INTERNAL_MAPPED_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::schema::internal {

struct TextSpan {
  size_t begin = 0;
  size_t end = 0;
};

inline std::string_view Written(std::string_view text, const TextSpan& span) {
  return text.substr(span.begin, span.end - span.begin);
}

class MappedText {
 public:
  const std::string& text() const { return text_; }

  // Appends source[begin, end) with its JSON escapes resolved. `origin` is where the source begins
  // in what ToSource counts in.
  void AppendDecoded(std::string_view source, size_t begin, size_t end, size_t origin = 0);

  // Appends source[begin, end) as it is, and a line end that stands for nothing in the source.
  void AppendLine(std::string_view source, size_t begin, size_t end);

  // The places in the source that [begin, end) of the text was made from, in the order of the
  // text; neighbours are one, and none is empty. An escape of which only a part is meant counts
  // whole.
  std::vector<TextSpan> ToSource(size_t begin, size_t end) const;

 private:
  // Of equal sizes: byte for byte. Else the whole stands for the whole.
  struct Run {
    size_t text_begin = 0;
    size_t text_size = 0;
    size_t source_begin = 0;
    size_t source_size = 0;
  };

  void Append(std::string_view text, size_t source_begin, size_t source_size);

  std::string text_;
  std::vector<Run> runs_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_MAPPED_TEXT_H_
