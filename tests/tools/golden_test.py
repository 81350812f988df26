#!/usr/bin/env python3
"""Text in, text out: runs the command lines of tests/golden/*.golden and compares what they print.

A golden file:

    # What this shows, in a sentence.
    store right,wrong            the runs that the store holds (tests/tools/golden_store.cc)
    env TZ=Europe/Berlin         an environment variable, where one is needed
    $ reenact list               a command line; a shell reads it
    ...                          what it prints: standard output, then lines of standard
    err| reenact list: ...       error behind "err| ", then the exit code where it is not 0
    exit 1

`golden_test.py --update` writes what is printed into the files: read the difference before you
commit it. In the files $STORE is the store, and $TMP an empty folder.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile


class Golden:
    """One file: its head lines, and its command lines with what they should print."""

    def __init__(self, text):
        self.head, self.runs, self.environment = [], "", {}
        self.commands = []  # [command line, expected text]
        for line in text.splitlines():
            if line.startswith("$ "):
                self.commands.append([line[2:], []])
            elif self.commands:
                self.commands[-1][1].append(line)
            else:
                self.head.append(line)
                if line.startswith("store "):
                    self.runs = line.split(None, 1)[1].strip()
                elif line.startswith("env "):
                    name, value = line.split(None, 1)[1].split("=", 1)
                    self.environment[name] = value

    def text(self):
        lines = list(self.head)
        for command, expected in self.commands:
            lines += ["$ " + command] + expected
        return "\n".join(lines).rstrip("\n") + "\n"


def run_command(command, store, tmp, environment):
    done = subprocess.run(["bash", "-c", command], env=environment, cwd=tmp, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60)
    text = done.stdout.decode("utf-8", "backslashreplace")
    lines = text.splitlines()
    lines += ["err| " + line for line in done.stderr.decode("utf-8", "backslashreplace").splitlines()]
    if done.returncode != 0:
        lines.append("exit %d" % done.returncode)
    lines = [line.replace(store, "$STORE").replace(tmp, "$TMP") for line in lines]
    return lines + [""]


def check(path, options):
    golden = Golden(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        store, tmp = folder + "/store", folder + "/tmp"
        os.mkdir(tmp)
        if golden.runs:
            subprocess.run([options.make_store, golden.runs, store], check=True)
        environment = {"PATH": os.path.dirname(options.reenact) + ":/usr/bin:/bin", "TZ": "UTC",
                       "HOME": tmp, "REENACT_STORE": store, "STORE": store, "TMP": tmp}
        environment.update(golden.environment)
        # What a sanitized build needs.
        environment.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        failures = []
        for command in golden.commands:
            actual = run_command(command[0], store, tmp, environment)
            expected = [line for line in command[1]]
            if "\n".join(expected).rstrip() != "\n".join(actual).rstrip():
                failures.append((command[0], expected, actual))
                command[1] = actual
        if failures and options.update:
            path.write_text(golden.text())
            return []
        return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True, type=os.path.abspath)  # Commands run in a folder of their own.
    parser.add_argument("--make-store", required=True, type=os.path.abspath)
    parser.add_argument("--golden", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", default="", help="regular expression on file names")
    options = parser.parse_args()
    paths = sorted(p for p in options.golden.glob("*.golden") if re.search(options.only, p.name))
    if not paths:
        sys.exit("no golden files in %s" % options.golden)
    failed = 0
    for path in paths:
        for command, expected, actual in check(path, options):
            failed += 1
            print("%s: $ %s" % (path.name, command))
            print("  expected:\n    " + "\n    ".join(expected))
            print("  printed:\n    " + "\n    ".join(actual))
    print("%d golden files, %d command lines differ" % (len(paths), failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
