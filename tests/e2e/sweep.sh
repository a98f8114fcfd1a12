#!/usr/bin/env bash
# A sweep in processes, and the test of learning rates: output and files, kills with -9 at random moments and resumes, a
# stop with Ctrl-C, a rejected second sweep. tests/sweep covers the order of trials from any state without processes;
# only processes show that a kill leaves a state, and that children end with the sweep and continue from their
# checkpoints.
#
#   DPTRAIN_KILLS   number of kills (3); also the argument of the script
#   DPTRAIN_SEED    seed of the random moments
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
kills=${1:-${DPTRAIN_KILLS:-3}}
RANDOM=$((${DPTRAIN_SEED:-$$}))

small_data
small_config >small.yaml
vary=(--vary 'train.optimizer.learning_rate=0.01..0.1:log' --vary 'model.layers.conv.filters=4,6,8')

say "refusals come before anything is trained"
run 2 sweep small.yaml --vary train.optimiser.learning_rate=1,2
says "did you mean 'optimizer'?"
run 2 sweep small.yaml --vary model.layers.conv.filters=4,-1
says "trial 2 has an invalid config: model.layers.conv.filters=-1"
run 2 sweep small.yaml --vary train.optimizer.learning_rate=0.1..0.01:log --trials 3
run 2 sweep small.yaml "${vary[@]}"
says '--trials N is needed'
run 2 sweep small.yaml "${vary[@]}" --trials 3 --objective val_acuracy
says "did you mean 'val_accuracy'?"
run 0 sweep small.yaml "${vary[@]}" --trials 3 --dry-run
says '003  train.optimizer.learning_rate='
[ ! -e runs ] || fail "something was written"

say "a whole sweep"
run 0 sweep small.yaml "${vary[@]}" --trials 4 --cpus 2x1 --run-dir whole
says 'dptrain fit small.yaml --set train.optimizer.learning_rate='
grep -q '>filters</text>' whole/sweep.svg && grep -q '>8</text>' whole/sweep.svg || fail "sweep.svg lacks a choice"
run 0 sweep small.yaml --vary train.batch_size=8,16 --cpus 2x1 --run-dir short --epochs 1
says 'dptrain fit small.yaml --set train.batch_size='
silent_on 'train.epochs=1'
run 0 report short -o short.html
[ "$(grep -c '^wrote ' out)" -le 2 ] || fail "report of a sweep lists files for each trial"
for file in sweep.json sweep.csv sweep.svg 001/result.json 004/model.h5; do
  [ -s "whole/$file" ] || fail "whole/$file is missing"
done
[ "$(rows whole/sweep.csv)" -eq 5 ] || fail "sweep.csv has not one row for each trial"
[ "$(column whole/sweep.csv val_accuracy)" = "$(column whole/sweep.csv val_accuracy | sort -gr)" ] || fail "not best first"
run 2 sweep small.yaml "${vary[@]}" --trials 4 --run-dir whole
says 'dptrain resume whole'
run 0 report whole/* --no-eval -o page.html
run 0 plot whole -o curves.svg

# The table without the seconds.
results() { cut -d, -f1-7,9- "$1/sweep.csv"; }

say "killed $kills times"
start sweep small.yaml "${vary[@]}" --trials 4 --cpus 2x1 --run-dir killed
until_true test -e killed/sweep.json
run 2 sweep --resume killed
says 'trains into killed now'
for ((i = 0; i < kills; ++i)); do
  sleep "0.$(printf '%03d' $((RANDOM % 400)))"
  kill -9 "$process" 2>/dev/null || true
  wait "$process" 2>/dev/null || true
  python3 "$support" json killed/sweep.json 'len(j["trials"]) == 4' || fail "sweep.json is not whole"
  start sweep --resume killed --cpus 2x1
done
ended_with 0
[ "$(results killed)" = "$(results whole)" ] || fail "the sweep that was killed has other results"
for trial in 001 002 003 004; do
  same_run whole/$trial killed/$trial
  [ "$(rows killed/$trial/steps.csv)" -eq 41 ] || fail "steps.csv of trial $trial has not one row per step"
done

say "Ctrl-C saves, prints how to continue, and nothing is trained twice"
start sweep small.yaml "${vary[@]}" --trials 4 --cpus 2x1 --run-dir stopped
until_true has_rows stopped/001/steps.csv 5
kill -INT "$process"
ended_with 130
says 'dptrain resume stopped'
run 0 resume stopped --cpus 1
[ "$(results stopped)" = "$(results whole)" ] || fail "the sweep that was stopped has other results"
"$DPTRAIN" sweep --resume stopped --log json >out.json 2>/dev/null || fail "resuming what is done"
python3 "$support" json out.json '[t["status"] for t in j["trials"]] == 4 * ["done"]' || fail "--log json"
[ "$(results stopped)" = "$(results whole)" ] || fail "a sweep that is done changes when it is resumed"
echo '# other' >>small.yaml
run 2 sweep --resume stopped
says 'has changed since the sweep began'

say "--find-lr uses all replicas, and leaves no run"
run 0 fit small.yaml --find-lr=1e-4..100 --steps 60 --cpus 2x1 --run-dir rates
says 'suggestion: --learning-rate '
[ "$(ls rates | tr '\n' ' ')" = 'find-lr.csv find-lr.svg ' ] || fail "files: $(ls rates)"
cp rates/find-lr.csv two.csv
run 0 fit small.yaml --find-lr=1e-4..100 --steps 60 --cpus 1 --run-dir rates
while IFS=' ' read -r one two; do
  close 1e-3 "$one" "$two" || fail "losses of one replica and of two: $one, $two"
done < <(paste -d' ' <(column rates/find-lr.csv loss | head -n 20) <(column two.csv loss | head -n 20))
run 0 fit small.yaml --set 'train.optimizer.SGD.learning_rate={CosineDecay: {initial_learning_rate: 0.1, decay_steps: 40}}' --find-lr --run-dir rates
says 'the config has a schedule, CosineDecay'
run 2 fit small.yaml --find-lr=10..1
run 2 fit small.yaml --find-lr --resume

say "a trial that fails is a row"
run 0 sweep small.yaml --vary train.optimizer.learning_rate=1e30,0.05 --cpus 2x1 --run-dir failing
says 'trial 1: failed: '
[ "$(column failing/sweep.csv status | tr '\n' ' ')" = 'done failed ' ] || fail "status"
run 6 sweep small.yaml --vary train.optimizer.learning_rate=1e30,1e31 --cpus 2x1 --run-dir hopeless
run 0 sweep small.yaml --vary model.weights=null,/nowhere.h5 --cpus 2x1 --run-dir unreadable
says 'trial 2: failed: exit 2: --set:1:15: '
[ ! -e unreadable/002.error.json ] || fail "the file of the error remains"

say "halving continues from checkpoints"
run 0 sweep small.yaml "${vary[@]}" --trials 4 --strategy halving --eta 2 --epochs 4 --cpus 2x1 --run-dir halved
[ "$(column halved/sweep.csv epochs | tr '\n' ' ')" = '4 2 1 1 ' ] || fail "epochs"
best=$(column halved/sweep.csv run | head -n 1)
[ "$(rows halved/$best/steps.csv)" -eq 81 ] || fail "the best has not one row per step"
[ "$(wc -l <halved/$best/command.txt)" -eq 3 ] || fail "the best was not resumed twice"
