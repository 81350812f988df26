// A tokenizer.json small enough to be read in a test.

#ifndef REENACT_TESTS_LOCAL_ENGINE_TOKENIZER_SMALL_TOKENIZER_H_
#define REENACT_TESTS_LOCAL_ENGINE_TOKENIZER_SMALL_TOKENIZER_H_

#include <string>

namespace reenact::local_engine {

// The members of a tokenizer.json that a test has something to say about.
struct SmallTokenizer {
  std::string added_tokens = "[]";
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::string model_flags;  // Such as "\"byte_fallback\": true, ".
  std::string vocab = R"({"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "▁": 5, " ": 6})";
  std::string merges = R"(["a b", "ab c"])";

  std::string Json() const {
    return "{\"added_tokens\": " + added_tokens + ", \"normalizer\": " + normalizer +
           ", \"pre_tokenizer\": " + pre_tokenizer + ", \"post_processor\": " + post_processor +
           ", \"decoder\": " + decoder + ", \"model\": {\"type\": \"BPE\", " + model_flags +
           "\"vocab\": " + vocab + ", \"merges\": " + merges + "}}";
  }
};

// All 256 characters of the byte alphabet, by byte, then "he" and "hello" of its merges.
SmallTokenizer ByteLevelTokenizer();

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_TOKENIZER_SMALL_TOKENIZER_H_
