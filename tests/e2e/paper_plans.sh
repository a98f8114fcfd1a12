#!/usr/bin/env bash
# Every shipped config gets a plan for an H200 that is not there: an engine of cuDNN's for every pass of every convolution
# and dense layer, repeating its bits and within the workspace limit, in TF32, strict float32 and bfloat16.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

plans=0
while read -r config; do
  for mode in runtime.tf32=true runtime.tf32=false train.dtype_policy=mixed_bfloat16; do
    code=0
    "$DPTRAIN" summary "$config" --plan --gpus h200 --set $mode --set model.weights=null >out 2>&1 || code=$?
    if [ $code -ne 0 ] && [ $plans -eq 0 ] && grep -Eq 'no GPU backend|libcudnn' out; then skip "$(tail -n 1 out)"; fi
    [ $code -eq 0 ] || fail "$config, $mode: exit $code"
    [ "$(grep -c 'forward cudnn' out)" -eq "$(grep -cE '^ *[0-9]+ .* (Conv2D|SeparableConv2D|Dense)' out)" ] ||
      fail "$config, $mode: not every convolution and dense layer has an engine"
    plans=$((plans + 1))
  done
done < <(find "$DPTRAIN_SOURCE/configs" -name '*.yaml' -not -path '*/networks/*' | sort)
say "$plans plans"
[ $plans -ge 27 ] || fail "expected the plans of nine configs at least"
