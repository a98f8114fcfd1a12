#!/usr/bin/env bash
# kill -9 at random moments while starting, training and saving: a readable checkpoint exists every time, and the run
# continued with --resume=auto ends with the bits of an uninterrupted one.
#
#   DPTRAIN_KILLS   number of kills (6); also the argument of the script
#   DPTRAIN_SEED    seed of the random moments
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
kills=${1:-${DPTRAIN_KILLS:-6}}
RANDOM=$((${DPTRAIN_SEED:-$$}))
say "$kills kills"

small_data
small_config >small.yaml
cat >>small.yaml <<'YAML'
  - ModelCheckpoint: {filepath: 'step-{batch:03d}.h5', save_freq: 5}
  - ModelCheckpoint: {save_freq: 1 step}
YAML
epochs=$((kills + 1))  # of 20 steps, the most that a run is meant to make before it is killed

say "uninterrupted, $epochs epochs"
run 0 fit small.yaml --cpus 2x1 --run-dir whole --epochs $epochs

saving() { compgen -G 'killed/checkpoints/.*.tmp-*' >/dev/null; }
has_rows_or_is_gone() { has_rows killed/steps.csv "$until_rows" || gone; }
# checked: every file written by the killed run is complete.
checked() {
  local files
  mapfile -t files < <(find killed -name '*.h5' -newer since)
  [ ${#files[@]} -gt 0 ] || return 0
  run 0 ckpt show "${files[@]}"
  [ "$(grep -c 'checksum good' out)" -eq ${#files[@]} ] || fail "not all of ${files[*]} are whole"
}

say "killed before its first checkpoint"
cp -r whole killed
rm killed/checkpoints/* killed/model.h5 killed/result.json
head -n 2 whole/steps.csv >killed/steps.csv
head -n 1 whole/train.csv >killed/train.csv
run 0 fit small.yaml --cpus 2x1 --run-dir killed --resume=auto --steps 1
[ "$(rows killed/steps.csv)" -eq 2 ] || fail "rows of the killed run are left in steps.csv"

# Each run is killed at a moment independent of its speed: while starting, after a number of steps, or at the first
# write after a number of steps. A run that completes does not count, and the next one starts from scratch.
done_kills=0 attempts=0
while [ $done_kills -lt "$kills" ] && [ $attempts -lt $((4 * kills)) ]; do
  attempts=$((attempts + 1)) steps=$((RANDOM % 20)) had=no
  if [ -e killed/checkpoints/last.h5 ]; then had=yes; fi
  until_rows=$(($(rows killed/steps.csv) + 1 + steps))
  touch since
  start fit small.yaml --cpus 2x1 --run-dir killed --resume=auto --epochs $epochs
  case $((attempts % 3)) in
    0) moment="while starting, after $((5 * steps)) ms" && sleep "$(printf '0.%03d' $((5 * steps)))" ;;
    1) moment="after $steps steps" && until_true has_rows_or_is_gone ;;
    2) moment="while saving, after $steps steps" && until_true has_rows_or_is_gone && until saving || gone; do :; done ;;
  esac
  kill -9 "$process" 2>/dev/null || true
  code=0
  wait "$process" 2>/dev/null || code=$?
  [ $code -eq 137 ] || [ $code -eq 0 ] || fail "exit $code where a kill was to end the run"
  say "$moment: exit $code, $(($(rows killed/steps.csv) - 1)) steps logged"
  [ $had = no ] || [ -e killed/checkpoints/last.h5 ] || fail "last.h5 is gone"
  checked
  if [ $code -eq 137 ]; then done_kills=$((done_kills + 1)); else rm -r killed; fi
done
[ $done_kills -eq "$kills" ] || fail "only $done_kills of $kills kills met a running process"

say "to the end, after $done_kills kills"
run 0 fit small.yaml --cpus 2x1 --run-dir killed --resume=auto --epochs $epochs
same_run whole killed
run 0 ckpt diff whole/checkpoints/best.h5 killed/checkpoints/best.h5
[ "$(rows killed/steps.csv)" -eq $((20 * epochs + 1)) ] || fail "steps.csv has not one row per step"
python3 "$support" jsonl killed/events.jsonl 'all("ev" in line and "t" in line for line in j)' || fail "events.jsonl"
! compgen -G 'killed/checkpoints/.*.tmp-*' >/dev/null || fail "a temporary file is left"
