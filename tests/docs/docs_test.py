#!/usr/bin/env python3
"""Runs every command of the documentation: each ```sh block of the pages below, in order, in one folder
that looks like a checkout after tools/quickstart has run. A block that fails fails the page.

Commands that set up a whole machine (tools/quickstart, tools/check, cmake presets) are checked for
existence here, and run by whoever runs them; tools/demo/run_under_load is run by tests/demo.

usage: docs_test.py --source DIR --build DIR --scratch DIR"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

PAGES = ["README.md", "docs/guide.md", "CONTRIBUTING.md"]
WHOLE_MACHINE = ("tools/quickstart", "tools/check", "cmake --preset", "ctest --preset", "tools/demo/run_under_load")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page):
    """Yields the page's blocks without the commands that set up a machine."""
    for block in BLOCK.findall(page.read_text()):
        kept = [line for line in block.splitlines() if not line.startswith(WHOLE_MACHINE)]
        if any(line.strip() for line in kept):
            yield "\n".join(kept)


def prepare(source, build, scratch):
    """A checkout as quickstart leaves it: build/release and build/demo."""
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "build").mkdir(parents=True)
    (scratch / "build/release").symlink_to(build)
    for name in ("tools", "docs", "tests"):
        (scratch / name).symlink_to(source / name)
    subprocess.run([source / "tools/demo/run_demo", build, scratch / "build/demo"], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "build", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    prepare(arguments.source, arguments.build, arguments.scratch)
    for tool in ("tools/quickstart", "tools/check", "tools/demo/run_under_load", ".ci/run"):
        if not os.access(arguments.source / tool, os.X_OK):
            sys.exit(f"{tool} cannot be executed")
    count = 0
    for name in PAGES:
        script = "\n".join(commands(arguments.source / name))
        if not script:
            continue
        count += 1
        done = subprocess.run(["sh", "-eu", "-c", script], cwd=arguments.scratch, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{name}: a command failed with {done.returncode}\n{script}\n--\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    if count == 0:
        sys.exit("no page had a command")
    broken = subprocess.run(["sh", "-eu", "-c", "reenact-no-such-verb"], capture_output=True)
    if broken.returncode == 0:
        sys.exit("a command that does not exist was taken for a success")
    print(f"the commands of {count} pages run")


if __name__ == "__main__":
    main()
