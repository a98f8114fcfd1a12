#!/usr/bin/env bash
# A run that was stopped and resumed ends with the bits of an uninterrupted one: stopped by --steps, by SIGINT and by
# SIGTERM, inside an epoch and at its end. On another number of replicas it ends within rounding.
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
  if [ "$steps" = 7 ]; then cp -r stopped-7 after-7; fi
  run 0 fit small.yaml --cpus 2x1 --run-dir "stopped-$steps" --resume
  says "resumed at epoch $((steps / 20 + 1)), step $steps, sample $((steps % 20 * 30))"
  same_run whole "stopped-$steps"
  [ "$(rows "stopped-$steps/steps.csv")" -eq 41 ] || fail "steps.csv has not one row per step"
done

say "optimizers whose steps depend on their number, or on a norm; a warm-up"
for optimizer in Nadam Adamax Lamb; do
  change="train.optimizer={$optimizer: {learning_rate: {Warmup: {warmup_steps: 30, then: 0.01}}, weight_decay: 0.01}}"
  run 0 fit small.yaml --cpus 2x1 --run-dir "$optimizer" --set "$change"
  run 0 fit small.yaml --cpus 2x1 --run-dir "stopped-$optimizer" --set "$change" --steps 27
  run 0 fit small.yaml --cpus 2x1 --run-dir "stopped-$optimizer" --set "$change" --resume
  same_run "$optimizer" "stopped-$optimizer"
done

say "the checkpoint into a new run directory"
run 0 fit small.yaml --cpus 2x1 --run-dir moved --resume=stopped-7/checkpoints/last.h5 --steps 20
says "step 40"  # that run has ended: nothing is left to do
run 0 fit small.yaml --cpus 2x1 --run-dir second --resume=after-7/checkpoints/last.h5
run 0 ckpt diff whole/checkpoints/last.h5 second/checkpoints/last.h5

say "--resume finds the newest run of that name"
run 0 fit small.yaml --cpus 2x1 --steps 5
run 0 fit small.yaml --cpus 2x1 --steps 12
[ -e runs/small/002/checkpoints/last.h5 ] || fail "no runs/small/002"
run 0 fit small.yaml --cpus 2x1 --resume
says "runs/small/002"
same_run whole runs/small/002
[ "$(column runs/small/001/steps.csv step | tail -n 1)" = 5 ] || fail "the older run was touched"

say "on another number of replicas"
for cpus in 1 3; do
  cp -r after-7 "other-$cpus"
  run 0 fit small.yaml --cpus "${cpus}x1" --run-dir "other-$cpus" --resume
  for name in loss val_loss; do
    a=$(column "other-$cpus/train.csv" $name | tail -n 1) b=$(column whole/train.csv $name | tail -n 1)
    close 1e-5 "$a" "$b" || fail "$cpus replicas: $name is $a, $b without interruption"
  done
done

# stop_by SIGNAL CODE: sends the signal in the middle of an epoch.
latest=0
stop_by() {
  local folder=by-$1
  say "stopped by $1"
  start fit small.yaml --cpus 2x1 --run-dir "$folder" --epochs 40000
  until_true has_rows "$folder/steps.csv" 25
  kill -s "$1" "$process"
  ended_with "$2"
  says "$1: saving and stopping after step"
  python3 "$support" json "$folder/result.json" 'j["exit"] == "signal"' || fail "result.json"
  step=$(column "$folder/steps.csv" step | tail -n 1)
  run 0 ckpt show "$folder/checkpoints/last.h5"
  says "step: $step"
  latest=$((step > latest ? step : latest))
}
stop_by SIGINT 130
stop_by SIGTERM 143

epochs=$(((latest + 19) / 20 + 1))
say "$epochs epochs: one more than where the later signal came, against as many without interruption"
run 0 fit small.yaml --cpus 2x1 --run-dir alone --epochs $epochs
for folder in by-SIGINT by-SIGTERM; do
  run 0 fit small.yaml --cpus 2x1 --run-dir $folder --resume --epochs $epochs
  same_run alone $folder
done

say "from the best checkpoint: its state includes the epoch for every callback"
cp -r whole best
run 0 fit small.yaml --cpus 2x1 --run-dir best --resume=best --epochs $epochs
same_run alone best

say "SIGHUP saves and continues, SIGUSR1 prints the position of the run"
saved_inside_epoch() { "$DPTRAIN" ckpt show hup/checkpoints/last.h5 2>/dev/null | grep -q '^ *step: [1-9]'; }
start fit small.yaml --cpus 2x1 --run-dir hup --log-every '100 steps' \
  --set 'data.train={Synthetic: {samples: 6000000}}' --set 'data.loader={shuffle: none}'  # one long epoch
until_true has_rows hup/steps.csv 2
if saved_inside_epoch; then fail "saved before it was asked to"; fi
kill -s HUP "$process"
until_true saved_inside_epoch
kill -s USR1 "$process"
until_true grep -q '^status: epoch' out
kill -s INT "$process"
ended_with 130

say "a signal does not wait for a long validation; the continued run has the bits of an uninterrupted one"
start fit small.yaml --cpus 2x1 --run-dir validating --epochs 2 --log-every '1000 steps' \
  --set 'data.validation={Synthetic: {samples: 3000000}}'
until_true has_rows validating/steps.csv 2  # at the end of the first epoch, before its validation
kill -s INT "$process"
ended_with 130
python3 "$support" json validating/result.json 'j["exit"] == "signal"' || fail "result.json"
[ "$(rows validating/train.csv)" -eq 2 ] || fail "the epoch's row is missing"
validation='data.validation={Synthetic: {samples: 300}}'
run 0 fit small.yaml --cpus 2x1 --run-dir validating --epochs 2 --resume --set "$validation"
run 0 fit small.yaml --cpus 2x1 --run-dir not-stopped --epochs 2 --set "$validation"
run 0 ckpt diff validating/checkpoints/last.h5 not-stopped/checkpoints/last.h5
run 0 ckpt diff validating/model.h5 not-stopped/model.h5

say "a second SIGINT does not wait for the long step that delays the first"
start fit small.yaml --cpus 2x1 --run-dir twice --steps 2 --log-every '1 step' --batch-size 400000 \
  --set 'data.train={Synthetic: {samples: 400000}}' --set 'data.loader={shuffle: none, prefetch: 1}'
until_true [ -e twice/checkpoints/last.h5 ]  # the first step begins
kill -s INT "$process"
until_true grep -q '^ShdPnd:[[:space:]]*0*$' /proc/$process/status  # taken: one more would else be lost in the first
kill -s INT "$process"
ended_with 11
says "saving after this step; press Ctrl-C again to quit without saving"
says "stopped at once; nothing was saved since the last checkpoint"
! grep -q '^warning: .*Ctrl-C' twice/train.log || fail "the answer to a signal is no warning, which the report would count as a fault"
silent_on "saving and stopping"
[ ! -e twice/result.json ] || fail "the second SIGINT waited"

say "--resume with nothing to resume"
run 8 fit small.yaml --run-dir nowhere --resume
says "--resume: nowhere has no checkpoints/last.h5"
run 0 fit small.yaml --run-dir nowhere --resume=auto --steps 2
run 2 fit small.yaml --run-dir nowhere
says "is not empty; continue with --resume"
