// Why the last reenact_open of this process failed. Fixed memory and no lock that a fork could
// inherit for ever: in the worst case the words are missing.

#ifndef REENACT_RECORDER_OPEN_ERROR_H_
#define REENACT_RECORDER_OPEN_ERROR_H_

#include <cstddef>
#include <string_view>

namespace reenact::recorder {

void SetOpenError(std::string_view why) noexcept;
// As reenact_error.
size_t CopyOpenError(char* buffer, size_t capacity) noexcept;

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_OPEN_ERROR_H_
