#!/usr/bin/env bash
# Runs a page of the documentation: walkthroughs.sh PAGE, from docs/. The output must equal the page. ctest has a test
# per page of docs/guide, and one for docs/reference/errors.md.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
if [ "${DPTRAIN_WALKTHROUGH_GPUS:-0}" = 1 ]; then unset CUDA_VISIBLE_DEVICES; fi

if [ "$1" = --self-test ]; then
  python3 "$DPTRAIN_SOURCE/tests/e2e/walkthrough.py" --self-test || fail "walkthrough.py --self-test"
else
  python3 "$DPTRAIN_SOURCE/tests/e2e/walkthrough.py" "$DPTRAIN_SOURCE/docs/$1" "$work" || fail "docs/$1"
fi
