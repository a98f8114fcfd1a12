#!/usr/bin/env bash
# Several processes of a real mpirun, Open MPI's and MPICH's: the same bits as one process with as many replicas,
# resumed in other numbers, stopped by a signal to one, one killed, different settings. Only real launchers show how
# they start processes and end the others. Threads in place of processes cover the rest (tests/distributed).
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

# One line per installed MPI for which dptrain has a module: its name and its launcher.
launchers=()
folder=$(dirname "$DPTRAIN")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if [ -e "$folder/libdptrain_openmpi.so" ] && command -v mpirun.openmpi >/dev/null; then
  launchers+=("openmpi mpirun.openmpi --oversubscribe --bind-to none")
fi
if [ -e "$folder/libdptrain_mpich.so" ] && command -v mpiexec.hydra >/dev/null; then
  launchers+=("mpich mpiexec.hydra")
fi
[ ${#launchers[@]} -gt 0 ] || skip "no MPI here: scripts/install_deps.sh mpi"

# is_code CODE EXPECTED: the launcher's exit code. MPICH's mpiexec kills the other processes when the first one ends
# with an error, and may then return 9.
is_code() { [ "$1" -eq "$2" ] || { [ "$2" -ne 0 ] && [ "$name" = mpich ] && [ "$1" -eq 9 ]; }; }
# together PROCESSES CODE ARGUMENT...: like run, in this number of processes of $launcher.
together() {
  local processes=$1 expected=$2 code=0
  shift 2
  # shellcheck disable=SC2086  # the launcher's own words
  $launcher -n "$processes" "$DPTRAIN" "$@" >out 2>&1 || code=$?
  [ "$expected" = any ] || is_code "$code" "$expected" || fail "$launcher -n $processes dptrain $*: exit $code, expected $expected"
}
start_together() {
  local processes=$1
  shift
  : >out
  # shellcheck disable=SC2086
  $launcher -n "$processes" "$DPTRAIN" "$@" >out 2>&1 &
  process=$!
}
# job_ended CODE: $process ends with this code.
job_ended() {
  local code=0
  wait "$process" || code=$?
  is_code $code "$1" || fail "exit $code, expected $1"
}
# The last started process of the background run.
one_of_them() { pgrep -n -f "^$DPTRAIN fit small.yaml .*--run-dir $1"; }

small_data
small_config >small.yaml

say "one process with four replicas"
run 0 fit small.yaml --cpus 4x1 --run-dir whole
run 0 predict whole --cpus 4x1 --input data/t10k-images-idx3-ubyte --probabilities --output one.csv
run 0 eval whole --cpus 3x1 --output eval-one
grep -E '^(loss|accuracy|n):' out >said

for one in "${launchers[@]}"; do
  name=${one%% *}
  launcher=${one#* }
  say "$name: two processes of two replicas, four of one, the same bits"
  together 2 0 fit small.yaml --cpus 2x1 --run-dir "$name-2"
  says "together 4 replicas in 2 processes on one machine"
  same_run whole "$name-2"
  together 4 0 fit small.yaml --cpus 1x1 --run-dir "$name-4"
  [ "$(grep -c 'Epoch 2/2' out)" -eq 1 ] || fail "more than one process speaks"
  same_run whole "$name-4"

  say "$name: stopped in four processes, resumed in one, then in three: every sample once"
  together 4 0 fit small.yaml --cpus 1x1 --run-dir "$name-resumed" --steps 7
  run 0 fit small.yaml --cpus 1x1 --run-dir "$name-resumed" --steps 27 --resume
  together 3 0 fit small.yaml --cpus 1x1 --run-dir "$name-resumed" --resume
  says "resumed at epoch 2, step 27, sample 210"
  python3 "$support" json "$name-resumed/eval.json" 'j["n"] == 120' 'len(j["worst"]) == 24' || fail "eval.json of three processes"
  grep -q 'best.h5 on validation, 120 samples' "$name-resumed/report.html" || fail "report.html of three processes"
  [ "$(rows "$name-resumed/steps.csv")" -eq 41 ] || fail "steps.csv has not one row per step"
  for value in loss val_loss; do
    a=$(column "$name-resumed/train.csv" $value | tail -n 1) b=$(column whole/train.csv $value | tail -n 1)
    close 1e-4 "$a" "$b" || fail "$value is $a, $b without interruption"
  done

  say "$name: process 0 cannot write model.h5: all end with its exit code, long before the watchdog"
  cp -r "$name-resumed" "$name-full"
  rm "$name-full/model.h5"
  mkdir "$name-full/model.h5"
  together 3 10 fit small.yaml --cpus 1x1 --run-dir "$name-full" --resume --epochs 3 --set parallel.watchdog=600s

  say "$name: SIGTERM to one process stops all after the same step"
  start_together 2 fit small.yaml --cpus 2x1 --run-dir "$name-stopped" --epochs 40000
  until_true has_rows "$name-stopped/steps.csv" 25
  kill -TERM "$(one_of_them "$name-stopped")"
  job_ended 143
  says "SIGTERM: saving and stopping after step"
  [ "$(grep -c 'saving and stopping' out)" -eq 1 ] || fail "more than one process speaks"
  epochs=$(($(column "$name-stopped/steps.csv" step | tail -n 1) / 20 + 1))
  run 0 fit small.yaml --cpus 4x1 --run-dir "$name-stopped" --resume --epochs $epochs
  run 0 fit small.yaml --cpus 4x1 --run-dir "$name-straight" --epochs $epochs
  same_run "$name-straight" "$name-stopped"

  say "$name: one process killed, the others end, --resume=auto continues"
  start_together 3 fit small.yaml --cpus 1x1 --run-dir "$name-killed" --epochs 40000
  until_true has_rows "$name-killed/steps.csv" 25
  kill -KILL "$(one_of_them "$name-killed")"
  if wait "$process"; then fail "the launcher reports success"; fi
  if one_of_them "$name-killed" >left; then fail "processes are left: $(cat left)"; fi
  together 2 0 fit small.yaml --cpus 2x1 --run-dir "$name-killed" --resume=auto --epochs 3

  say "$name: settings that differ are named, once"
  # shellcheck disable=SC2086
  $launcher -n 1 "$DPTRAIN" fit small.yaml --cpus 1x1 : -n 1 "$DPTRAIN" fit small.yaml --cpus 1x1 --set seed=8 >out 2>&1 &
  process=$!
  job_ended 2
  if [ "$name" = openmpi ]; then  # MPICH's mpiexec kills processes that have not printed it when the first one ends
    says "the settings of process 1"
    says "'seed: 8' against 'seed: 7'"
    [ "$(grep -c 'the settings of process 1' out)" -eq 1 ] || fail "printed more than once"
  fi

  say "$name: verify"
  together 2 0 verify small.yaml --cpus 2x1
  says "4 replicas against one"
  says "verified"

  say "$name: eval and predict print the same as one process"
  together 3 0 eval whole --cpus 1x1 --output "eval-$name"
  grep -E '^(loss|accuracy|n):' out >"said-$name"
  cmp said "said-$name" || fail "eval"
  cmp eval-one/confusion.csv "eval-$name/confusion.csv" || fail "confusion.csv"
  together 2 0 predict whole --cpus 2x1 --input data/t10k-images-idx3-ubyte --probabilities --output "$name.csv"
  cmp one.csv "$name.csv" || fail "predict"

  say "$name: bench starts processes, predicts their steps and measures them"
  DPTRAIN_MPIRUN=$launcher run 0 bench small.yaml --cpus 1x1 --sweep processes=1,2 --predict processes=3 --steps 3 --warmup 2 \
    --repeats 2 --output "$name-bench"
  says "predicted, not measured: small.yaml"
  says "measured between 3 processes here"
  python3 - "$name-bench/prediction.json" <<'END' || fail "prediction.json is not what was asked for"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["processes"] for row in rows] == [1, 2, 3], rows
assert all(row["predicted_step_ms"] > 0 for row in rows), rows
assert ["measured_step_ms" in row for row in rows] == [True, True, False], rows
assert rows[0]["predicted_communication_ms"] == 0 < rows[1]["predicted_communication_ms"], rows
END
  together 2 2 bench small.yaml --cpus 1x1 --predict processes=2
  says "run it without a launcher"
done

say "a launcher without its module: one sentence"
code=0
OMPI_COMM_WORLD_SIZE=2 LD_LIBRARY_PATH='' DPTRAIN_MPI=abi "$DPTRAIN" fit small.yaml --cpus 1x1 >out 2>&1 || code=$?
[ $code -eq 4 ] || fail "exit $code, expected 4"
says "dptrain's module for the ABI of MPI 5 cannot be opened"
