#!/usr/bin/env python3
"""Fails when the recorder library exports a name that is not reenact_*, needs a library that it
should carry inside, leaves a SQLite, zstd or zlib name to be found in its host, or runs a
constructor of its own at load time."""
import subprocess
import sys

NEEDED_OK = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}
SANITIZERS = ("libasan", "libubsan", "libtsan")
FOREIGN = ("sqlite3_", "ZSTD_", "inflate", "deflate", "crc32")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def problems(library):
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        _, kind, name = line.split()
        if kind != "A" and not name.startswith("reenact_"):
            yield f"exports {name}"
    for line in run("nm", "-D", "--undefined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind == "U" and name.startswith(FOREIGN):
            yield f"looks for {name} in its host"
    for line in run("readelf", "-dW", library).splitlines():
        if "(NEEDED)" in line:
            needed = line.split("[")[1].rstrip("]")
            if needed not in NEEDED_OK and not needed.startswith(SANITIZERS):
                yield f"needs {needed}"
    for line in run("readelf", "-SW", library).splitlines():
        fields = line.replace("[ ", "[").split()
        if len(fields) > 5 and fields[1] == ".init_array" and int(fields[5], 16) > 8:
            yield f"{int(fields[5], 16) // 8 - 1} static constructors"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: exports.py LIBRARY")
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or "exports: ok")
    sys.exit(bool(found))
