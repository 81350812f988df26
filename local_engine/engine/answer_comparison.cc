#include "local_engine/engine/answer_comparison.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

std::string Hex(uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof(text), "0x%08x", value);
  return text;
}

class Comparison {
 public:
  void Word(uint32_t expected, uint32_t actual, const std::string& what) {
    ++result.comparisons;
    if (expected == actual) return;
    Differ(what + " is " + Hex(actual) + ", not " + Hex(expected));
  }

  void Differ(const std::string& what) {
    ++result.differences;
    if (result.first_difference.empty()) result.first_difference = what;
  }

  void Logprob(const TokenLogprob& expected, const TokenLogprob& actual, const std::string& what) {
    Word(static_cast<uint32_t>(expected.token), static_cast<uint32_t>(actual.token),
         what + ", token");
    Word(float_bits(expected.logprob), float_bits(actual.logprob), what + ", logprob");
  }

  void Scores(const std::vector<TokenScore>& expected, const std::vector<TokenScore>& actual) {
    Word(static_cast<uint32_t>(expected.size()), static_cast<uint32_t>(actual.size()),
         "number of scores");
    for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
      const std::string what = "score " + std::to_string(i);
      Logprob(expected[i].chosen, actual[i].chosen, what);
      const size_t top = std::min(expected[i].top.size(), actual[i].top.size());
      Word(static_cast<uint32_t>(expected[i].top.size()),
           static_cast<uint32_t>(actual[i].top.size()), what + ", number of alternatives");
      for (size_t k = 0; k < top; ++k) Logprob(expected[i].top[k], actual[i].top[k], what);
    }
  }

  void Digest(const Sha256Digest& expected, const Sha256Digest& actual) {
    for (size_t at = 0; at < expected.size(); at += 4) {
      uint32_t a;
      uint32_t b;
      std::memcpy(&a, expected.data() + at, sizeof(a));
      std::memcpy(&b, actual.data() + at, sizeof(b));
      Word(a, b, "KV digest");
    }
  }

  void Sample(const Completion& expected, const Completion& actual) {
    if (!actual.status.ok()) {
      Differ(std::string(actual.status.message()));
      return;
    }
    Word(static_cast<uint32_t>(expected.tokens.size()), static_cast<uint32_t>(actual.tokens.size()),
         "number of tokens");
    for (size_t i = 0; i < std::min(expected.tokens.size(), actual.tokens.size()); ++i) {
      Word(static_cast<uint32_t>(expected.tokens[i]), static_cast<uint32_t>(actual.tokens[i]),
           "token " + std::to_string(i));
    }
    Word(static_cast<uint32_t>(expected.finish), static_cast<uint32_t>(actual.finish), "end");
    Scores(expected.scores, actual.scores);
    Digest(expected.kv_digest, actual.kv_digest);
    ++result.comparisons;
    if (expected.text != actual.text) Differ("text is \"" + actual.text + "\"");
  }

  BitComparison result;
};

}  // namespace

BitComparison CompareScores(const std::vector<TokenScore>& expected,
                            const std::vector<TokenScore>& actual) {
  Comparison comparison;
  comparison.Scores(expected, actual);
  return comparison.result;
}

BitComparison CompareDigests(const Sha256Digest& expected, const Sha256Digest& actual) {
  Comparison comparison;
  comparison.Digest(expected, actual);
  return comparison.result;
}

BitComparison CompareAnswers(const Answer& expected, const Answer& actual) {
  Comparison comparison;
  comparison.Scores(expected.prompt_scores, actual.prompt_scores);
  comparison.Word(static_cast<uint32_t>(expected.completions.size()),
                  static_cast<uint32_t>(actual.completions.size()), "number of samples");
  const size_t count = std::min(expected.completions.size(), actual.completions.size());
  for (size_t i = 0; i < count; ++i) {
    comparison.Sample(expected.completions[i], actual.completions[i]);
  }
  return comparison.result;
}

}  // namespace reenact::local_engine
