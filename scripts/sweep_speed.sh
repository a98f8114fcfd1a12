#!/usr/bin/env bash
# How much faster trials side by side are than one after the other, each with one thread.
#
#   scripts/sweep_speed.sh CONFIG [SLOTS] [TRIALS] [ROUNDS] [FLAG...]     2 slots, 20 trials in 5 rounds; flags of dptrain sweep
#
#   DPTRAIN   the executable (build/release/dptrain)
#
# Each round trains its part of the trials one after the other on one core, where the loader's threads are, too, and then the same
# ones side by side on all: in rounds, because the speed of a machine drifts. Prints the load before, the times and ratio of each round and of all; and whether the values are the same, which they must
# be. Meaningful on a quiet machine alone, and where a trial takes some seconds.
set -euo pipefail
shopt -s inherit_errexit
dptrain=${DPTRAIN:-$(dirname "$0")/../build/release/dptrain}
config=${1:?the config} slots=${2:-2} trials=${3:-20} rounds=${4:-5}
shift $(($# < 4 ? $# : 4))
flags=("$@")
work=$(mktemp -d "${TMPDIR:-/tmp}/dptrain-sweep.XXXXXX")
trap 'rm -rf "$work"' EXIT

cores=$(taskset -pc $$ | sed 's/.*: //')
seconds() {  # SLOTS ROUND: of a round's sweep with so many trials side by side
  local begin=$EPOCHREALTIME on=$cores
  (($1 > 1)) || on=${cores%%[-,]*}
  taskset -c "$on" "$dptrain" sweep "$config" --vary train.optimizer.learning_rate=3e-4..3e-3:log \
    --trials $((trials / rounds)) --seed "$2" --cpus "$1x1" --run-dir "$work/$1-$2" --quiet "${flags[@]}" >"$work/table"
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
}
values() { cut -d, -f1-6 "$work/$1-$2/sweep.csv"; }  # SLOTS ROUND
report() {  # WHAT SECONDS SECONDS
  awk -v what="$1" -v a="$2" -v b="$3" -v n="$slots" \
    'BEGIN { printf "%s: one after the other %.2f s, %d side by side %.2f s: %.2f times as fast\n", what, a, n, b, a / b }'
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
all_one=0 all_many=0
for round in $(seq 1 "$rounds"); do
  one=$(seconds 1 "$round")
  many=$(seconds "$slots" "$round")
  report "round $round" "$one" "$many"
  cmp -s <(values 1 "$round") <(values "$slots" "$round") || { echo "other values"; exit 1; }
  all_one=$(awk "BEGIN { print $all_one + $one }") all_many=$(awk "BEGIN { print $all_many + $many }")
done
report "$((trials / rounds * rounds)) trials" "$all_one" "$all_many"
echo "the same values"
