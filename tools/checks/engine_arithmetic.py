#!/usr/bin/env python3
"""Fails when the arithmetic of the local engine uses what does not give the same bits everywhere: functions of libm,
sums without an order, atomic additions, libraries of kernels, instructions that approximate or flush, and fast-math.
With --self-test it proves that it can fail."""
import pathlib
import re
import sys
import tempfile

ROOMS = ("numerics", "reference", "cpu", "cuda", "engine")
SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".txt"}
BANNED = {
    "a function of libm": r"(?<![\w.>])(?:std::|__)?(?:exp|exp2|log|log2|log10|pow|sin|cos|tan|tanh|sincos|erf|rsqrt|cbrt)f?\(",
    "a sum without an order": r"\bstd::(?:reduce|transform_reduce|accumulate|inner_product)\b|\bomp\b.*\breduction\b",
    "an atomic addition": r"\batomicAdd\w*\(|\bstd::atomic<(?:float|double)>",
    "a library of kernels": r"\b(?:cublas|cudnn|cutlass|cub)\w*",
    "an approximate instruction": r"_(?:rcp|rsqrt)(?:14|28)?_[ps][sd]\b|\b__f(?:div|sqrt|rcp)\w*(?<!_rn)\(|\.approx\b|\.ftz\b",
    "an instruction that flushes": r"_dpbf16_ps\b|_cvtne2?ps_pbh\b|_cvtneps_pbh\b|\bwmma::|\bmma\.sync\S*bf16",
    "fast-math": r"(?<!no-)fast[-_]math\b|-ffp-contract=(?!off)\w+|--?fmad=true",
}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def problems(root):
    for room in ROOMS:
        for path in sorted((root / "local_engine" / room).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            text = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text())
            for number, line in enumerate(text.splitlines(), 1):
                for what, pattern in BANNED.items():
                    if re.search(pattern, line):
                        yield f"{path.relative_to(root)}:{number}: {what}: {line.strip()}"


PLANTED = ("y = std::exp(x);", "y = expf(x);", "s = std::accumulate(a, b, 0.0f);", "atomicAdd(&sum, x);",
           "cublasSgemm(handle);", "y = _mm512_rsqrt14_ps(x);", "y = __fdividef(a, b);",
           "a = _mm512_dpbf16_ps(a, b, c);", "-ffast-math", "-ffp-contract=fast")
SOUND = ("y = Exp(x); y = LogDouble(x);", "// std::exp is not used", "-fno-fast-math -ffp-contract=off",
         "y = __fdiv_rn(a, b);", "trial.exp(x)", "__fsqrt_rn(x)")


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "local_engine/cpu").mkdir(parents=True)
        wrong = []
        for line in PLANTED + SOUND:
            (root / "local_engine/cpu/a.cc").write_text(line + "\n")
            if bool(list(problems(root))) != (line in PLANTED):
                wrong.append(line)
    print("\n".join(wrong) or f"each of {len(PLANTED)} planted lines is found, and none of {len(SOUND)} others")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit("usage: engine_arithmetic.py ROOT | --self-test")
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "engine_arithmetic: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
