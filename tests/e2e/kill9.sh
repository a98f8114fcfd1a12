#!/usr/bin/env bash
# kill -9 at random moments, while training and while saving: every time a readable checkpoint is there, and the run that
# goes on with --resume=auto ends with the bits of an uninterrupted one.
#
#   DPTRAIN_KILLS   how often (6); the argument of the script does the same
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
kills=${1:-${DPTRAIN_KILLS:-6}}
RANDOM=$((${DPTRAIN_SEED:-$$}))
say "$kills kills"

small_data
small_config >small.yaml
cat >>small.yaml <<'YAML'
  - ModelCheckpoint: {filepath: 'step-{batch:03d}.h5', save_freq: 3}
  - ModelCheckpoint: {save_freq: 1 step}
YAML
epochs=$((2 + 2 * kills))

say "uninterrupted, $epochs epochs"
started=$(date +%s%N)
run 0 fit small.yaml --cpus 2x1 --run-dir whole --epochs $epochs
longest=$((($(date +%s%N) - started) / 1000000 / kills + 100))  # milliseconds from start to kill: all of them fit in
pause() { sleep "$(awk -v ms=$((RANDOM % longest)) 'BEGIN { printf "%.3f", ms / 1000 }')"; }

saving() { compgen -G 'killed/checkpoints/.*.tmp-*' >/dev/null; }
gone() { ! kill -0 "$1" 2>/dev/null; }
# checked: every file in the folder is whole.
checked() {
  local file
  for file in killed/checkpoints/*.h5; do
    [ -e "$file" ] || continue
    run 0 ckpt show "$file"
    says "checksum good"
  done
}

say "killed before its first checkpoint"
cp -r whole killed
rm killed/checkpoints/* killed/model.h5 killed/result.json
head -n 2 whole/steps.csv >killed/steps.csv
head -n 1 whole/train.csv >killed/train.csv
run 0 fit small.yaml --cpus 2x1 --run-dir killed --resume=auto --steps 1
[ "$(rows killed/steps.csv)" -eq 2 ] || fail "rows of the killed run are left in steps.csv"

done_kills=0 attempts=0
while [ $done_kills -lt "$kills" ] && [ $attempts -lt $((4 * kills)) ]; do
  attempts=$((attempts + 1))
  "$DPTRAIN" fit small.yaml --cpus 2x1 --run-dir killed --resume=auto --epochs $epochs >out 2>&1 &
  process=$!
  if [ $((attempts % 2)) -eq 0 ]; then  # as soon as a file is being written, after some of them
    moment="while saving"
    pause
    until saving || gone $process; do :; done
  else  # anywhere, the start included
    moment="at any moment"
    pause
  fi
  kill -9 $process 2>/dev/null || true
  code=0
  wait $process 2>/dev/null || code=$?
  [ $code -eq 137 ] || [ $code -eq 0 ] || fail "exit $code where a kill was to end the run"
  if [ $code -eq 137 ]; then done_kills=$((done_kills + 1)); fi
  say "$moment: exit $code, $(($(rows killed/steps.csv) - 1)) steps logged"
  had=${have:-no}
  have=no
  if [ -e killed/checkpoints/last.h5 ]; then have=yes; fi
  [ $had = no ] || [ $have = yes ] || fail "last.h5 is gone"
  checked
  if [ $code -eq 0 ]; then break; fi
done
[ $done_kills -ge $(((kills + 1) / 2)) ] || fail "only $done_kills of $kills kills met a running process"

say "to the end, after $done_kills kills"
run 0 fit small.yaml --cpus 2x1 --run-dir killed --resume=auto --epochs $epochs
same_run whole killed
run 0 ckpt diff whole/checkpoints/best.h5 killed/checkpoints/best.h5
[ "$(rows killed/steps.csv)" -eq $((20 * epochs + 1)) ] || fail "steps.csv has not one row per step"
python3 "$support" jsonl killed/events.jsonl 'all("ev" in line and "t" in line for line in j)' || fail "events.jsonl"
! compgen -G 'killed/checkpoints/.*.tmp-*' >/dev/null || fail "a temporary file is left"
