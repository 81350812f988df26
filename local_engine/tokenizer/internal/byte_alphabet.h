// The alphabet of byte-level vocabularies: each byte is written as one printable character, so that
// a vocabulary of bytes is a file of text. Printable Latin-1 stands for itself; the other 68 bytes
// are U+0100 and on, in order.
// Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (GPT-2).

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_BYTE_ALPHABET_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_BYTE_ALPHABET_H_

#include <string>
#include <string_view>

namespace reenact::local_engine {

// Every byte of `bytes` as its character.
void AppendAsAlphabet(std::string_view bytes, std::string* text);
// The bytes that the characters of `text` stand for. False, and nothing appended, when one of them
// stands for none.
bool AppendFromAlphabet(std::string_view text, std::string* bytes);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_BYTE_ALPHABET_H_
