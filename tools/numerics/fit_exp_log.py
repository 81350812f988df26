#!/usr/bin/env python3
"""Fits the coefficients of Exp and Log (local_engine/numerics/exp_log.h) and prints them as C++
hexadecimal floats, lowest degree first. Standard library only; a second or two.

  exp(r)   = 1 + r + r^2 p(r)          |r| <= ln2 / 2, a little more for the rounded reduction
  log(1+f) = f - f^2/2 + f^3 q(f)      |f| <= 1/3

The fit is a least-squares fit of the relative error on Chebyshev-spaced points, in 60 decimal
digits. Coefficients are rounded to binary32 one by one from the lowest degree up, and those still
free are fitted again to what the rounding left: the errors of the low ones, which weigh most, are
taken up by the high ones."""
import math
import struct
from decimal import Decimal, getcontext

getcontext().prec = 60
POINTS = 240


def binary32(value):
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def points(low, high):
    """Chebyshev-spaced, none of them 0."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle + half * Decimal(math.cos(math.pi * (i + 0.5) / POINTS)) for i in range(POINTS)]


def solve(matrix, right):
    """Gaussian elimination with partial pivoting."""
    size = len(matrix)
    rows = [line[:] + [value] for line, value in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(xs, targets, weights, powers):
    columns = [[w * x**p for x, w in zip(xs, weights)] for p in powers]
    goal = [w * t for t, w in zip(targets, weights)]
    matrix = [[sum(a * b for a, b in zip(u, v)) for v in columns] for u in columns]
    return solve(matrix, [sum(a * b for a, b in zip(u, goal)) for u in columns])


def fit(name, low, high, degree, target, weight):
    """`target`: the function that the polynomial stands for; `weight`: what turns its error into
    the relative error of the result."""
    xs = points(low, high)
    weights = [weight(x) for x in xs]
    wanted = [target(x) for x in xs]
    rest, coefficients = wanted[:], []
    for power in range(degree + 1):
        free = least_squares(xs, rest, weights, range(power, degree + 1))
        coefficients.append(binary32(free[0]))
        rest = [r - Decimal(coefficients[-1]) * x**power for r, x in zip(rest, xs)]
    worst = max(abs(r * w) for r, w in zip(rest, weights))
    print(f"{name}: relative error 2^{math.log2(float(worst)):.2f}")
    for power, value in enumerate(coefficients):
        print(f"  {power}: {value.hex()}f")


def main():
    ln2 = Decimal(2).ln()
    reach = ln2 / 2 * Decimal("1.0001")
    fit("exp p", -reach, reach, 4, lambda r: (r.exp() - 1 - r) / r**2, lambda r: r**2 / r.exp())
    third = Decimal(1) / 3
    fit("log q", -third, third, 7, lambda f: ((1 + f).ln() - f + f * f / 2) / f**3,
        lambda f: f**3 / (1 + f).ln())
    high = Decimal(int(ln2 * 2**15)) / 2**15  # 15 bits: times any exponent it is exact
    print(f"ln2: high {binary32(high).hex()}f low {binary32(ln2 - high).hex()}f")
    print(f"log2(e): {binary32(1 / ln2).hex()}f")
    half_pi_parts()


def half_pi_parts():
    """pi/2 in pieces of 33 bits, so that a piece times an integer below 2^20 is exact in binary64."""
    rest = Decimal("1.57079632679489661923132169163975144209858469968755291048747229615")
    for index, bits in enumerate((32, 65, 98)):
        piece = Decimal(int(rest * 2**bits)) / Decimal(2) ** bits
        print(f"pi/2 part {index}: {float(piece).hex()}")
        rest -= piece
    print(f"ln2 double: high {float(Decimal(int(Decimal(2).ln() * 2**32)) / 2**32).hex()} "
          f"low {float(Decimal(2).ln() - Decimal(int(Decimal(2).ln() * 2**32)) / 2**32).hex()}")


if __name__ == "__main__":
    main()
