#!/usr/bin/env bash
# kill -9 between two calls that change the run's folder, from its creation to the last row of a table, in a new run and
# in one that was killed before. Every file with a checkpoint's name is complete, the run continues with --resume=auto
# to the bits of an uninterrupted one, and no checkpoint that the uninterrupted run keeps is removed.
#
#   DPTRAIN_KILL_POINTS   number of calls, evenly spread (12), or "all"
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
points=${1:-${DPTRAIN_KILL_POINTS:-12}}
shopt -s nullglob
library=${DPTRAIN_KILL_AT:?the library that kills, tests/kill_at}

small_data
small_config | sed 's/batch_size: 30/batch_size: 200/' >small.yaml
cat >>small.yaml <<'YAML'
  - ModelCheckpoint: {filepath: 'steps/{batch:03d}.h5', save_freq: 2, max_to_keep: 2}
YAML

# watched CODE CALLS KILLED-BEFORE FOLDER: trains in the folder, expects this exit code, lists the calls in a file.
watched() {
  local code=0
  rm -f "$2"
  LD_PRELOAD=$library DPTRAIN_WATCH=$work/$4 DPTRAIN_CALLS=$work/$2 DPTRAIN_KILL_BEFORE=$3 \
    "$DPTRAIN" fit small.yaml --cpus 1 --run-dir "$4" --resume=auto >out 2>&1 &
  wait $! 2>/dev/null || code=$?
  [ $code -eq "$1" ] || fail "${3:+killed before '$3': }exit $code, expected $1"
}
# chosen CALLS: the calls before which runs are killed, one per line.
chosen() {
  if [ "$points" = all ]; then cat "$1"; else awk -v n="$(wc -l <"$1")" -v k="$points" '(NR * k) % n < k' "$1"; fi
}

# killed_before CALLS START: kills a run that starts from a copy of the folder START (or none) before each of the calls.
killed_before() {
  local call files file
  chosen "$1" >points
  while read -r call <&3; do
    rm -rf killed
    if [ -n "$2" ]; then cp -r "$2" killed; fi
    watched 137 calls "$call" killed
    files=(killed/*.h5 killed/checkpoints/{,*/}*.h5)
    if [ ${#files[@]} -gt 0 ]; then
      run 0 ckpt show "${files[@]}"
      [ "$(grep -c 'checksum good' out)" -eq ${#files[@]} ] || fail "killed before '$call': not all of ${files[*]} are whole"
    fi
    watched 0 calls "" killed
    for file in "${files[@]}"; do
      [ -e "$file" ] || grep -qF "unlink ${file/killed/.} " whole.calls || fail "killed before '$call': $file is removed"
    done
    same_run whole killed
    [ "$(rows killed/steps.csv)" -eq 7 ] || fail "killed before '$call': steps.csv has not one row per step"
    diff <(cd whole && find . | sort) <(cd killed && find . | sort) >out || fail "killed before '$call': other files are there"
  done 3<points
  say "$(wc -l <points) kills, $(wc -l <"$1") calls"
}

say "uninterrupted"
watched 0 whole.calls "" whole
say "a fresh run"
killed_before whole.calls ""

say "a run that was killed in its third save"
watched 137 calls "rename ./checkpoints/last.h5 3" begun
cp -r begun third-save
watched 0 resumed.calls "" begun
killed_before resumed.calls third-save
