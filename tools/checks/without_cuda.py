#!/usr/bin/env python3
"""Fails when the build without CUDA would: configures one, and looks at what it would compile. Where this build has
CUDA, whatever differs is compiled and linked, in a scratch folder and with what is the same from here."""
import argparse
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

from build_commands import Build, BuildBeside, MissingHere

# In a command whose paths are relative. The tests run the kernels' text on the processor.
NEEDS_CUDA = re.compile(r"\bnvcc\b|cudart")
IS_OF_CUDA = re.compile(r"(?<!tests/)local_engine/cuda/|local_engine/engine/cuda_(?!backend_absent)")
OF_TESTS = re.compile(r" -o tests/|\bar qc tests/")
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


def cache_of(folder):
    """What a build was told and has found: NAME:TYPE and the value."""
    lines = (folder / "CMakeCache.txt").read_text().splitlines()
    found = [line for line in lines if re.match(r"(CMAKE|REENACT)_\w+:(?!INTERNAL|STATIC)", line)]
    return dict(line.split("=", 1) for line in found if not line.endswith("-NOTFOUND"))


def problems_of_links(build, here, cuda_headers, kept):
    """Every program that is not made of the same as here has to link, with what is the same taken from here. That a
    header of CUDA's could be found makes no difference: whether one is included is looked at above. What is not `kept`
    is gone afterwards."""
    beside = BuildBeside(build, here, [f"-isystem {cuda_headers}"] if cuda_headers else [])
    for program in build.linked():
        if beside.is_same(program):
            continue
        try:
            beside.make(program)
            if program not in kept:
                (build.folder / program).unlink()
        except MissingHere as missing:
            print(f"{program} is not linked: {missing} has not been built here")
        except subprocess.CalledProcessError as error:
            yield f"{program}: {error.stdout}{error.stderr}"
    linked = set(build.linked()) & set(beside.ran)
    print(f"linked: {len(linked)} programs; compiled: {[name for name in beside.ran if name.endswith('.o')]}")
    if cuda_headers and not linked:
        yield "no program was linked"


def problems(arguments):
    scratch, cache = arguments.scratch, cache_of(arguments.build)
    shutil.rmtree(scratch, ignore_errors=True)
    settings = [f"-D{name}={value}" for name, value in cache.items() if not re.match("REENACT_(CUDA|NVCC)", name)]
    configure = [arguments.cmake, "-G", "Ninja", "-S", arguments.source, "-B", scratch, *settings, "-DREENACT_CUDA=OFF"]
    done = subprocess.run(configure, capture_output=True, text=True, check=False)
    if done.returncode:
        yield done.stderr
        return
    build, here = (Build(arguments.ninja, folder) for folder in (scratch, arguments.build))
    relative = [build.relative(command).replace(f"{arguments.source}/", "") for command in build.commands.values()]
    yield from problems_of_commands(relative)
    compiled = json.loads((scratch / "compile_commands.json").read_text())
    yield from problems_of_sources(arguments.source, [pathlib.Path(entry["file"]) for entry in compiled
                                                      if EMULATION not in entry["command"]])
    yield from problems_of_links(build, here, cache.get("REENACT_CUDA_INCLUDE:PATH"), arguments.keep)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of this build")
    for name in ("source", "scratch", "cmake", "ninja"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--keep", action="append", default=[], help="a program that a test runs: its place in a build")
    found = list(problems(parser.parse_args()))
    print("\n".join(found) or "without_cuda: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
