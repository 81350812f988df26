#!/usr/bin/env python3
"""Fails when a file uses a name of the standard library whose header neither it nor a header of ours
that it includes asks for: one standard library includes more behind the scenes than the next, and
only the next one would not compile. With --self-test it proves that it can fail."""
import pathlib
import re
import sys
import tempfile

MODULES = ("schema", "store", "clock_shim", "recorder", "local_engine", "replayer", "tools", "tests")
ALGORITHMS = (
    "sort stable_sort find find_if min max minmax any_of all_of none_of copy fill equal reverse unique lower_bound "
    "upper_bound transform count count_if clamp remove_if search mismatch min_element max_element rotate shuffle "
    "binary_search replace"
)
USES = {
    "algorithm": r"std::(?:" + "|".join(ALGORITHMS.split()) + r")\(",
    "array": r"std::array<",
    "atomic": r"std::atomic\b",
    "cstdint": r"\bu?int(?:8|16|32|64|ptr)_t\b",
    "cstdio": r"\b(?:std::)(?:printf|fprintf|snprintf|fputs|fopen)\(",
    "cstdlib": r"\b(?:std::)(?:getenv|abort|exit|strtoull|strtoll|atoi|free|malloc)\(",
    "cstring": r"\b(?:std::)(?:memcpy|memset|memcmp|memmove|strlen|strerror)\(",
    "fstream": r"std::[io]?fstream\b",
    "functional": r"std::(?:function|hash)<",
    "limits": r"std::numeric_limits<",
    "map": r"std::map<",
    "memory": r"std::(?:unique_ptr|shared_ptr|make_unique|make_shared)\b",
    "mutex": r"std::(?:mutex|lock_guard|unique_lock|once_flag)\b",
    "optional": r"std::(?:optional|nullopt)\b",
    "sstream": r"std::[io]?stringstream\b",
    "thread": r"std::thread\b",
    "tuple": r"std::(?:tie|tuple)\b",
    "utility": r"std::(?:exchange|pair<)",
    "vector": r"std::vector<",
}
ALSO = {"cstdint": {"cinttypes", "stdint.h"}, "utility": {"map", "unordered_map"}}
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
OURS = re.compile(r'^\s*#\s*include\s*[<"]((?:' + "|".join(MODULES) + r'|reenact)/[^">]+)[">]', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"')


def asked_for(root, path, seen):
    """The standard headers that a file includes, directly or through headers of ours."""
    if path in seen or not path.exists():
        return set()
    seen.add(path)
    text = path.read_text(errors="replace")
    headers = set(INCLUDE.findall(text))
    for name in OURS.findall(text):
        public = name.startswith("reenact/")
        headers |= asked_for(root, root / ("recorder/include" if public else "") / name, seen)
    return headers


def problems(root):
    for module in MODULES:
        for path in sorted((root / module).rglob("*")):
            if path.suffix not in {".h", ".hpp", ".cc"}:
                continue
            headers = asked_for(root, path, set())
            code = COMMENT_OR_TEXT.sub("", path.read_text(errors="replace"))
            for header, use in USES.items():
                hit = None if headers & ({header} | ALSO.get(header, set())) else re.search(use, code)
                if hit:
                    line = code.count("\n", 0, hit.start()) + 1
                    yield f"{path.relative_to(root)}: {hit[0].strip('(<')} (near line {line}) needs <{header}>"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "schema").mkdir()
        (root / "schema/a.h").write_text("enum class A : uint8_t { kB };\n")
        (root / "schema/b.cc").write_text('#include "schema/b.h"\nint x = std::max(1, 2);\n')
        (root / "schema/b.h").write_text("#include <cstdint>\n// std::vector<int>\nuint8_t y();\n")
        found = sorted(problem.split(":")[0] for problem in problems(root))
        return found == ["schema/a.h", "schema/b.cc"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: std_includes.py ROOT | --self-test")
    if sys.argv[1] == "--self-test":
        sys.exit(0 if self_test() else "std_includes: the planted faults were not found")
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "std_includes: ok")
    sys.exit(1 if found else 0)
