#!/usr/bin/env bash
# Checks dptrain on a GPU host, from the bundle that scripts/gpu/pack.sh makes:
#
#   ./check.sh correctness [--out DIR]   checks the results (9 minutes at most)
#   ./check.sh performance [--out DIR]   measures the speed and compares with PyTorch (10 minutes at most)
#   ./check.sh sanitizer   [--out DIR]   runs compute-sanitizer on the kernels, races first (10 minutes at most)
#
#   --out DIR      results: summary.txt, logs/ and the files of the stages (check-TASK)
#   --gpu ID       the GPU, as in --gpus (0)
#   --python PATH  an interpreter that has PyTorch, or the nvidia wheels (python3)
#   --minutes N    time for all stages together (9 or 10)
#   --only A,B     these stages only; PyTorch runs only their networks
#   --precision P  one of bf16, tf32, fp32 (performance)
#   --quick        short runs, to test the script rather than the GPU. `--gpu emu:0 --quick` needs no GPU
#
# Needs a driver, and cuDNN 9 and NCCL 2: installed, on LD_LIBRARY_PATH, or as wheels of the Python (PyTorch brings them).
# The stages run in order of value, each with a time limit; one line for each comes last. Exit code 1 if one failed or
# could not run. A stage that needs two GPUs or another program (ncu, PyTorch, mpirun) is left out where they are missing, and
# its line says so.

set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$here/check.sh"; }
refuse() { echo "check: $*" >&2; exit 2; }

# --- what stages use -------------------------------------------------------------------------------------------------------

say() { printf -- '-- %s\n' "$*"; }
# result TEXT: writes the stage's line of the summary.
result() { printf '%s\n' "$*" >"$out/logs/$stage.result"; }
fail() { printf 'FAILED: %s\n' "$*"; result "$*"; exit 1; }
cannot() { printf 'CANNOT RUN: %s\n' "$*"; result "cannot run: $*"; exit 77; }
# leave_out WHY: ends a stage that the emulator does not support.
leave_out() { printf 'LEFT OUT: %s\n' "$*"; result "$*"; exit 78; }
# run CODE COMMAND...: runs it and expects this exit code; writes its output to the log and to the file $said.
run() {
  local expected=$1 code=0
  shift
  printf '$%s\n' "$(printf ' %q' "$@")"
  "$@" >"$said" 2>&1 || code=$?
  cat "$said"
  [ "$code" -eq "$expected" ] || fail "exit code $code instead of $expected: $* ($(tail -n 1 "$said"))"
}
on_emulator() { [[ $gpu == emu:* ]]; }
device_kind() { if on_emulator; then echo emu; else echo cuda; fi; }
# all_of "0" 4: the same device four times, for replicas on one GPU.
all_of() { local ids=$1 i; for ((i = 1; i < $2; ++i)); do ids+=,$1; done; echo "$ids"; }

# Names the folders of the wheels' libraries where the loader has no cuDNN or NCCL of its own.
find_libraries() {
  local folders
  if ! libraries_missing; then return; fi
  if [ -e /usr/local/cuda/lib64/libcudnn.so.9 ]; then
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
    if ! libraries_missing; then return; fi
  fi
  folders=$("$python" -c 'import nvidia, glob
print(":".join(sorted({d for p in nvidia.__path__ for d in glob.glob(p + "/*/lib")})))' 2>/dev/null) || return 0
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders
}
libraries_missing() { ! on_loader_path libcudnn.so.9 || ! on_loader_path libnccl.so.2; }
on_loader_path() {
  local folder folders
  IFS=: read -r -a folders <<<"${LD_LIBRARY_PATH:-}"
  for folder in "${folders[@]}" "$here" "$here/lib"; do
    [ -n "$folder" ] && [ -e "$folder/$1" ] && return 0
  done
  # Not grep -q: it would end before ldconfig does, which the pipe then reports as a failure.
  { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -F "$1" >/dev/null
}

# --- arguments ---------------------------------------------------------------------------------------------------------------

task='' stage='' out='' gpu=0 python=python3 minutes='' only='' precision='' quick=no
while [ $# -gt 0 ]; do
  case $1 in
    correctness | performance | sanitizer) task=$1 ;;
    --out) out=${2:?--out needs a folder}; shift ;;
    --gpu) gpu=${2:?--gpu needs an id}; shift ;;
    --python) python=${2:?--python needs an interpreter}; shift ;;
    --minutes) minutes=${2:?--minutes needs a number}; shift ;;
    --only) only=${2:?--only needs names of stages}; shift ;;
    --precision) precision=${2:?--precision needs bf16, tf32 or fp32}; shift ;;
    --quick) quick=yes ;;
    --stage) stage=${2:?}; shift ;;   # one stage in this process: how the script calls itself
    -h | --help) usage; exit 0 ;;
    *) refuse "unknown argument '$1' (--help lists them)" ;;
  esac
  shift
