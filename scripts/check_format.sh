#!/usr/bin/env bash
# Checks that all C++ and CUDA sources follow .clang-format. Versions of clang-format differ, so one is pinned.
#
#   scripts/check_format.sh                  list files that differ; exit 1 if there are any, 77 without clang-format 14
#   scripts/check_format.sh --since STAMP    only files that have changed since the last run with this stamp passed
#   scripts/check_format.sh --fix            format them

set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v clang-format-14 >/dev/null; then
  echo "check_format: clang-format-14 is missing (package clang-format-14)" >&2
  exit 77
fi
sources() { find src kernels tests -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) "$@" -print0; }
check() {
  sources "$@" | xargs -0 -r clang-format-14 --dry-run -Werror --ferror-limit=1 || {
    echo "check_format: scripts/check_format.sh --fix formats them" >&2
    exit 1
  }
}
case ${1:-} in
  --fix) sources | xargs -0 clang-format-14 -i ;;
  --since)
    stamp=${2:?--since needs a file}
    newer=()
    if [ -e "$stamp" ] && [ "$stamp" -nt .clang-format ]; then newer=(-newer "$stamp"); fi
    touch "$stamp.new"
    check "${newer[@]}"
    mv "$stamp.new" "$stamp"
    ;;
  "") check ;;
  *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
