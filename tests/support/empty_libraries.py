#!/usr/bin/env python3
"""Builds empty stand-ins for the shared libraries that a folder's own ones are linked to and that are not here.

PyTorch's wheel for Linux is linked to gigabytes of CUDA, none of which is called on a machine without a GPU; the loader
only wants to see the names. Each function of a stand-in returns an error. Nothing that is here is touched.

usage: empty_libraries.py LIBDIR
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# What a call answers: of registration at load time all is well, of anything else it is an error.
OK, ERROR = 0, 100


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def needed(libraries):
    """The names that the loader does not find, and the files that it does."""
    missing, found = set(), {str(library) for library in libraries}
    for library in libraries:
        for line in said_by("ldd", library):
            match = re.match(r"\s*(\S+) => (not found|\S+)", line)
            if match and match[2].startswith("not"):
                missing.add(match[1])
            elif match:
                found.add(match[2])
    return missing, found


def versions(libraries, missing):
    """Which missing library has to define a version of symbols."""
    owner = {}
    for library in libraries:
        current = None
        for line in said_by("readelf", "-W", "-V", library):
            if match := re.search(r"Version: 1\s+File: (\S+)", line):
                current = match[1]
            if (match := re.search(r"Name: (\S+)\s+Flags:", line)) and current in missing:
                owner[match[1]] = current
    return owner


def symbols(libraries, missing, found):
    """What each missing library has to define: library -> version -> names."""
    owner = versions(libraries, missing)
    defined = set()
    for library in found:
        for line in said_by("nm", "-D", "--defined-only", library):
            defined.add(line.split()[-1].split("@")[0])
    wanted = collections.defaultdict(lambda: collections.defaultdict(set))
    # Symbols without a version may stand in any of them.
    any_of_them = min(missing)
    for library in libraries:
        for line in said_by("nm", "-D", "--undefined-only", library):
            kind, symbol = line.split()[-2:]
            name, _, version = symbol.partition("@")
            version = version.lstrip("@")
            if version in owner:
                wanted[owner[version]][version].add(name)
            elif not version and kind == "U" and name not in defined:
                wanted[any_of_them][""].add(name)
    return wanted


def build(library, by_version):
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "empty.c"), pathlib.Path(folder, "versions.map")
        names = sorted(name for names in by_version.values() for name in names)
        answer = {name: OK if name.startswith("__cuda") else ERROR for name in names}
        source.write_text("".join(f"long {name}(void) {{ return {answer[name]}; }}\n" for name in names))
        nodes = [
            f"{version} {{ global: {' '.join(name + ';' for name in sorted(names))} }};\n"
            for version, names in by_version.items()
            if version
        ]
        script.write_text("".join(nodes))
        command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", "-o", library, source, f"-Wl,-soname,{library.name}"]
        subprocess.run(command + ([f"-Wl,--version-script,{script}"] if nodes else []), check=True)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    libraries = sorted(path for path in folder.iterdir() if ".so" in path.name and path.is_file())
    missing, found = needed(libraries)
    if not missing:
        return
    wanted = symbols(libraries, missing, found)
    for name in sorted(missing):
        build(folder / name, wanted[name])


main()
