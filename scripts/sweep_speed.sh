#!/usr/bin/env bash
# How much faster trials side by side are than one after the other, each with one thread.
#
#   scripts/sweep_speed.sh CONFIG [SLOTS] [TRIALS] [FLAG...]     2 slots, 20 trials; flags of dptrain sweep
#
#   DPTRAIN   the executable (build/release/dptrain)
#
# Prints the load before, both times and their ratio; and whether the values are the same, which they must be. Meaningful on a
# quiet machine alone, and where a trial takes some seconds.
set -euo pipefail
dptrain=${DPTRAIN:-$(dirname "$0")/../build/release/dptrain}
config=${1:?the config} slots=${2:-2} trials=${3:-20}
shift $(($# < 3 ? $# : 3))
work=$(mktemp -d "${TMPDIR:-/tmp}/dptrain-sweep.XXXXXX")
trap 'rm -rf "$work"' EXIT

seconds() {  # SLOTS: of a sweep with so many trials side by side
  local begin=$EPOCHREALTIME
  "$dptrain" sweep "$config" --vary train.optimizer.learning_rate=3e-4..3e-3:log --trials "$trials" --cpus "$1x1" \
    --run-dir "$work/$1" --quiet "${flags[@]}" >"$work/$1.table"
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
}
flags=("$@")
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
one=$(seconds 1)
many=$(seconds "$slots")
echo "$trials trials: one after the other $one s, $slots side by side $many s: $(awk -v a="$one" -v b="$many" 'BEGIN { printf "%.2f", a / b }') times as fast"
cut -d, -f1-6 "$work/1/sweep.csv" >"$work/1.values"
cut -d, -f1-6 "$work/$slots/sweep.csv" | cmp -s - "$work/1.values" && echo "the same values" || { echo "other values"; exit 1; }
