#!/usr/bin/env python3
"""Whether the check of the build without CUDA can fail: by what is planted in commands and sources, and in a project of
five files that has the shape of the engine's.

usage: without_cuda_test.py --source DIR --cmake FILE --ninja FILE --compiler FILE"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

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
# A library with a stand-in for the device, and a test that has a device of its own in the stand-in's place.
PROJECT = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
set(device device_absent.cc)
if(NOT REENACT_CUDA STREQUAL "OFF")
  set(device device.cc)
endif()
set_source_files_properties(device.cc device_absent.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_library(engine STATIC load.cc run.cc ${device})
add_executable(emulated_test test.cc emulated_device.cc)
target_link_libraries(emulated_test PRIVATE engine)
set_target_properties(emulated_test PROPERTIES UNITY_BUILD OFF)
add_executable(command test.cc)
target_link_libraries(command PRIVATE engine)
""",
    "load.cc": "int Memory();\nint Load() { return Memory(); }\n",
    "run.cc": "int Device();\nint Run() { return Device(); }\n",
    "device.cc": "int Device() { return 1; }\nint Memory() { return 2; }\n",
    "device_absent.cc": "int Device() { return 0; }\nint Memory() { return 0; }\n",
    "emulated_device.cc": "int Device() { return 3; }\nint Memory() { return 4; }\n",
    "test.cc": "int Load();\nint Run();\nint main() { return Load() + Run() == 0; }\n",
}


def unexpected_of_links(check, tools):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for file, text in PROJECT.items():
            (root / file).write_text(text)
        build = root / "build"
        configure = [tools.cmake, "-G", "Ninja", "-S", root, "-B", build, f"-DCMAKE_MAKE_PROGRAM={tools.ninja}",
                     f"-DCMAKE_CXX_COMPILER={tools.compiler}", "-DCMAKE_UNITY_BUILD=ON",
                     "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DREENACT_CUDA=ON", f"-DREENACT_CUDA_INCLUDE:PATH={root}",
                     "--no-warn-unused-cli"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tools.ninja, "-C", build], check=True, stdout=subprocess.DEVNULL)
        arguments = argparse.Namespace(source=root, scratch=root / "without", build=build, cmake=tools.cmake,
                                       ninja=tools.ninja, keep=["command"])
        found = list(check.problems(arguments))
        if found:
            yield f"an innocent project: {found}"
        if not (arguments.scratch / "command").exists() or (arguments.scratch / "emulated_test").exists():
            yield "other programs than those to be kept"
        # Compiled together with what the test needs, the stand-in comes along, and stands beside the test's own.
        lists = PROJECT["CMakeLists.txt"].replace("(device.cc device_absent.cc", "(device.cc")
        (root / "CMakeLists.txt").write_text(lists)
        (root / "device_absent.cc").write_text("int Device() { return 0; }\n")
        found = {problem.split(":")[0]: problem for problem in check.problems(arguments)}
        if set(found) != {"emulated_test", "command"}:
            yield f"programs that cannot be linked: {found}"
        if "Device()" not in found.get("emulated_test", ""):
            yield f"a stand-in that is compiled together with others: {found}"
        if "Memory()" not in found.get("command", ""):
            yield f"a stand-in that lacks a function: {found}"


def unexpected_of_texts(check):
    for command in PLANTED_COMMANDS:
        if not list(check.problems_of_commands([command])):
            yield f"not found: {command}"
    for problem in check.problems_of_commands(INNOCENT_COMMANDS):
        yield f"innocent: {problem}"
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "a.cc").write_text('#include "room/b.h"\n')
        (root / "c.cc").write_text('#include "room/cuda_needs.h"\n#include <vector>\n')
        (root / "room").mkdir()
        (root / "room/b.h").write_text("#include <cuda_runtime_api.h>\n")
        (root / "room/cuda_needs.h").write_text("#include <cstdint>\n")
        found = list(check.problems_of_sources(root, [root / "a.cc", root / "c.cc"]))
        if len(found) != 1 or "a.cc" not in found[0]:
            yield f"a header of CUDA's: {found}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "cmake", "ninja", "compiler"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    tools = parser.parse_args()
    sys.path.insert(0, str(tools.source / "tools/checks"))
    import without_cuda  # pylint: disable=import-outside-toplevel
    unexpected = [*unexpected_of_texts(without_cuda), *unexpected_of_links(without_cuda, tools)]
    print("\n".join(unexpected) or "without_cuda can fail: ok")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
