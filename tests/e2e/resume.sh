#!/usr/bin/env bash
# A run that was stopped and resumed ends with the bits of one that was not: stopped by --steps, by SIGINT and by SIGTERM,
# inside an epoch and at its end; on another number of replicas it ends within rounding.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

small_data
small_config >small.yaml

say "uninterrupted"
run 0 fit small.yaml --cpus 2x1 --run-dir whole
says "Epoch 2/2"

for steps in 7 20 27; do  # of 20 an epoch: inside the first, at its end, inside the second
  say "stopped after $steps steps"
  run 0 fit small.yaml --cpus 2x1 --run-dir "stopped-$steps" --steps "$steps"
  [ "$(column "stopped-$steps/steps.csv" step | tail -n 1)" = "$steps" ] || fail "not stopped at step $steps"
  run 0 fit small.yaml --cpus 2x1 --run-dir "stopped-$steps" --resume
  says "resumed at epoch $((steps / 20 + 1)), step $steps, sample $((steps % 20 * 30))"
  same_run whole "stopped-$steps"
  [ "$(rows "stopped-$steps/steps.csv")" -eq 41 ] || fail "steps.csv has not one row per step"
done

say "the checkpoint into a new run directory"
run 0 fit small.yaml --cpus 2x1 --run-dir moved --resume=stopped-7/checkpoints/last.h5 --steps 20
says "step 40"  # that run has ended: nothing is left to do
run 0 fit small.yaml --cpus 2x1 --run-dir first --steps 9
run 0 fit small.yaml --cpus 2x1 --run-dir second --resume=first/checkpoints/last.h5
run 0 ckpt diff whole/checkpoints/last.h5 second/checkpoints/last.h5

say "--resume finds the newest run of that name"
run 0 fit small.yaml --cpus 2x1 --steps 5
run 0 fit small.yaml --cpus 2x1 --steps 12
[ -e runs/small/002/checkpoints/last.h5 ] || fail "no runs/small/002"
run 0 fit small.yaml --cpus 2x1 --resume
says "runs/small/002"
same_run whole runs/small/002
[ "$(column runs/small/001/steps.csv step | tail -n 1)" = 5 ] || fail "the older run was touched"

say "from the best checkpoint: its state has what every callback saw of the epoch"
run 0 fit small.yaml --cpus 2x1 --run-dir three --epochs 3
run 0 fit small.yaml --cpus 2x1 --run-dir best --epochs 2
run 0 fit small.yaml --cpus 2x1 --run-dir best --resume=best --epochs 3
same_run three best

say "on another number of replicas"
for cpus in 1 3; do
  run 0 fit small.yaml --cpus 2x1 --run-dir "other-$cpus" --steps 13
  run 0 fit small.yaml --cpus "${cpus}x1" --run-dir "other-$cpus" --resume
  for name in loss val_loss; do
    a=$(column "other-$cpus/train.csv" $name | tail -n 1) b=$(column whole/train.csv $name | tail -n 1)
    close 1e-5 "$a" "$b" || fail "$cpus replicas: $name is $a, $b without interruption"
  done
done

# stop_by SIGNAL CODE: sends it in the middle of an epoch.
stop_by() {
  local folder=by-$1 code=0 process
  say "stopped by $1"
  "$DPTRAIN" fit small.yaml --cpus 2x1 --run-dir "$folder" --epochs 4000 >out 2>&1 &
  process=$!
  until_true 60 has_rows "$folder/steps.csv" 25
  kill -s "$1" $process
  wait $process || code=$?
  [ $code -eq "$2" ] || fail "exit $code after $1, expected $2"
  says "$1: saving and stopping after step"
  python3 "$support" json "$folder/result.json" 'j["exit"] == "signal"' || fail "result.json"
  step=$(column "$folder/steps.csv" step | tail -n 1)
  run 0 ckpt show "$folder/checkpoints/last.h5"
  says "step: $step"
}

# One epoch more than where the signal came, and the same without interruption.
for signal in INT:130 TERM:143; do
  stop_by "SIG${signal%:*}" "${signal#*:}"
  epochs=$(((step + 19) / 20 + 1))
  run 0 fit small.yaml --cpus 2x1 --run-dir "by-SIG${signal%:*}" --resume --epochs $epochs
  run 0 fit small.yaml --cpus 2x1 --run-dir "alone-${signal%:*}" --epochs $epochs
  same_run "alone-${signal%:*}" "by-SIG${signal%:*}"
done

say "SIGHUP saves and goes on, a second SIGINT does not wait"
saved_inside_epoch() { "$DPTRAIN" ckpt show hup/checkpoints/last.h5 2>/dev/null | grep -q '^ *step: [1-9]'; }
"$DPTRAIN" fit small.yaml --cpus 2x1 --run-dir hup --log-every '1000 steps' \
  --set 'data.train={Synthetic: {samples: 3000000}}' --set 'data.loader={shuffle: none}' >out 2>&1 &  # one long epoch
process=$!
until_true 60 has_rows hup/steps.csv 2
if saved_inside_epoch; then fail "saved before it was asked to"; fi
kill -s HUP $process
until_true 60 saved_inside_epoch
kill -s USR1 $process
until_true 20 grep -q '^status: epoch' out
kill -s INT $process
kill -s INT $process
code=0
wait $process || code=$?
[ $code -eq 130 ] || fail "exit $code after two SIGINT, expected 130"

say "--resume with nothing to resume"
run 8 fit small.yaml --run-dir nowhere --resume
says "--resume: nowhere has no checkpoints/last.h5"
run 0 fit small.yaml --run-dir nowhere --resume=auto --steps 2
run 2 fit small.yaml --run-dir nowhere
says "is not empty; go on there with --resume"
