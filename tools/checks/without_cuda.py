#!/usr/bin/env python3
"""Fails when the build without CUDA would: configures one, and looks at what it would compile and link, without doing
so. Where this build has CUDA, what stands in for the device's sources is compiled, and has to define whatever the
engine calls in them. With --self-test it proves that it can fail."""
import argparse
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# In a command whose paths are relative. The tests run the kernels' text on the processor.
NEEDS_CUDA = re.compile(r"\bnvcc\b|cudart")
IS_OF_CUDA = re.compile(r"(?<!tests/)local_engine/cuda/|local_engine/engine/cuda_(?!backend_absent)")
OF_TESTS = re.compile(r" -o tests/|\bar qc tests/")
STANDS_IN = "_absent.cc"
EMULATION = "tests/local_engine/cuda/emulation/include"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
HEADER_OF_CUDA = re.compile(r"(?:cuda|cublas|nvml|nvtx)\w*\.h")


def problems_of_commands(commands):
    for command in commands:
        hit = NEEDS_CUDA.search(command) or (not OF_TESTS.search(command) and IS_OF_CUDA.search(command))
        if hit:
            output = re.search(r" -o (\S+)|\bar qc (\S+)", command)
            yield f"{output[1] or output[2] if output else command} needs {hit[0]}"


@functools.lru_cache(maxsize=None)
def includes(root, path):
    """The headers of CUDA's that a file includes, and the files of ours."""
    names = INCLUDE.findall(path.read_text(errors="replace"))
    ours = [place for name in names if "/" in name for place in (root / name, path.parent / name) if place.exists()]
    return [name for name in names if HEADER_OF_CUDA.fullmatch(name)], ours


def headers_of_cuda(root, path, seen):
    """Those that a source includes, directly or through ours."""
    if path in seen:
        return set()
    seen.add(path)
    names, ours = includes(root, path)
    return set(names).union(*(headers_of_cuda(root, header, seen) for header in ours))


def problems_of_sources(root, sources):
    for source in sources:
        for header in sorted(headers_of_cuda(root, source, set())):
            yield f"{source} includes <{header}>"


def symbols(nm, path, which):
    """By the object they are in."""
    lines = subprocess.run([nm, "-A", "-P", which, path], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in lines.splitlines():
        place, name = line.split()[:2]
        found.setdefault(re.sub(r".*\[(.*)\]:$", r"\1", place), set()).add(name)
    return found


def problems_of_symbols(used, defined, stand_in):
    """What the other objects of the engine use of those for the device, and nobody defines in their place."""
    of_device = set().union(*(names for place, names in defined.items() if place.startswith("cuda_")))
    elsewhere = set().union(stand_in, *(names for place, names in defined.items() if not place.startswith("cuda_")))
    for place, names in used.items():
        if not place.startswith("cuda_"):
            for name in sorted(names & of_device - elsewhere):
                yield f"{place} uses {name}, which no {STANDS_IN} defines"


def problems(arguments):
    build, ninja = arguments.scratch, [arguments.ninja, "-C", arguments.scratch]
    shutil.rmtree(build, ignore_errors=True)
    configure = [arguments.cmake, "-G", "Ninja", "-S", arguments.source, "-B", build, "-DREENACT_CUDA=OFF",
                 "-DREENACT_DEVELOPER_MODE=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                 f"-DCMAKE_MAKE_PROGRAM={arguments.ninja}", f"-DCMAKE_CXX_COMPILER={arguments.compiler}"]
    done = subprocess.run(configure, capture_output=True, text=True, check=False)
    if done.returncode:
        yield done.stderr
        return
    commands = subprocess.run([*ninja, "-t", "commands"], check=True, capture_output=True, text=True).stdout
    prefixes = re.compile(rf"{re.escape(str(build))}/|{re.escape(str(arguments.source))}/")
    yield from problems_of_commands(prefixes.sub("", commands).splitlines())
    compiled = json.loads((build / "compile_commands.json").read_text())
    yield from problems_of_sources(arguments.source, [pathlib.Path(entry["file"]) for entry in compiled
                                                      if EMULATION not in entry["command"]])
    stand_ins = [build / re.search(r" -o (\S+)", entry["command"])[1] for entry in compiled
                 if entry["file"].endswith(STANDS_IN)]
    if not stand_ins:
        yield f"no source ends with {STANDS_IN}"
        return
    done = subprocess.run([*ninja, *(place.relative_to(build) for place in stand_ins)], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        yield done.stdout
        return
    defined = symbols(arguments.nm, arguments.engine, "--defined-only")
    used = symbols(arguments.nm, arguments.engine, "--undefined-only")
    for name, names in symbols(arguments.nm, arguments.kernels, "--defined-only").items() if arguments.kernels else ():
        defined.setdefault(f"cuda_{name}", set()).update(names)
    stand_in = set().union(*(names for place in stand_ins
                             for names in symbols(arguments.nm, place, "--defined-only").values()))
    yield from problems_of_symbols(used, defined, stand_in)


PLANTED_COMMANDS = (
    "c++ -I. -o local_engine/engine/a.o -c local_engine/engine/cuda_step.cc",
    "c++ -I. -o local_engine/cuda/b.o -c local_engine/cuda/find_device.cc",
    "cd tools && /opt/cuda/bin/nvcc -c a.cu -o a.cu.o",
    "c++ x.o -o tests/x_test -l/opt/libcudart_static.a",
)
INNOCENT_COMMANDS = (
    "c++ -I. -o local_engine/engine/c.o -c local_engine/engine/cuda_backend_absent.cc",
    "c++ -Itests/local_engine/cuda/emulation/include -o tests/local_engine/cuda/d.o -c local_engine/cuda/pick.cu",
    "cc -Itests/local_engine/cuda/emulation/include -o tests/local_engine/cuda/e.o -c local_engine/engine/cuda_step.cc",
)


def self_test():
    missed = [command for command in PLANTED_COMMANDS if not list(problems_of_commands([command]))]
    missed += [f"innocent: {problem}" for problem in problems_of_commands(INNOCENT_COMMANDS)]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.cc").write_text('#include "room/b.h"\n')
        (root / "c.cc").write_text('#include "room/cuda_needs.h"\n#include <vector>\n')
        (root / "room").mkdir()
        (root / "room/b.h").write_text("#include <cuda_runtime_api.h>\n")
        (root / "room/cuda_needs.h").write_text("#include <cstdint>\n")
        found = list(problems_of_sources(root, [root / "a.cc", root / "c.cc"]))
        missed += [] if len(found) == 1 and "a.cc" in found[0] else [f"a header of CUDA's: {found}"]
    used = {"engine.cc.o": {"Make", "Count"}, "cuda_step.cc.o": {"Launch"}}
    defined = {"cuda_backend.cc.o": {"Make", "Step"}, "cuda_pick.cu.o": {"Launch"}, "kv_pages.cc.o": {"Count"}}
    missed += [] if len(list(problems_of_symbols(used, defined, {"Other"}))) == 1 else ["a symbol that nobody defines"]
    missed += list(problems_of_symbols(used, defined, {"Make"}))
    for problem in missed:
        print(f"not as planted: {problem}")
    return not missed


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test() else 1
    parser = argparse.ArgumentParser()
    for name in ("source", "scratch", "cmake", "ninja", "compiler", "nm", "engine"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--kernels", type=pathlib.Path, help="the library of the kernels, where there is one")
    found = list(problems(parser.parse_args()))
    print("\n".join(found) or "without_cuda: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
