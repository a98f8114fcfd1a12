#!/usr/bin/env bash
# A disk fills up while training saves: a warning, training continues, the old checkpoint is kept. Exit 10 if the last
# save failed as well, 0 if space became free in time. The disk is a small tmpfs in a separate mount namespace, which
# requires root or user namespaces.
# Sanitized: the error paths of the writers, while threads run.
if [ -z "${DPTRAIN_IN_NAMESPACE:-}" ]; then
  export DPTRAIN_IN_NAMESPACE=yes
  for flags in --mount "--mount --map-root-user"; do
    # shellcheck disable=SC2086  # words
    if unshare $flags mount -t tmpfs none /mnt 2>/dev/null; then exec unshare $flags bash "$0" "$@"; fi
  done
  echo "SKIPPED: needs root, or user namespaces, to mount a small tmpfs"
  exit 77
fi
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

leave() {
  cd /
  umount --lazy "$work"/disk/sealed "$work"/disk 2>/dev/null || true
  cleanup
}
trap leave EXIT

small_data
small_config >small.yaml
mkdir disk
# A checkpoint of this model has 100 KB; the disk contains last.h5, best.h5, a temporary file at times, and the logs.
new_disk() {
  if mountpoint -q disk; then umount disk; fi
  mount -t tmpfs -o size=2m none disk
}
fill() { dd if=/dev/zero of=disk/filler bs=4096 status=none 2>/dev/null || true; }
warned() { grep -q "training continues, the next save tries again" out; }
saving() { compgen -G 'disk/run/checkpoints/.*.tmp-*' >/dev/null; }
halted() { # every thread of the process
  local states
  states=$(awk '/^State:/ { print $2 }' /proc/$process/task/*/status 2>/dev/null) || true
  [[ $states != *[!TZ[:space:]]* ]]
}
# twice_the_epochs: for machines that train faster than the script polls.
twice_the_epochs() {
  epochs=$((2 * epochs))
  say "too late; once more with $epochs epochs"
  [ $epochs -lt 5000 ] || fail "the run always ends before its disk is full, or has room again"
}
# fill_while_training: fills the disk of a run in the first half of its epochs. The run is paused meanwhile, outside a
# save: an unfinished file would free its space for the next save.
fill_while_training() {
  while true; do
    new_disk
    start fit small.yaml --cpus 1x1 --run-dir disk/run --log-every '100 steps' --epochs $epochs
    until gone || has_rows disk/run/train.csv 3; do sleep 0.01; done
    while kill -STOP "$process" 2>/dev/null; do
      until halted; do :; done
      if has_rows disk/run/train.csv $((epochs / 2)); then break; fi
      if ! saving; then break 2; fi
      kill -CONT "$process" 2>/dev/null || true
    done
    kill -KILL "$process" 2>/dev/null || true
    wait "$process" || true
    twice_the_epochs
  done
  cp disk/run/checkpoints/last.h5 kept.h5
  fill
  kill -CONT "$process"
}

say "full to the end"
epochs=20
fill_while_training
until_true warned
ended_with 10
says "not enough space"
says "Epoch $epochs/$epochs"
for name in last best; do
  run 0 ckpt show disk/run/checkpoints/$name.h5
  says "checksum good"
done
cmp disk/run/checkpoints/last.h5 kept.h5 || fail "the old checkpoint was touched"

say "and resumed when there is room"
rm disk/filler
epoch=$("$DPTRAIN" ckpt show disk/run/checkpoints/last.h5 | awk '$1 == "epoch:" { print $2 }')
run 0 fit small.yaml --cpus 1x1 --run-dir disk/run --resume --epochs $((epoch + 2)) --log-every '100 steps'
says "resumed at epoch $((epoch + 1))"
[ "$(column disk/run/train.csv epoch | tail -n 1)" -eq $((epoch + 2)) ] || fail "train.csv ends at another epoch"
[ "$(column disk/run/train.csv epoch | sort -n | uniq -d | wc -l)" -eq 0 ] || fail "train.csv has an epoch twice"

say "full for a while"
while true; do
  fill_while_training
  until_true warned
  rm disk/filler
  code=0
  wait "$process" || code=$?
  if [ $code -ne 10 ]; then break; fi
  twice_the_epochs
done
[ $code -eq 0 ] || fail "exit $code, expected 0"
run 0 ckpt show disk/run/checkpoints/last.h5
says "epoch: $epochs"
[ "$(column disk/run/train.csv epoch | wc -l)" -eq "$epochs" ] || fail "train.csv lacks rows of the time without room"
python3 "$support" json disk/run/result.json 'j["exit"] == "completed"' "j['epochs'] == $epochs" || fail "result.json"

say "full before the start"
new_disk
fill
run 10 fit small.yaml --cpus 1x1 --run-dir disk/run
says "disk/run"
new_disk
mkdir disk/sealed && mount -t tmpfs -o ro none disk/sealed
run 10 fit small.yaml --cpus 1x1 --run-dir disk/sealed/run
says "cannot write"
says "--run-dir"
