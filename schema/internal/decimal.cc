#include "schema/internal/decimal.h"

#include <algorithm>

#include "schema/internal/text_classes.h"

namespace reenact::schema::internal {
namespace {

constexpr int64_t kMaxExponent = 1'000'000'000'000'000;

// Takes the digits at the front of `rest`.
std::string_view TakeDigits(std::string_view* rest) {
  size_t size = 0;
  while (size < rest->size() && IsDigit((*rest)[size])) ++size;
  const std::string_view digits = rest->substr(0, size);
  rest->remove_prefix(size);
  return digits;
}

bool TakeIf(std::string_view* rest, char c) {
  if (rest->empty() || rest->front() != c) return false;
  rest->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeExponent(std::string_view* rest) {
  if (!TakeIf(rest, 'e') && !TakeIf(rest, 'E')) return 0;
  const bool negative = TakeIf(rest, '-');
  if (!negative) TakeIf(rest, '+');
  const std::string_view digits = TakeDigits(rest);
  if (digits.empty()) return std::nullopt;
  int64_t exponent = 0;
  for (const char c : digits) {
    exponent = std::min(exponent * 10 + (c - '0'), kMaxExponent + 1);
  }
  return negative ? -exponent : exponent;
}

}  // namespace

std::optional<Decimal> ParseDecimal(std::string_view written) {
  Decimal decimal;
  decimal.negative = TakeIf(&written, '-');
  const std::string_view whole = TakeDigits(&written);
  if (whole.empty()) return std::nullopt;
  std::string_view fraction;
  if (TakeIf(&written, '.')) {
    fraction = TakeDigits(&written);
    if (fraction.empty()) return std::nullopt;
  }
  const std::optional<int64_t> exponent = TakeExponent(&written);
  if (!exponent || !written.empty()) return std::nullopt;

  decimal.digits.reserve(whole.size() + fraction.size());
  decimal.digits.append(whole).append(fraction);
  const bool countable = *exponent >= -kMaxExponent && *exponent <= kMaxExponent;
  decimal.exponent = *exponent - static_cast<int64_t>(fraction.size());
  const size_t last = decimal.digits.find_last_not_of('0');
  if (last == std::string::npos) return Decimal();
  if (!countable) return std::nullopt;
  decimal.exponent += static_cast<int64_t>(decimal.digits.size() - last - 1);
  decimal.digits.erase(last + 1);
  decimal.digits.erase(0, decimal.digits.find_first_not_of('0'));
  return decimal;
}

bool IsHuge(std::string_view written) {
  if (const std::optional<Decimal> decimal = ParseDecimal(written)) {
    return decimal->exponent + static_cast<int64_t>(decimal->digits.size()) > 0;
  }
  return written.find("e-") == std::string_view::npos &&
         written.find("E-") == std::string_view::npos;
}

}  // namespace reenact::schema::internal
