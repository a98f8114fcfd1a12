#!/usr/bin/env bash
# Proves that real Keras opens what dptrain writes: Keras 2 (tensorflow-cpu 2.15.1) and the current Keras 3, from PyPI in
# throw-away virtual environments. Each opens every file, predicts, compares with dptrain and continues training.
#
#   scripts/interop/check_keras.sh [OPTION]... FILE.h5...
#
#   --input FILE          images to predict: IDX or .npy, .gz or not (random ones)
#   --labels FILE         their labels (made up)
#   --dptrain PROGRAM     compare with the probabilities that this dptrain predicts; needs --input
#   --scale S             what the images are multiplied by before the model (1/255)
#   --samples N           how many of them (256)
#   --tolerance T         largest difference of a probability (1e-5)
#   --environments DIR    keep the virtual environments here, and use those that are here (a temporary folder)
#   --only 2|3            one of the two worlds alone
#
# Exit 1 if anything fails, 2 for a wrong command line or a Python that will not do.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }
fail() { echo "check_keras: $1" >&2; exit "${2:-2}"; }

dptrain='' input='' environments='' only='2 3'
pass_on=()
files=()
while [ $# -gt 0 ]; do
  case $1 in
    --input) input=${2:?--input needs a file}; pass_on+=("$1" "$2"); shift ;;
    --dptrain) dptrain=${2:?--dptrain needs a program}; shift ;;
    --labels | --scale | --samples | --tolerance) pass_on+=("$1" "${2:?$1 needs a value}"); shift ;;
    --environments) environments=${2:?--environments needs a folder}; shift ;;
    --only) only=${2:?--only needs 2 or 3}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "check_keras: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
    *) files+=("$1") ;;
  esac
  shift
done
[ ${#files[@]} -gt 0 ] || { usage >&2; exit 2; }
[ -z "$dptrain" ] || [ -n "$input" ] || fail "--dptrain needs --input"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
environments=${environments:-$work}

# The first of the named Pythons that is here and has the version: python_of 3.9 3.11
python_of() {
  local candidate
  for candidate in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    if "$candidate" -c "import sys, venv, ensurepip
low, high = (tuple(map(int, text.split('.'))) for text in ('$1', '$2'))
sys.exit(not low <= sys.version_info[:2] <= high)" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "needs a Python $1 to $2 with venv (apt-get install python3-venv)"
}

# environment NAME REQUIREMENT LOWEST HIGHEST: makes it unless it is there.
environment() {
  local folder=$environments/$1 python
  if [ -x "$folder/bin/python" ] && "$folder/bin/python" -c 'import tensorflow' 2>/dev/null; then return; fi
  python=$(python_of "$3" "$4")
  echo "== $2 into $folder"
  "$python" -m venv --clear "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$2"
}

result=0
for world in $only; do
  case $world in
    2) environment keras2 tensorflow-cpu==2.15.1 3.9 3.11 ;;
    3) environment keras3 tensorflow-cpu 3.10 3.13 ;;
    *) fail "--only takes 2 or 3, found '$world'" ;;
  esac
  for file in "${files[@]}"; do
    compare=()
    if [ -n "$dptrain" ]; then
      "$dptrain" predict "$file" --input "$input" --probabilities --output "$work/predictions.csv" >"$work/predict.log" 2>&1 ||
        { cat "$work/predict.log" >&2; fail "dptrain predict failed" 1; }
      compare=(--predictions "$work/predictions.csv")
    fi
    "$environments/keras$world/bin/python" "$here/check_keras.py" "$file" "${pass_on[@]}" "${compare[@]}" 2>"$work/stderr" ||
      { result=1; tail -n 20 "$work/stderr" >&2; echo "check_keras: $file FAILED in Keras $world" >&2; }
  done
done
[ $result -eq 0 ] && echo "check_keras: ${#files[@]} files, Keras $only: good"
exit $result
