// Short texts put together without allocation: paths and lines of the scratch folder.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_PATH_TEXT_H_
#define REENACT_CLOCK_SHIM_PRELOAD_PATH_TEXT_H_

#include <string.h>

#include <cstddef>
#include <cstdint>

namespace reenact::clock_shim {

class PathText {
 public:
  explicit PathText(const char* text) { Add(text); }

  PathText& Add(const char* text) {
    const size_t size = strlen(text);
    if (size >= sizeof(text_) - size_) {
      ok_ = false;
      return *this;
    }
    memcpy(text_ + size_, text, size + 1);
    size_ += size;
    return *this;
  }

  PathText& AddNumber(uint64_t number) {
    char digits[21];
    size_t at = sizeof(digits);
    digits[--at] = '\0';
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return Add(digits + at);
  }

  // False: something did not fit.
  bool ok() const { return ok_; }

  const char* text() const { return text_; }

  size_t size() const { return size_; }

 private:
  char text_[4096 + 64] = {};
  size_t size_ = 0;
  bool ok_ = true;
};

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_PATH_TEXT_H_
