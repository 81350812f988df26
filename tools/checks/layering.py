#!/usr/bin/env python3
"""Fails when an include goes against the arrows of docs/architecture.md, or when a third-party
header is seen where it may not be. With --self-test it proves that it can fail."""
import pathlib
import re
import sys
import tempfile

MAY_INCLUDE = {
    "schema": set(),
    "store": {"schema"},
    "local_engine": set(),
    "recorder": {"schema", "store"},
    "replayer": {"schema", "store", "local_engine", "recorder"},
    "tools": {"schema", "store", "recorder", "replayer", "local_engine"},
}
# The replayer sees the SDK only as a host does, and only where it plays one (the test fixture).
REPLAYER_SEES_SDK = "replayer/testing/"
# Third-party header -> path prefixes or suffixes that may include it; () is nowhere.
ONLY_IN = {
    r"sqlite3\.h": ("store/internal/", "store/segment_reader.cc", "tools/reenact/doctor.cc"),
    r"zstd\.h": ("store/body_codec.cc",),
    r"zlib\.h": ("store/",),
    r"curl/": ("replayer/", "recorder/include/reenact/reenact_curl.hpp", "tools/demo/"),
    r"seccomp\.h": ("replayer/",),
    r"nlohmann/": (".cc",),
    r"CLI/": ("tools/",),
    r"httplib\.h": ("tools/demo/",),
}
# What enters a host's process: standard library and the archives above only.
HOST_SIDE = ("schema/", "recorder/", "store/ring", "store/drain", "store/recovery", "store/retention",
             "store/segment_writer", "store/store_layout", "store/tables", "store/body_codec",
             "store/internal/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cc", ".hpp", ".cu", ".cuh"}


def problems(root):
    for module, allowed in MAY_INCLUDE.items():
        for path in sorted((root / module).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            name = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                hit = INCLUDE.match(line)
                if hit:
                    for problem in judge(name, module, allowed, hit[2]):
                        yield f"{name}:{number}: {problem}"


def judge(name, module, allowed, header):
    target = header.split("/")[0]
    if target in MAY_INCLUDE and target != module:
        if target not in allowed:
            yield f"{module} may not include {target}"
        if module == "replayer" and target == "recorder" and not name.startswith(REPLAYER_SEES_SDK):
            yield "only replayer/testing/ may see the recorder"
        if "/internal/" in header:
            yield f"{header} is private to {target}"
    if header.startswith("absl/") and name.startswith(HOST_SIDE):
        yield "Abseil may not enter a host's process"
    if header.startswith("nlohmann/") and name.startswith(HOST_SIDE):
        yield "a JSON library may not enter a host's process"
    for pattern, places in ONLY_IN.items():
        if re.match(pattern, header) and not name.startswith(places) and not name.endswith(places):
            yield f"<{header}> is not allowed here"


PLANTED = {
    "schema/a.cc": '#include "store/ring.h"\n',
    "store/b.cc": '#include <curl/curl.h>\n',
    "recorder/c.cc": '#include "absl/status/status.h"\n',
    "replayer/d.cc": '#include "recorder/recorder.h"\n',
    "tools/e.cc": '#include "store/internal/sqlite.h"\n',
}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in PLANTED.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = list(problems(root))
        missed = [name for name in PLANTED if not any(f.startswith(name + ":") for f in found)]
        for name in missed:
            print(f"planted fault not found: {name}")
        return not missed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: layering.py ROOT | --self-test")
    if sys.argv[1] == "--self-test":
        sys.exit(not self_test())
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "layering: ok")
    sys.exit(bool(found))
