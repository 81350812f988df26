// UTF-8, one code point at a time. Text inside the room is valid; only FirstInvalidByte and
// LossyUtf8 meet bytes of which nothing is known.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UTF8_TEXT_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UTF8_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace reenact::local_engine {

// The offset of the first byte that is not part of valid UTF-8, or npos.
size_t FirstInvalidByte(std::string_view bytes);

// The length of the character that starts with `lead`. The text is valid.
inline size_t CharLength(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// The code point at `at`. The text is valid and `at` is the start of a character.
char32_t CodePointAt(std::string_view text, size_t at);
// The start of the character that ends before `end`; `end` is not 0.
size_t PreviousChar(std::string_view text, size_t end);
void AppendCodePoint(char32_t code_point, std::string* text);

// The property White_Space.
bool IsWhiteSpace(char32_t code_point);

// Bytes of unknown validity to text: each maximal part of a character that breaks off becomes one
// U+FFFD, as the Unicode standard recommends. How the bytes are cut into pushes changes nothing.
class LossyUtf8 {
 public:
  // Appends what is certain. A character that may still be completed is held back.
  void Push(std::string_view bytes, std::string* text);
  // Appends U+FFFD for a character that was never completed.
  void Finish(std::string* text);

 private:
  bool Accepts(unsigned char byte) const;

  std::string held_;        // The valid beginning of one character.
  size_t wanted_size_ = 0;  // Its whole length.
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UTF8_TEXT_H_
