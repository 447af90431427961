#!/bin/sh
# Measures `fix audit` against `git status`, warm, on a checkout: one that is given, or one of about the size of
# Triton-distributed with its submodules that is made here.
# usage: scripts/bench/audit.sh FIX [CHECKOUT]      e.g. scripts/bench/audit.sh target/release/fix
# FILES (6000) and ROUNDS (20) may be set. Prints the best round of each, and the ratio; the target is at most 2.
set -eu
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
fix=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ $# -ge 2 ]; then checkout=$(realpath "$2"); else
    checkout=$folder/checkout
    python3 - "$checkout" "${FILES:-6000}" <<'PYTHON'
import pathlib, sys

root, files = pathlib.Path(sys.argv[1]), int(sys.argv[2])
# A build project: Python packages, C++ sources, CMake lists, a setup.py that hands arguments to CMake.
python = "import os\nimport torch\n\n\ndef kernel_{0}(x, y):\n    return torch.matmul(x, y) + os.getpid() * {0}\n" + "\n# text\n" * 40
source = "#include <vector>\nint function_{0}() {{ return {0}; }}\n" + "// text\n" * 60
for number in range(files):
    folder = root / f"part{number % 12}" / f"package{number % 97}"
    folder.mkdir(parents=True, exist_ok=True)
    kind, text = [("py", python), ("cpp", source), ("mlir", "// text\n" * 50)][number % 3]
    (folder / f"file{number}.{kind}").write_text(text.format(number) if kind != "mlir" else text)
(root / "python").mkdir()
(root / "python" / "setup.py").write_text('import os\ncmake_args = [\n    "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld",\n]\n' + "# text\n" * 700)
(root / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(bench CXX)\n")
(root / ".gitignore").write_text("build/\n")
tree = root / "python" / "build" / "cmake.linux-x86_64-cpython-3.11"
tree.mkdir(parents=True)
entries = "".join(f"ENTRY_{n}:STRING=value {n}\n" for n in range(2000))
(tree / "CMakeCache.txt").write_text(
    f"CMAKE_CACHEFILE_DIR:INTERNAL={tree}\nCMAKE_HOME_DIRECTORY:INTERNAL={root}\nCMAKE_GENERATOR:INTERNAL=Ninja\n" + entries)
for number in range(2000):
    objects = tree / f"lib{number % 40}"
    objects.mkdir(exist_ok=True)
    (objects / f"{number}.o").write_bytes(b"\x7fELF" + bytes(100))
PYTHON
    git -C "$checkout" init -q
    git -C "$checkout" add .
    git -C "$checkout" -c user.name=bench -c user.email=bench@example.org commit -qm bench
fi
python3 - "$fix" "$checkout" "${ROUNDS:-20}" "$folder" <<'PYTHON'
import os, subprocess, sys, time

fix, checkout, rounds, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
rows = {
    "git status": ["git", "-C", checkout, "status", "--porcelain"],
    "fix audit": [fix, "audit", checkout, "--format", "json", "--fail-on", "never"],
}
env = dict(os.environ, XDG_STATE_HOME=folder)
best = dict.fromkeys(rows, float("inf"))
for _ in range(rounds):
    for name, command in rows.items():
        start = time.perf_counter()
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, env=env)
        best[name] = min(best[name], time.perf_counter() - start)
for name, seconds in best.items():
    print(f"{name:12} {seconds * 1000:8.1f} ms")
print(f"{'ratio':12} {best['fix audit'] / best['git status']:8.2f}")
PYTHON
