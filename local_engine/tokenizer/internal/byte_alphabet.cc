#include "local_engine/tokenizer/internal/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

constexpr int kNoByte = -1;
constexpr char32_t kAlphabetEnd = 0x144;

struct Alphabet {
  std::array<char32_t, 256> char_of_byte{};
  std::array<int16_t, kAlphabetEnd> byte_of_char{};
};

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte_of_char) byte = kNoByte;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t written = StandsForItself(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.char_of_byte[static_cast<size_t>(byte)] = written;
    alphabet.byte_of_char[written] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

void AppendAsAlphabet(std::string_view bytes, std::string* text) {
  for (const char byte : bytes) {
    AppendCodePoint(kAlphabet.char_of_byte[static_cast<unsigned char>(byte)], text);
  }
}

bool AppendFromAlphabet(std::string_view text, std::string* bytes) {
  const size_t size_before = bytes->size();
  for (size_t at = 0; at < text.size(); at += CharLength(text[at])) {
    const char32_t written = CodePointAt(text, at);
    const int byte = written < kAlphabetEnd ? kAlphabet.byte_of_char[written] : kNoByte;
    if (byte == kNoByte) {
      bytes->resize(size_before);
      return false;
    }
    bytes->push_back(static_cast<char>(byte));
  }
  return true;
}

}  // namespace reenact::local_engine
