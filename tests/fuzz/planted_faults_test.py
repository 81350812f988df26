#!/usr/bin/env python3
"""Every fuzz target finds a fault that is planted behind its parser, keeps the input that showed it,
and shows it again with that input alone. Usage: planted_faults_test.py PROGRAM TARGET..."""
import os
import pathlib
import subprocess
import sys
import tempfile

SAID = {
    "crash": "found: ",
    "rule": "broken rule: the planted rule",
    "memory": "found: ",
    "hang": "found: no end after 300 ms",
}


def run(target, folder, *arguments):
    environment = dict(os.environ, TMPDIR=str(folder))  # A target that aborts cleans up nothing.
    return subprocess.run([*target, *arguments], cwd=folder, env=environment, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=100)


def problems(target, fault, folder):
    hang = ["--hang-ms", "300"] if fault == "hang" else []
    found = run(target, folder, "--plant", fault, "--mutations", "50", *hang)
    if found.returncode != 1 or SAID[fault] not in found.stdout:
        yield f"{target[-1]}: planted {fault} not reported:\n{found.stdout}"
        return
    finding = folder / (target[-1] + ".finding")
    again = run(target, folder, "--plant", fault, *hang, str(finding))
    if again.returncode != 1 or SAID[fault] not in again.stdout:
        yield f"{target[-1]}: the kept input does not show the {fault}:\n{again.stdout}"
    without = run(target, folder, str(finding))
    if without.returncode != 0:
        yield f"{target[-1]}: a finding without a fault:\n{without.stdout}"


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: planted_faults_test.py PROGRAM TARGET...")
    program, *names = sys.argv[1:]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            # Crash for every target; the other ways to fail are the driver's, and seen once.
            for fault in SAID if number == 0 else ["crash"]:
                found += problems([program, name], fault, pathlib.Path(folder))
    print("\n".join(found) or f"each of {len(names)} targets reported its fault")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
