#!/usr/bin/env python3
"""tools/gpu_check without a GPU: its words, its times, and its measurements on the emulated device.

usage: gpu_check_test.py --gpu-check FILE --emulated-bench FILE"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FAILURES = []


def expect(holds, what):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what}")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100)


def script(gpu_check):
    usage = run(gpu_check, "--help")
    expect(usage.returncode == 0 and "--dry-run" in usage.stdout, f"the help is {usage}")
    unknown = run(gpu_check, "--fast")
    expect(unknown.returncode == 2 and "'--fast'" in unknown.stderr, f"an unknown argument: {unknown}")
    dry = run(gpu_check, "--dry-run")
    expect(dry.returncode == 0, f"a dry run: {dry}")
    seconds = [int(found) for found in re.findall(r"^ *(\d+) s ", dry.stdout, re.MULTILINE)]
    expect(len(seconds) == 5, f"sections of a dry run: {dry.stdout}")
    expect(seconds[0] < 480 and sum(seconds[1:]) <= seconds[0], f"the sections take {seconds[1:]} of {seconds[0]} s")
    root = gpu_check.parent.parent
    lists = "".join(path.read_text() for path in (root / "tests/local_engine/cuda/ptx/CMakeLists.txt",
                                                  root / "tools/bench/CMakeLists.txt"))
    for target in re.search(r"the build of: (.*)", dry.stdout)[1].split():
        expect(re.search(rf"(NAME|add_executable\() ?{target}\b", lists), f"nothing builds {target}")
    if not any(os.path.exists(device) for device in ("/dev/nvidiactl", "/dev/dxg")):
        without = run(gpu_check)
        expect(without.returncode == 77 and "no GPU" in without.stdout, f"without a GPU: {without}")


def measurements(bench):
    dry = run(bench, "--dry-run")
    expect(dry.returncode == 0, f"a dry run of the measurements: {dry}")
    planned = [line for line in dry.stdout.splitlines() if line.endswith(" dry run")]
    for what in ("copy within the device", "GEMV BF16", "attention BF16, 128 x 1024", "GEMM W8A8", "GEMM Q8_0",
                 "order n1", "free order", "multiply-adds in registers", "BF16, decode, batch 128", "W8A8, decode, batch 1", "prefill of 2048"):
        expect(any(what in line for line in planned), f"{what} is not measured: {dry.stdout}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "measured.json"
        small = run(bench, "--small", "--json", path)
        expect(small.returncode == 0, f"on the emulated device: {small}")
        document = json.loads(path.read_text())
    expect(document["device"] == "emulated device", f"the device is {document['device']}")
    expect(len(document["measurements"]) == len(planned) - 6, f"{len(document['measurements'])} of {len(planned)}")
    for row in document["measurements"]:
        expect(row.get("value", 0) > 0, f"not measured: {row}")
        expect(row["what"] in small.stdout, f"not in the table: {row}")
    expect(run(bench, "--fast").returncode == 2, "an unknown argument")
    expect(run(bench, "--small", "--json", "/nowhere/at/all").returncode == 2, "a file that cannot be written")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu-check", type=pathlib.Path, required=True)
    parser.add_argument("--emulated-bench", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    script(arguments.gpu_check)
    measurements(arguments.emulated_bench)
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
