#include "tests/fuzz/input_mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace reenact::fuzz {
namespace {

// Mutations of mutations do not grow beyond the seeds and this.
constexpr size_t kGrowth = size_t{1} << 14;

constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 2,
                                 0x7f,
                                 0x80,
                                 0xff,
                                 0x100,
                                 0x7fff,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0xfffffffffffffff0,
                                 0xffffffffffffffff};

constexpr const char* kDecimals[] = {
    "0",     "-1",  "1",  "2147483648", "4294967295",           "9223372036854775808", "1e308",
    "1e400", "0.5", "-0", "1000000",    "18446744073709551615", "3000000000",          "65537"};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

InputMutator::InputMutator(std::vector<std::string> corpus, std::vector<std::string> tokens,
                           uint64_t seed)
    : corpus_(std::move(corpus)), tokens_(std::move(tokens)), random_(seed), last_(AnyInput()) {}

const std::string& InputMutator::Next() {
  std::string bytes = Below(3) == 0 ? std::move(last_) : AnyInput();
  for (size_t changes = 1 + Below(5); changes > 0; --changes) Change(&bytes);
  size_t largest = kGrowth;
  for (const std::string& input : corpus_) largest = std::max(largest, input.size() + kGrowth);
  if (bytes.size() > largest) bytes.resize(largest);
  last_ = std::move(bytes);
  return last_;
}

void InputMutator::Change(std::string* bytes) {
  const size_t at = Below(bytes->size() + 1);
  const size_t left = bytes->size() - at;
  switch (Below(10)) {
    case 0:
      if (left > 0) (*bytes)[at] ^= static_cast<char>(1U << Below(8));
      break;
    case 1:
      if (left > 0) (*bytes)[at] = static_cast<char>(random_());
      break;
    case 2:
      ChangeBinaryNumber(bytes);
      break;
    case 3:
      ChangeDecimalNumber(bytes);
      break;
    case 4:
      bytes->erase(at, 1 + Below(Below(4) == 0 ? left : 12));
      break;
    case 5:  // Repeated, up to what takes a parser deep.
      bytes->insert(at, [&] {
        const std::string piece = bytes->substr(at, 1 + Below(24));
        std::string repeated;
        for (size_t times = size_t{1} << Below(8); times > 0; --times) repeated += piece;
        return repeated;
      }());
      break;
    case 6: {
      const std::string& other = AnyInput();
      const size_t from = Below(other.size() + 1);
      bytes->insert(at, other, from, 1 + Below(64));
      break;
    }
    case 7:
      if (!tokens_.empty())
        bytes->replace(at, Below(3) == 0 ? Below(12) : 0, tokens_[Below(tokens_.size())]);
      break;
    case 8:
      if (!tokens_.empty()) bytes->insert(at, tokens_[Below(tokens_.size())]);
      break;
    default:
      if (Below(4) == 0) bytes->resize(at);
  }
}

void InputMutator::ChangeBinaryNumber(std::string* bytes) {
  const size_t width = size_t{1} << Below(4);
  if (bytes->size() < width) return;
  const size_t at = Below(bytes->size() - width + 1);
  uint64_t number = 0;
  std::memcpy(&number, bytes->data() + at, width);
  switch (Below(3)) {
    case 0:
      number += Below(33) - 16;
      break;
    case 1:
      number = kNumbers[Below(std::size(kNumbers))];
      break;
    default:
      number = bytes->size() + Below(17) - 8;  // A length that just does, or does not, fit.
  }
  std::memcpy(bytes->data() + at, &number, width);
}

void InputMutator::ChangeDecimalNumber(std::string* bytes) {
  const auto begin = std::find_if(bytes->begin() + static_cast<ptrdiff_t>(Below(bytes->size() + 1)),
                                  bytes->end(), IsDigit);
  if (begin == bytes->end()) return;
  const auto end = std::find_if_not(begin, bytes->end(), IsDigit);
  const char* const number = kDecimals[Below(std::size(kDecimals))];
  bytes->replace(begin, end, number, number + std::strlen(number));
}

}  // namespace reenact::fuzz
