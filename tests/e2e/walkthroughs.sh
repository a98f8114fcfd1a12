#!/usr/bin/env bash
# A page of the documentation as its reader follows it: walkthroughs.sh PAGE, from docs/. What the page shows must be what is
# printed. ctest has a test for each page of docs/guide, and one for docs/reference/errors.md.
# Why a script: commands, shell and screen together are what a reader has.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
if [ "${DPTRAIN_WALKTHROUGH_GPUS:-0}" = 1 ]; then unset CUDA_VISIBLE_DEVICES; fi

if [ "$1" = --self-test ]; then
  python3 "$DPTRAIN_SOURCE/tests/e2e/walkthrough.py" --self-test || fail "walkthrough.py --self-test"
else
  python3 "$DPTRAIN_SOURCE/tests/e2e/walkthrough.py" "$DPTRAIN_SOURCE/docs/$1" "$work" || fail "docs/$1"
fi
