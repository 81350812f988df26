#!/usr/bin/env python3
"""What tools/quickstart, tools/check and the install scripts of the tests say when something is in the way.

usage: scripts_test.py --source DIR"""
import argparse
import fcntl
import os
import pathlib
import subprocess
import tempfile

NPM_FAILURE = """npm error code E404
npm error 404 Not Found - GET https://registry.invalid/nothing
npm error A complete log of this run can be found in: /nowhere/debug.log
""" + "a line of no interest\n" * 30
JUNIT = """<testsuite name="t" tests="3" skipped="2">
 <testcase name="passes" status="run"><system-out>fine</system-out></testcase>
 <testcase name="check_format" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
  <system-out>skipped: clang-format is missing</system-out></testcase>
 <testcase name="guarded" status="notrun"><skipped message=""/>
  <system-out>[ RUN ] A.B\n/x.cc:4: Skipped\nno user notification here\n</system-out></testcase>
</testsuite>
"""


def expect(condition, text):
    if not condition:
        raise SystemExit(f"not as expected:\n{text}")


def second_script_waits(source, scratch):
    lock = scratch / "lock"
    with open(lock, "w") as held:
        held.write("check (process 1)")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        script = f"set -eu; . {source}/tools/packages.sh; one_at_a_time {lock}; echo mine"
        second = subprocess.Popen(["sh", "-c", script, "tools/quickstart"], stdout=subprocess.PIPE, text=True)
        line = second.stdout.readline()
        expect("check (process 1)" in line and "waiting" in line, line)
        fcntl.flock(held, fcntl.LOCK_UN)
    rest = second.stdout.read()
    expect(second.wait(20) == 0 and rest == "mine\n", rest)
    expect("quickstart (process" in lock.read_text(), lock.read_text())
    # Nobody holds it: no word about it.
    alone = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20)
    expect(alone.stdout == "mine\n", alone.stdout)


def npm_failure_names_cause_and_log(source, scratch):
    npm = scratch / "npm"
    npm.write_text("#!/bin/sh\ncat <<'END'\n" + NPM_FAILURE + "END\nexit 1\n")
    npm.chmod(0o755)
    done = subprocess.run(["sh", "-c", f". {source}/tests/npm.sh; npm_install install.log nothing@1; echo went on"],
                          cwd=scratch, env={**os.environ, "PATH": f"{scratch}:{os.environ['PATH']}"},
                          capture_output=True, text=True, timeout=20)
    text = done.stdout + done.stderr
    expect(done.returncode == 2 and "went on" not in text, text)
    expect("404 Not Found" in text and str(scratch / "install.log") in text, text)
    expect("of no interest" not in text, text)


def skipped_tests_are_named(source, scratch):
    report = scratch / "tests.xml"
    report.write_text(JUNIT)
    done = subprocess.run([source / "tools/checks/skipped_tests.py", report], capture_output=True, text=True, timeout=20)
    expect(done.returncode == 0, done.stderr)
    expect(done.stdout == "  check_format: clang-format is missing\n  guarded: no user notification here\n", done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    source = parser.parse_args().source
    for case in (second_script_waits, npm_failure_names_cause_and_log, skipped_tests_are_named):
        with tempfile.TemporaryDirectory() as scratch:
            case(source, pathlib.Path(scratch))
    print("the scripts say what is in the way")


if __name__ == "__main__":
    main()
