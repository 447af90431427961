#!/usr/bin/env python3
"""Writes a synthetic build log.   usage: log.py FILE MIB [SEED]

Lines of cmake, ninja, gcc, pip and torchrun in their real shapes, with colours and near misses on purpose, and a few
real failures spread over the file. Deterministic. A pool of 8 MiB of distinct lines is rotated, so that no two
stretches are alike to a cache.
"""
import random
import sys

FOLDERS = ["lib/Dialect/Triton/IR", "lib/Conversion/TritonToLinalg", "third_party/ascend/lib", "lib/Analysis", "python/src", "bin"]
NAMES = ["Ops", "Dialect", "Passes", "Alias", "ErrorHandling", "FailedLowering", "UndefinedBehavior", "error_code", "missing_case"]
PACKAGES = ["torch", "numpy", "pybind11", "cmake", "ninja", "scipy", "sympy", "setuptools", "wheel", "protobuf"]
FAILURES = [
    "CMake Error at CMakeLists.txt:45 (project):\n  The CMAKE_C_COMPILER:\n\n    clang\n\n  is not a full path and was not found in the PATH.\n",
    "CMake Error at third_party/amd/CMakeLists.txt:6 (find_package):\n  Found package configuration file:\n\n    /opt/llvm/lib/cmake/lld/LLDConfig.cmake\n\n"
    "  but it set LLD_FOUND to FALSE so package \"LLD\" is considered to be NOT\n  FOUND.  Reason given by package:\n\n"
    "  The following imported targets are referenced, but are missing: LLVMCGData\n",
    "FAILED: test/lib/Proton/libTritonTestProton.a\n/bin/sh: 1: /opt/llvm/bin/llvm-ar: not found\nninja: build stopped: subcommand failed.\n",
    "ld.lld: error: unable to find library -lz\nclang: error: linker command failed with exit code 1 (use -v to see invocation)\n",
]


def line(pick, number):
    folder, name, kind = pick.choice(FOLDERS), pick.choice(NAMES), pick.random()
    if kind < 0.5:
        return f"[{number}/9999] Building CXX object {folder}/CMakeFiles/{name}.dir/{name}{pick.randint(0, 99)}.cpp.o"
    if kind < 0.62:
        flags = " ".join(f"-I/home/user/project/{f}" for f in FOLDERS)
        return f"[{number}/9999] /usr/bin/c++ -D_GNU_SOURCE {flags} -fPIC -Werror=date-time -o {name}.o -c {folder}/{name}.cpp"
    if kind < 0.70:
        package = pick.choice(PACKAGES)
        return f"Requirement already satisfied: {package} in /usr/lib/python3/dist-packages ({pick.randint(0, 9)}.{pick.randint(0, 30)})"
    if kind < 0.78:
        return pick.choice(["-- Performing Test HAVE_STD_REGEX -- success", "-- Looking for dlopen - found", "-- Could NOT find ZLIB (missing: ZLIB_LIBRARY)"])
    if kind < 0.90:
        return (f"\x1b[1m/home/user/project/{folder}/{name}.cpp:{pick.randint(1, 2000)}:{pick.randint(1, 90)}:\x1b[0m "
                "\x1b[01;35mwarning: \x1b[0munused variable 'op' [-Wunused-variable]")
    if kind < 0.96:
        return f"copying python/{name.lower()}.py -> build/lib.linux-x86_64-cpython-311/{name.lower()}"
    return f"[rank{pick.randint(0, 7)}]: step {number} loss {pick.random():.6f}"


def main():
    path, size = sys.argv[1], int(float(sys.argv[2]) * 2**20)
    pick = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 7)
    pool, held = [], 0
    while held < min(size, 8 * 2**20):
        text = (line(pick, len(pool) + 1) + "\n").encode()
        pool.append(text)
        held += len(text)
    written, failures = 0, 0
    with open(path, "wb", buffering=1 << 22) as file:
        while written < size:
            start = pick.randrange(len(pool))
            written += file.write(b"".join(pool[start:] + pool[:start]))
            while failures < len(FAILURES) and written >= size * (failures + 1) / (len(FAILURES) + 1):
                written += file.write(FAILURES[failures].encode())
                failures += 1


main()
