// Makes inputs out of inputs, the same ones in every run.

#ifndef REENACT_TESTS_FUZZ_INPUT_MUTATOR_H_
#define REENACT_TESTS_FUZZ_INPUT_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace reenact::fuzz {

class InputMutator {
 public:
  // `corpus` is not empty.
  InputMutator(std::vector<std::string> corpus, std::vector<std::string> tokens, uint64_t seed);

  // An input with one to five changes: bits, bytes, numbers in binary and in decimal, tokens,
  // pieces removed, repeated, moved in from another input, the end cut off. Now and then what it
  // returned last is changed further.
  const std::string& Next();

 private:
  void Change(std::string* bytes);
  void ChangeBinaryNumber(std::string* bytes);
  void ChangeDecimalNumber(std::string* bytes);

  size_t Below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(random_() % end); }

  const std::string& AnyInput() { return corpus_[Below(corpus_.size())]; }

  const std::vector<std::string> corpus_;
  const std::vector<std::string> tokens_;
  std::mt19937_64 random_;
  std::string last_;
};

}  // namespace reenact::fuzz

#endif  // REENACT_TESTS_FUZZ_INPUT_MUTATOR_H_
