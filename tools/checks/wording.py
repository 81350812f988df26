#!/usr/bin/env python3
"""Fails on what the project does not say in its own files: unfinished work, machine paths, and
file names that name no thing."""
import pathlib
import re
import subprocess
import sys

FORBIDDEN = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished work"),
    (re.compile(r"(?<![\w.])/(work|root|home)/[a-z]"), "a path of one machine"),
    (re.compile(r"\bDISABLED_"), "a test that does not run"),
]
VAGUE_NAME = re.compile(r"(^|_)(util|utils|common|misc|manager|helper|helpers)(_|\.|$)")
SELF = "tools/checks/wording.py"
TEXT = {".h", ".hpp", ".cc", ".c", ".py", ".sh", ".md", ".txt", ".cmake", ".mjs", ".json", ""}


def problems(root):
    files = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    for name in files:
        if VAGUE_NAME.search(pathlib.PurePath(name).name):
            yield f"{name}: a name that names no thing"
        path = pathlib.Path(root, name)
        if name == SELF or path.suffix not in TEXT or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for pattern, what in FORBIDDEN:
                if pattern.search(line):
                    yield f"{name}:{number}: {what}: {line.strip()[:80]}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: wording.py ROOT")
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or "wording: ok")
    sys.exit(bool(found))
