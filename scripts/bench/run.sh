#!/bin/sh
# Measures how fast a command's output is handed through, beside `tee` and `script`, in one run.
# usage: scripts/bench/run.sh PROGRAM [ARGUMENT…]    e.g. scripts/bench/run.sh target/release/fix run --
# SIZE_MIB (1024) and ROUNDS (5) may be set. Prints the best round of each.
set -eu
[ $# -gt 0 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
size=${SIZE_MIB:-1024}
# Lines such as a build prints: on a terminal, every end of line costs.
seq -f '[%g/99999999] Building CXX object lib/Target/CMakeFiles/Target.dir/Source.cpp.o' 1 200000 >"$folder/block"
: >"$folder/big"
bytes=$((size * 1024 * 1024))
while [ "$(stat -c %s "$folder/big")" -lt "$bytes" ]; do cat "$folder/block" >>"$folder/big"; done
truncate -s "$bytes" "$folder/big"
cat "$folder/big" >/dev/null

python3 - "$folder/big" "${ROUNDS:-5}" "$@" <<'PYTHON'
import os, pty, subprocess, sys, threading, time

big, rounds, wrapper = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
size = os.path.getsize(big)


def to_pipe(pipeline):
    """Runs a pipeline whose last end is read by `cat >/dev/null`, as every reader must read."""
    started = time.monotonic()
    processes, stdin = [], subprocess.DEVNULL
    for argv in [*pipeline, ["cat"]]:
        last = argv == ["cat"] and len(processes) == len(pipeline)
        process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.DEVNULL if last else subprocess.PIPE)
        if stdin is not subprocess.DEVNULL:
            stdin.close()
        stdin = process.stdout
        processes.append(process)
    for process in processes:
        if process.wait() != 0:
            sys.exit(f"{process.args} failed")
    return time.monotonic() - started


def to_terminal(argv):
    """Runs a command on a terminal of its own that is read as fast as it goes."""
    master, slave = pty.openpty()

    def drain():
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    started = time.monotonic()
    process = subprocess.Popen(["setsid", "--ctty", "--wait", *argv], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    if process.wait() != 0:
        sys.exit(f"{argv} failed")
    reader.join()
    return time.monotonic() - started


ways = {
    "pipe: cat big | tee /dev/null": lambda: to_pipe([["cat", big], ["tee", "/dev/null"]]),
    "pipe: this program": lambda: to_pipe([[*wrapper, "cat", big]]),
    "pipe: cat big alone": lambda: to_pipe([["cat", big]]),
    "terminal: script -qc": lambda: to_terminal(["script", "-qc", f"cat {big}", "/dev/null"]),
    "terminal: this program": lambda: to_terminal([*wrapper, "cat", big]),
    "terminal: cat big alone": lambda: to_terminal(["cat", big]),
}
# The ways take turns, so that a busy machine slows all of them alike.
times = {name: [] for name in ways}
for _ in range(rounds):
    for name, way in ways.items():
        times[name].append(way())
best = {name: size / min(seconds) / 1e6 for name, seconds in times.items()}
for name, rate in best.items():
    print(f"{name:32} {rate:8.0f} MB/s")
for kind, other in [("pipe", "cat big | tee /dev/null"), ("terminal", "script -qc")]:
    print(f"{kind}: this program / {other}: {best[f'{kind}: this program'] / best[f'{kind}: {other}']:.2f}")
PYTHON
