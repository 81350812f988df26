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
    "clock_shim": {"schema"},
    "recorder": {"schema", "store", "clock_shim"},
    "replayer": {"schema", "store", "local_engine", "recorder", "clock_shim"},
    "tools": {"schema", "store", "recorder", "replayer", "local_engine", "clock_shim"},
}
# Rooms inside a module: each may include those before it. The private ones are seen by nobody else.
ROOMS = {
    "store": ["format", "ring", "writer", "reader"],
    "local_engine": ["numerics", "tokenizer", "chat_template", "grammar", "weights", "model", "reference", "cpu", "cuda",
                     "engine"],
}
PRIVATE_ROOMS = ("store/format/",)
# The replayer sees the SDK only as a host does, and only where it plays one (the test fixture).
# What is compared with a kernel is made of the same parts.
MEASURES, MEASURED = "tools/bench/", "local_engine/cpu/internal/"
REPLAYER_SEES_SDK = "replayer/testing/"
# Third-party header -> path prefixes or suffixes that may include it; () is nowhere.
ONLY_IN = {
    r"sqlite3\.h": ("store/", "tools/reenact/doctor"),
    r"zstd\.h": ("store/format/body_codec.cc", "store/format/inflate.cc", "schema/content_decoder.cc"),
    r"zlib\.h": ("store/", "schema/content_decoder.cc"),
    r"brotli/": ("schema/content_decoder.cc",),
    r"boost/": ("recorder/proxy/", "replayer/http/"),
    r"curl/": ("recorder/proxy/", "replayer/", "reenact/reenact_curl.hpp", "reenact/internal/curl_codes.hpp", "tools/demo/"),
    r"openssl/": ("tools/evidence/",),
    r"seccomp\.h": ("replayer/",),
    r"nlohmann/json\.hpp": (".cc",),
    r"nlohmann/json_fwd\.hpp": ("store/", "tools/"),
    r"CLI/": ("tools/",),
    r"pcre2\.h": ("local_engine/tokenizer/",),
    r"httplib\.h": ("tools/demo/", "tools/engine_server/engine_server.cc"),
}
# What enters a host's process: these libraries, as their CMakeLists.txt list them, and every header
# that they reach. Standard library and our archives only.
HOST_LIBRARIES = {"schema": "schema", "store": "store_writer", "recorder": "recorder_core"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cc", ".hpp", ".cu", ".cuh"}


def includes(path):
    """Yields (line number, header) of every include in a file."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        hit = INCLUDE.match(line)
        if hit:
            yield number, hit[2]


def host_side(root):
    """The names of all files that are compiled into a host."""
    reached = set()
    for module, library in HOST_LIBRARIES.items():
        lists = root / module / "CMakeLists.txt"
        text = lists.read_text() if lists.exists() else ""
        listed = re.search(r"NAME " + library + r"\s+SRCS\s(.*?)(?:DEPS|\))", text, re.DOTALL)
        if listed:
            reached.update(f"{module}/{source}" for source in listed[1].split())
    waiting = list(reached)
    while waiting:
        path = root / waiting.pop()
        for _, header in includes(path) if path.exists() else ():
            if header.split("/")[0] in MAY_INCLUDE and header not in reached:
                reached.add(header)
                waiting.append(header)
    return reached


def problems(root):
    in_host = host_side(root)
    for module, allowed in MAY_INCLUDE.items():
        for path in sorted((root / module).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            name = path.relative_to(root).as_posix()
            for number, header in includes(path):
                for problem in judge(name, module, allowed, header, name in in_host):
                    yield f"{name}:{number}: {problem}"


def judge(name, module, allowed, header, in_host):
    target = header.split("/")[0]
    if target in MAY_INCLUDE and target != module:
        if target not in allowed:
            yield f"{module} may not include {target}"
        if module == "replayer" and target == "recorder" and not name.startswith(REPLAYER_SEES_SDK):
            yield "only replayer/testing/ may see the recorder"
        is_private = "/internal/" in header or header.startswith(PRIVATE_ROOMS)
        if is_private and not (name.startswith(MEASURES) and header.startswith(MEASURED)):
            yield f"{header} is private to {target}"
    if target == module:
        rooms = ROOMS.get(module, [])
        ours, theirs = (path.split("/")[1] for path in (name, header))
        if ours in rooms and theirs in rooms and rooms.index(theirs) > rooms.index(ours):
            yield f"{module}/{ours} may not include {module}/{theirs}"
    if in_host and header.startswith(("absl/", "nlohmann/")):
        yield f"{header} may not enter a host's process"
    for pattern, places in ONLY_IN.items():
        if re.match(pattern, header) and not name.startswith(places) and not name.endswith(places):
            yield f"<{header}> is not allowed here"


PLANTED = {
    "schema/a.cc": '#include "store/ring/ring.h"\n',
    "store/b.cc": '#include <curl/curl.h>\n',
    "recorder/c.cc": '#include "recorder/c.h"\n',
    "recorder/c.h": '#include "absl/status/status.h"\n',
    "recorder/CMakeLists.txt": "reenact_library(NAME recorder_core SRCS\n  c.cc\n  DEPS x)\n",
    "replayer/d.cc": '#include "recorder/recorder.h"\n',
    "tools/e.cc": '#include "store/reader/internal/utf8.h"\n',
    "store/h.cc": '#include <openssl/evp.h>\n',
    "tools/f.cc": '#include "store/format/sqlite.h"\n',
    "store/ring/g.cc": '#include "store/writer/drain.h"\n',
}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in PLANTED.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = list(problems(root))
        innocent = ("recorder/c.cc", "recorder/CMakeLists.txt")
        missed = [name for name in PLANTED if name not in innocent and not any(f.startswith(name + ":") for f in found)]
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
