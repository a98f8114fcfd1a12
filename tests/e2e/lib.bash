# Shared by the end-to-end tests (tests/e2e/*.sh), which ctest calls with $DPTRAIN, the executable, and $DPTRAIN_SOURCE,
# the repository. A test runs in a separate folder, $work, which is removed at its end; it prints its steps and ends
# with exit code 0, 1 (fail) or 77 (skip).

set -euo pipefail
: "${DPTRAIN:?the path of the dptrain executable}" "${DPTRAIN_SOURCE:?the path of the repository}"
export LC_ALL=C
unset NO_COLOR
export CUDA_VISIBLE_DEVICES=  # tests of the CPU and of the emulator, on any machine
export XDG_CACHE_HOME=/nonexistent  # ignores choices tuned on this machine
support=$DPTRAIN_SOURCE/tests/e2e/support.py

work=$(mktemp -d "${TMPDIR:-/tmp}/dptrain-e2e.XXXXXX")
cleanup() {
  local job
  for job in $(jobs -p); do kill -9 "$job" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

say() { printf -- '-- %s\n' "$*"; }
fail() {
  printf 'FAILED: %s\n' "$*"
  if [ -s out ]; then printf -- '-- last output\n'; tail -n 40 out; fi
  exit 1
}
skip() { printf 'SKIPPED: %s\n' "$*"; exit 77; }

# The interpreter itself: the wrapper of a version manager starts more slowly than most scripts here run.
python=$(python3 -S -c 'import sys; print(sys.executable)') || skip "python3 makes the data and reads the JSON files of these tests"
PATH=${python%/*}:$PATH
python3() { "$python" -S "$@"; }  # only the standard library

# run CODE ARGUMENT...: runs dptrain and expects this exit code; writes stdout and stderr to the file out.
run() {
  local expected=$1 code=0
  shift
  "$DPTRAIN" "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "dptrain $*: exit $code, expected $expected"
}
# says TEXT: expects the text in the output of the last run.
says() { grep -qF -- "$1" out || fail "the output lacks '$1'"; }
silent_on() { ! grep -qF -- "$1" out || fail "the output must not hold '$1'"; }

# start ARGUMENT...: starts dptrain in the background as $process; writes its output to the file out.
start() {
  : >out  # removes the output of the last run
  "$DPTRAIN" "$@" >out 2>&1 &
  process=$!
}
gone() { ! kill -0 "$process" 2>/dev/null; }
# until_true COMMAND...: polls the command until it succeeds or $process has ended, without a timeout.
until_true() {
  local ended=no
  until "$@"; do
    [ $ended = no ] || fail "the process ended before: $*"
    if gone; then ended=yes; else sleep 0.01; fi  # once more after its end
  done
}
# ended_with CODE: waits for $process and expects this exit code.
ended_with() {
  local code=0
  wait "$process" || code=$?
  [ $code -eq "$1" ] || fail "exit $code, expected $1"
}
rows() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
has_rows() { [ "$(rows "$1")" -ge "$2" ]; }
# column FILE NAME: a column of a CSV file, without its header.
column() {
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) n = i; if (!n) exit 1; next } { print $n }' "$1" ||
    fail "$1 has no column $2"
}
# close TOLERANCE A B: |a - b| <= tolerance |b|.
close() {
  [[ $2 =~ ^-?[0-9.]+(e[+-]?[0-9]+)?$ && $3 =~ ^-?[0-9.]+(e[+-]?[0-9]+)?$ ]] || fail "expected two numbers, found '$2' and '$3'"
  awk -v t="$1" -v a="$2" -v b="$3" 'BEGIN { d = a - b; m = b; exit !((d < 0 ? -d : d) <= t * (m < 0 ? -m : m)) }'
}

# Two small IDX sets and a config with all kinds of state of a resumed run: dropout, augmentation, momentum, statistics,
# averages, a callback with a best value. Small enough for a sanitizer build.
small_data() { python3 "$support" idx "${1:-data}" 600 120 12; }
small_config() {
  cat <<'YAML'
dptrain: 1
name: small
seed: 7
run_dir: runs
model:
  layers:
    - Input: {shape: [12, 12, 1]}
    - Conv2D: {name: conv, filters: 6, kernel_size: 3, use_bias: false}
    - BatchNormalization: {name: norm}
    - Activation: relu
    - MaxPooling2D
    - Flatten
    - Dropout: 0.25
    - Dense: {name: classes, units: 10, activation: softmax}
data:
  train: {IDX: {inputs: data/train-images-idx3-ubyte, labels: data/train-labels-idx1-ubyte}}
  validation: {IDX: {inputs: data/t10k-images-idx3-ubyte, labels: data/t10k-labels-idx1-ubyte}}
  transforms:
    train: [{RandomFlip: horizontal}, {Rescaling: 1/255}]
    eval: [{Rescaling: 1/255}]
train:
  epochs: 2
  batch_size: 30
  optimizer: {SGD: {learning_rate: 0.05, momentum: 0.9, use_ema: true}}
  loss: categorical_crossentropy
  metrics: [accuracy]
  log_every: 1 step
parallel: {sync_batchnorm: true}
callbacks:
  - ModelCheckpoint: {monitor: val_accuracy, save_best_only: true}
  - CSVLogger
YAML
}

# same_run A B: expects equal bits in two run folders: weights, optimizer state, averages, and every logged loss.
same_run() {
  run 0 ckpt diff "$1/checkpoints/last.h5" "$2/checkpoints/last.h5"
  cmp -s "$1/model.h5" "$2/model.h5" || fail "$1/model.h5 and $2/model.h5 differ"
  cmp -s "$1/log.csv" "$2/log.csv" || fail "$1/log.csv and $2/log.csv differ"
  local name
  for name in epoch loss accuracy val_loss val_accuracy lr; do
    [ "$(column "$1/train.csv" $name)" = "$(column "$2/train.csv" $name)" ] || fail "$1 and $2 differ in $name of train.csv"
  done
}

# A config of two convolutions, the second one by Winograd, on synthetic data.
tiny_convolutions() {
  cat <<'YAML'
dptrain: 1
name: tiny
model:
  layers:
    - Input: {shape: [16, 16, 3]}
    - Conv2D: {filters: 16, kernel_size: 3, activation: relu}
    - MaxPooling2D
    - Conv2D: {filters: 16, kernel_size: 3, padding: same}
    - Flatten
    - Dense: 4
data: {train: {Synthetic: {samples: 64, classes: 4}}}
train: {epochs: 2, batch_size: 16, optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
YAML
}
