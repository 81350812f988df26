#!/usr/bin/env python3
"""The checks of the kernels on the PTX that nvcc makes for other architectures, each built and run in turn. Only where
REENACT_LONG is set: exit code 77 otherwise.

usage: architectures_test.py --cmake FILE --build DIR --folder DIR PROGRAM=OBJECT:OBJECT..."""
import argparse
import os
import pathlib
import subprocess
import sys

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    for name in ("cmake", "build", "folder"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    if not os.environ.get("REENACT_LONG"):
        print("skipped: other architectures are compiled for only where REENACT_LONG is set")
        return SKIPPED
    failed = []
    for program in arguments.programs:
        name, objects = program.split("=")
        subprocess.run([arguments.cmake, "--build", arguments.build, "--target", name], check=True)
        done = subprocess.run([arguments.folder / name, "--gtest_brief=1"], check=False,
                              env={**os.environ, "REENACT_DEVICE_CODE": objects})
        if done.returncode != 0:
            failed.append(name)
    print(f"failed: {failed or 'none'} of {len(arguments.programs)} architectures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
