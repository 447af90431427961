#!/bin/sh
# Setting a build tree of 200,000 files aside and putting it back, against `rm -rf` of a copy of it.
# usage: scripts/bench/set-aside.sh [FOLDER] [FILES] [BYTES]
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-${TMPDIR:-/tmp}}
exec cargo run --quiet --release --example set_aside -- "$folder" "${2:-200000}" "${3:-4096}"
