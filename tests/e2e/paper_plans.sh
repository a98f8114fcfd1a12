# Every shipped config gets a plan for an H200 that is not there: an engine of cuDNN's for every pass of every convolution
# and dense layer, repeating its bits and within the workspace limit, in TF32, strict float32 and bfloat16.
. "$(dirname "$0")/lib.bash"

"$DPTRAIN" summary "$DPTRAIN_SOURCE/configs/mnist_mlp.yaml" --plan --gpus h200 >out 2>&1 ||
  { grep -Eq 'no GPU backend|libcudnn' out && skip "$(tail -n 1 out)" || fail "summary --plan --gpus h200"; }

plans=0
for config in $(find "$DPTRAIN_SOURCE/configs" -name '*.yaml' -not -path '*/networks/*' | sort); do
  for mode in runtime.tf32=true runtime.tf32=false train.dtype_policy=mixed_bfloat16; do
    "$DPTRAIN" summary "$config" --plan --gpus h200 --set $mode --set model.weights=null >out 2>&1 || fail "$config, $mode"
    [ "$(grep -c 'forward cudnn' out)" -eq "$(grep -cE '^ *[0-9]+ .* (Conv2D|SeparableConv2D|Dense)' out)" ] ||
      fail "$config, $mode: not every convolution and dense layer has an engine"
    plans=$((plans + 1))
  done
done
say "$plans plans"
[ $plans -ge 27 ] || fail "expected the plans of nine configs at least"
