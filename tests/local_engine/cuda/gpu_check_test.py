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
import time

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


FAKE_CMAKE = """#!/bin/sh
{cmake}
for name in tests/local_engine/cuda/ptx/local_engine_cuda_device_test \\
    tests/local_engine/cuda/ptx/local_engine_cuda_models_device_test tools/bench/cuda_bench; do
  mkdir -p "$REENACT_GPU_CHECK_FOLDER/${{name%/*}}"
  printf '#!/bin/sh\\n{program}\\n' >"$REENACT_GPU_CHECK_FOLDER/$name"
  chmod +x "$REENACT_GPU_CHECK_FOLDER/$name"
done
"""
SLEEP = "echo $$ >>{pids}; sleep 67"
STUBBORN = "trap : TERM; echo $$ >>{pids}; while :; do sleep 0.2; done"


def alive(pid):
    try:
        return pathlib.Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def with_a_driver(gpu_check, limit_s, cmake=":", program=":"):
    """The script as where there is a driver, from another folder, by a relative path; what it builds is made up."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pids = folder / "pids"
        words = {"cmake": cmake.format(pids=pids), "program": program.format(pids=pids)}
        (folder / "cmake").write_text(FAKE_CMAKE.format(**words))
        (folder / "cmake").chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", REENACT_GPU_CHECK_DRIVER="/dev/null",
                           REENACT_GPU_CHECK_LIMIT_S=str(limit_s), REENACT_GPU_CHECK_FOLDER=str(folder / "gpu"))
        began = time.monotonic()
        ended = subprocess.run([f"./{gpu_check.name}"], cwd=gpu_check.parent, env=environment, capture_output=True,
                               text=True, timeout=60)
        left = [pid for pid in (pids.read_text().split() if pids.exists() else []) if alive(pid)]
        return ended, time.monotonic() - began, left, pids.exists()


def watchdog(gpu_check):
    ended, _, _, _ = with_a_driver(gpu_check, 100)
    expect(ended.returncode == 0 and "operations: equal" in ended.stdout and "Written to" not in ended.stdout,
           f"all equal, from another folder: {ended}")
    ended, _, _, _ = with_a_driver(gpu_check, 100, program="exit 1")
    expect(ended.returncode == 1 and "operations: different or failed" in ended.stdout, f"a difference: {ended}")
    for build in (SLEEP, STUBBORN):
        ended, took, left, began = with_a_driver(gpu_check, 13, cmake=build)
        expect(ended.returncode == 2 and "--build" in ended.stderr, f"a build that does not end: {ended}")
        expect(began and not left and took < 30, f"a build that does not end leaves {left}, began {began}, took {took}")
    ended, took, left, began = with_a_driver(gpu_check, 14, program=SLEEP)
    expect(ended.returncode == 1 and "operations: not finished in time" in ended.stdout
           and "no time was left to measure" in ended.stderr, f"checks that hang: {ended}")
    expect(began and not left and took < 40, f"checks that hang leave {left}, began {began}, took {took}")


def measurements(bench):
    dry = run(bench, "--dry-run")
    expect(dry.returncode == 0, f"a dry run of the measurements: {dry}")
    planned = [line for line in dry.stdout.splitlines() if line.endswith(" dry run")]
    for what in ("copy within the device", "GEMV BF16", "attention BF16, 128 x 1024", "GEMM W8A8", "GEMM Q8_0",
                 "order n1", "free order", "multiply-adds in registers", "BF16, decode, batch 128", "W8A8, decode, batch 1", "prefill of 2048"):
        expect(any(what in line for line in planned), f"{what} is not measured: {dry.stdout}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "measured.json"
        small = run(bench, "--small", "--json", path, "--check", "operations: equal")
        expect(small.returncode == 0, f"on the emulated device: {small}")
        document = json.loads(path.read_text())
    expect(document["device"] == "emulated device", f"the device is {document['device']}")
    expect(document["checks"] == ["operations: equal"] and "  operations: equal\n" in small.stdout, "what was checked")
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
    watchdog(arguments.gpu_check.resolve())
    measurements(arguments.emulated_bench)
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
