// PTX text as statements: without comments, with the scopes of braces left out where they hold none
// of an instruction's operands (nvcc gives the registers of inner scopes names of their own).

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_SCANNER_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_SCANNER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace reenact::ptx {

// The text with comments turned into spaces.
std::string WithoutComments(std::string_view text);

// Reads a text from its beginning on.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool AtEnd();
  // The character that comes next, after spaces; 0 at the end.
  char Peek();
  // Whether `text` comes next; it is passed, then.
  bool Skip(std::string_view text);
  // Up to the next of the characters, which is not taken. Throws Fault when none comes.
  std::string_view Until(std::string_view any_of);
  // A word without spaces and parentheses.
  std::string_view Word();
  // What is between an opening brace or parenthesis, which comes next, and its partner.
  std::string_view Balanced();
  // "$L__BB0_2" where a label comes next; empty otherwise.
  std::string_view Label();
  // Up to ";", which is passed.
  std::string_view Statement();

 private:
  void SkipSpace();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_SCANNER_H_
