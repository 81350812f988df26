#include "tests/local_engine/tokenizer/small_tokenizer.h"

#include "local_engine/tokenizer/internal/byte_alphabet.h"

namespace reenact::local_engine {

SmallTokenizer ByteLevelTokenizer() {
  std::string vocab = "{";
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    AppendAsAlphabet(std::string(1, static_cast<char>(byte)), &character);
    if (character == "\"" || character == "\\") character.insert(0, "\\");
    vocab += "\"" + character + "\": " + std::to_string(byte) + ", ";
  }
  const std::string byte_level = R"({"type": "ByteLevel", "add_prefix_space": false})";
  return {.added_tokens = R"([{"id": 260, "content": "<|end|>", "special": true}])",
          .pre_tokenizer = byte_level,
          .decoder = byte_level,
          .vocab = vocab + R"("he": 256, "ll": 257, "hell": 258, "hello": 259})",
          .merges = R"([["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"]])"};
}

}  // namespace reenact::local_engine
