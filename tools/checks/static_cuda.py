#!/usr/bin/env python3
"""Fails when a program with kernels for NVIDIA devices needs a library of NVIDIA's to start, for it has to start where
no driver and no CUDA is installed. The runtime is linked statically and looks for the driver while the program runs, as
the benchmark does for cuBLAS."""
import re
import subprocess
import sys

OF_NVIDIA = re.compile(r"lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nv[\w-]+)\.so\b")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def problems(program):
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", program)):
        if OF_NVIDIA.match(name):
            yield f"needs {name}"
    if not re.search(r" cudaGetDeviceCount$", output_of("nm", "--defined-only", program), re.MULTILINE):
        yield "has no runtime of CUDA's inside"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: static_cuda.py PROGRAM...")
    found = [f"{program} {problem}" for program in sys.argv[1:] for problem in problems(program)]
    print("\n".join(found) or "static_cuda: ok")
    sys.exit(bool(found))