done
[ -n "$task" ] || { usage >&2; exit 2; }
[ -x "$here/dptrain" ] || refuse "no dptrain next to $here/check.sh: make a bundle with scripts/gpu/pack.sh, unpack it, and run its check.sh"
dptrain=$here/dptrain
out=${out:-check-$task}
mkdir -p "$out/logs" || refuse "cannot write into $out"
out=$(cd "$out" && pwd)

# shellcheck source=scripts/gpu/correctness.bash
. "$here/correctness.bash"
# shellcheck source=scripts/gpu/performance.bash
. "$here/performance.bash"
# shellcheck source=scripts/gpu/sanitizer.bash
. "$here/sanitizer.bash"
if [ -n "$stage" ]; then
  said=$out/logs/$stage.said
  trap 'rm -f "$said"' EXIT
  cd "$out" || exit 1
  "stage_$stage"
  exit
fi

# --- all stages --------------------------------------------------------------------------------------------------------------

find_libraries
export DPTRAIN_TEST_DATA=$here/tests XDG_CACHE_HOME=$out/cache LC_ALL=C NO_COLOR=1
mkdir -p "$XDG_CACHE_HOME"

case $task in
  correctness) stages=("${correctness_stages[@]}") seconds=$((${minutes:-9} * 60)) ;;
  performance) stages=("${performance_stages[@]}") seconds=$((${minutes:-10} * 60)) ;;
  sanitizer) stages=("${sanitizer_stages[@]}") seconds=$((${minutes:-10} * 60)) ;;
esac

lines=() failed=0
# note STATE NAME SECONDS TEXT
note() { lines+=("$(printf '%-9s %-14s %4s s  %s' "$@")"); printf '%s\n' "${lines[-1]}"; }

# perform NAME LIMIT NEED: required; optional: may be missing or stop at its limit; partial: may stop at its limit with a
# result; always: required, whatever time is left
perform() {
  local name=$1 limit=$2 need=$3 start=$SECONDS code=0 text state
  local left=$((seconds - SECONDS))
  rm -f "$out/logs/$name.result"
  [ "$need" != always ] || left=$limit
  if [ $left -lt 5 ]; then
    code=77 text="not run: the time for all stages, $seconds s, is used up (--minutes N gives more)"
  else
    [ "$limit" -le $left ] || limit=$left
    if on_emulator; then limit=$((4 * limit)); fi
    local again=("$BASH" "$here/check.sh" "$task" --stage "$name" --out "$out" --gpu "$gpu" --python "$python")
    [ $quick = no ] || again+=(--quick)
    [ -z "$only" ] || again+=(--only "$only")
    [ -z "$precision" ] || again+=(--precision "$precision")
    timeout --kill-after=10 "$limit" "${again[@]}" >"$out/logs/$name.log" 2>&1 || code=$?
    text=$(cat "$out/logs/$name.result" 2>/dev/null || tail -n 1 "$out/logs/$name.log")
    if [ $code -eq 124 ] || [ $code -eq 137 ]; then text="stopped after its $limit s; so far: $text"; fi
  fi
  case $code-$need in
    0-*) state=ok ;;
    77-optional | 78-*) state='left-out' ;;
    124-optional | 137-optional) state=in-part ;;
    124-partial | 137-partial) if [[ -e $out/logs/$name.result && $text != *"errors in "* ]]; then state=in-part; else state=FAILED failed=$((failed + 1)); fi ;;
    *) state=FAILED failed=$((failed + 1)) ;;
  esac
  note $state "$name" $((SECONDS - start)) "$text"
}

echo "check $task of $("$dptrain" --version 2>&1 | head -n 1) on $gpu, results in $out"
for entry in "${stages[@]}"; do
  read -r name limit need <<<"$entry"
  if [ -z "$only" ] || [[ ,$only, == *,$name,* ]]; then perform "$name" "$limit" "$need"; fi
done
[ ${#lines[@]} -gt 0 ] || refuse "--only $only names no stage of $task"

verdict="$task: ${#lines[@]} stages, $failed failed, $SECONDS s"
{
  echo "$(date -u '+%F %T') UTC, $("$dptrain" --version 2>&1 | head -n 1)"
  [ ! -e "$out/machine.txt" ] || cat "$out/machine.txt"
  [ ! -e "$out/table.md" ] || { echo; cat "$out/table.md"; echo; }
  printf '%s\n' "${lines[@]}" "$verdict"
} >"$out/summary.txt"
printf '\n== Summary (%s)\n' "$out/summary.txt"
cat "$out/summary.txt"
[ $failed -eq 0 ]
