#!/bin/sh
# What it costs to be able to take a pip command back: the snapshot of an environment and the restore, against
# `cp -al` of the same tree in one run. The targets are 1.5 times `cp -al`, and 1.5 times the snapshot.
# usage: scripts/bench/snapshot.sh [FOLDER] [FILES] [ROUNDS]      e.g. scripts/bench/snapshot.sh /tmp 60000
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-${TMPDIR:-/tmp}}
exec cargo run --quiet --release --example snapshot -- "$folder" "${2:-20000}" "${3:-5}"
