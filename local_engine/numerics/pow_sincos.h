// pow, sin and cos in binary64 for the rotary tables, which are computed once on the CPU, rounded
// to binary32, and hashed. Only + - * / and integer operations of binary64, so every CPU gives the
// same tables; no device ever computes them.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_POW_SINCOS_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_POW_SINCOS_H_

namespace reenact::local_engine {

// base^exponent for a positive normal base, where the result is within 2^-1000 ... 2^1000.
// Error: relative 2^-46 while |exponent ln(base)| <= 32, which holds for any rotary frequency.
double Pow(double base, double exponent);

struct SinCosPair {
  double sin = 0;
  double cos = 1;
};

// For |angle| <= 2^20 radians. Error: absolute 2^-50.
SinCosPair SinCos(double angle);

// The natural logarithm of a positive normal number. Error: relative 2^-50.
double LogDouble(double x);

// e^x for |x| <= 690. Error: relative 2^-50.
double ExpDouble(double x);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_POW_SINCOS_H_
