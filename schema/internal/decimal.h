// A JSON number as the exact decimal it was written as; no double is ever made.

#ifndef REENACT_SCHEMA_INTERNAL_DECIMAL_H_
#define REENACT_SCHEMA_INTERNAL_DECIMAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reenact::schema::internal {

// digits * 10^exponent, negated where `negative`. Unique for a value: digits has no zero at either
// end and is empty for zero, which is never negative and has exponent 0.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};

// Nothing when `written` is not a JSON number, or is not zero and has an exponent beyond +-10^15:
// nobody counts there, and arithmetic on such exponents would overflow.
std::optional<Decimal> ParseDecimal(std::string_view written);

// Of a number beyond the range of a double: true when it is too large, false when too small.
bool IsHuge(std::string_view written);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_DECIMAL_H_
