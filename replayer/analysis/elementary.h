// exp, log and their neighbours from additions and multiplications only, so that a statistic has
// the same bits on every machine. Those of the C library choose their code by the processor: with
// fused multiply-add the last bit differs.
//
// Bits: pure functions of the argument under IEEE 754 binary64; this library is compiled with
// -ffp-contract=off. Accuracy: within 3 units in the last place, by test.

#ifndef REENACT_REPLAYER_ANALYSIS_ELEMENTARY_H_
#define REENACT_REPLAYER_ANALYSIS_ELEMENTARY_H_

#include <cstdint>

namespace reenact::analysis {

// Below the smallest number: 0. Above the largest: infinity.
double Exp(double x);
// e^x - 1, exact to the last places near 0.
double ExpMinusOne(double x);
// Minus infinity at 0, NaN below.
double Log(double x);
// log(1 + x), exact to the last places near 0.
double LogOnePlus(double x);
// By repeated squaring.
double IntegerPower(double base, int64_t exponent);
// e^(exponent * log base), for base >= 0; 0^0 is 1.
double Power(double base, double exponent);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_ELEMENTARY_H_
