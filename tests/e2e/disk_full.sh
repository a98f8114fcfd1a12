#!/usr/bin/env bash
# A disk that fills up while training saves: a warning, training goes on, the old checkpoint stays whole; exit 10 when the
# last save failed as well, 0 when there was room again in time. The disk is a small tmpfs in a mount namespace of its own,
# which needs root or user namespaces.
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
# A checkpoint of this model takes 100 KB; there are last.h5, best.h5 and a temporary file at times, and the logs.
new_disk() {
  if mountpoint -q disk; then umount disk; fi
  mount -t tmpfs -o size=2m none disk
}
fill() { dd if=/dev/zero of=disk/filler bs=4096 status=none 2>/dev/null || true; }
warned() { grep -q "training goes on, the next save tries again" out; }
is_up_to() { has_rows disk/run/train.csv "$1"; }

start() { "$DPTRAIN" fit small.yaml --cpus 1x1 --run-dir disk/run --log-every '100 steps' "$@" >out 2>&1 & process=$!; }
ended_with() {
  local code=0
  wait $process || code=$?
  [ $code -eq "$1" ] || fail "exit $code, expected $1"
}

say "full to the end"
new_disk
start --epochs 200
until_true 60 is_up_to 3
fill
until_true 60 warned
cp disk/run/checkpoints/last.h5 kept.h5
ended_with 10
says "not enough space"
says "Epoch 200/200"
run 0 ckpt show disk/run/checkpoints/last.h5
says "checksum good"
run 0 ckpt show disk/run/checkpoints/best.h5
says "checksum good"
cmp disk/run/checkpoints/last.h5 kept.h5 || fail "the old checkpoint was touched"

say "and resumed when there is room"
rm disk/filler
epoch=$("$DPTRAIN" ckpt show disk/run/checkpoints/last.h5 | awk '$1 == "epoch:" { print $2 }')
run 0 fit small.yaml --cpus 1x1 --run-dir disk/run --resume --epochs $((epoch + 2)) --log-every '100 steps'
says "resumed at epoch $((epoch + 1))"
[ "$(column disk/run/train.csv epoch | tail -n 1)" -eq $((epoch + 2)) ] || fail "train.csv ends at another epoch"
[ "$(column disk/run/train.csv epoch | sort -n | uniq -d | wc -l)" -eq 0 ] || fail "train.csv has an epoch twice"

say "full for a while"
new_disk
start --epochs 200
until_true 60 is_up_to 3
fill
until_true 60 warned
rm disk/filler
ended_with 0
run 0 ckpt show disk/run/checkpoints/last.h5
says "epoch: 200"
[ "$(column disk/run/train.csv epoch | wc -l)" -eq 200 ] || fail "train.csv lacks rows of the time without room"
python3 "$support" json disk/run/result.json 'j["exit"] == "completed"' 'j["epochs"] == 200' || fail "result.json"

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
