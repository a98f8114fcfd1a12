#!/usr/bin/env bash
# Every shipped config has a plan for an H200 on a machine without one: a cuDNN engine for every pass of every
# convolution, dense layer, attention projection, and product of inputs or state in a recurrent layer, deterministic and
# within the workspace limit, in TF32, strict float32 and bfloat16.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

modes="runtime.tf32=true runtime.tf32=false train.dtype_policy=mixed_bfloat16"
# planned CONFIG [PATTERN LINES]...: this number of lines of the plan matches, in every mode.
planned() {
  local config=$1 checks=("${@:2}") mode i
  for mode in $modes; do
    run 0 summary "$config" --plan --gpus h200 --set $mode
    for ((i = 0; i < ${#checks[@]}; i += 2)); do
      [ "$(grep -c "${checks[i]}" out)" -eq "${checks[i + 1]}" ] ||
        fail "$config, $mode: $(grep -c "${checks[i]}" out) lines with '${checks[i]}' instead of ${checks[i + 1]}"
    done
  done
}

plans=0
while read -r config; do
  for mode in $modes; do
    code=0
    "$DPTRAIN" summary "$config" --plan --gpus h200 --set $mode --set model.weights=null >out 2>&1 || code=$?
    if [ $code -ne 0 ] && [ $plans -eq 0 ] && grep -Eq 'no GPU backend|libcudnn' out; then skip "$(tail -n 1 out)"; fi
    [ $code -eq 0 ] || fail "$config, $mode: exit $code"
    [ "$(grep 'forward cudnn' out | grep -vc 'state forward cudnn')" -eq "$(grep -cE '^ *[0-9]+ .* (Conv2D|Conv3D|SeparableConv2D|Dense|MultiHeadAttention)' out)" ] ||
      fail "$config, $mode: not every convolution and dense layer has an engine"
    [ "$(grep -c 'inputs forward cudnn.*state forward cudnn' out)" -eq "$(grep -cE '^ *[0-9]+ .* (LSTM|GRU|SimpleRNN|Bidirectional|ConvLSTM2D) ' out)" ] ||
      fail "$config, $mode: not every recurrent layer has its engines"
    plans=$((plans + 1))
  done
done < <(find "$DPTRAIN_SOURCE/configs" -name '*.yaml' -not -path '*/networks/*' | sort)
say "$plans plans"
[ $plans -ge 27 ] || fail "expected the plans of nine configs at least"

say "layers over steps, and one that keeps numbers of its own"
cat >steps.yaml <<'Y'
dptrain: 1
model:
  layers:
    - Input: [24, 4]
    - Normalization: {mean: [0, 1, 2, 3], variance: [1, 2, 3, 4]}
    - Conv1D: {filters: 6, kernel_size: 3, padding: causal, dilation_rate: 2, groups: 2, activation: relu}
    - SeparableConv1D: {filters: 8, kernel_size: 3, padding: same}
    - Conv1DTranspose: {filters: 4, kernel_size: 3, strides: 2}
    - GlobalMaxPooling1D: {}
    - Dense: 3
data: {train: {Synthetic: {samples: 16}}}
train: {epochs: 1, batch_size: 8, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
Y
planned steps.yaml 'forward cudnn' 4

say "recurrent layers"
cat >recurrent.yaml <<'Y'
dptrain: 1
model:
  layers:
    - Input: [6, 12, 10, 4]
    - ConvLSTM2D: {filters: 8, kernel_size: 3, return_sequences: true, recurrent_dropout: 0.1}
    - TimeDistributed: {Conv2D: {filters: 8, kernel_size: 3}}
    - TimeDistributed: GlobalAveragePooling2D
    - Bidirectional: {GRU: {units: 6, return_sequences: true}}
    - SimpleRNN: {units: 5, return_sequences: true}
    - LSTM: {units: 8, recurrent_dropout: 0.1}
    - Dense: 3
data: {train: {Synthetic: {samples: 16}}}
train: {epochs: 1, batch_size: 8, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
Y
planned recurrent.yaml 'inputs forward cudnn.*state forward cudnn' 4 'forward cudnn' 6

say "layers over volumes"
cat >volumes.yaml <<'Y'
dptrain: 1
model:
  layers:
    - Input: [5, 12, 10, 4]
    - Conv3D: {filters: 8, kernel_size: 3, padding: same, activation: relu}
    - MaxPooling3D: [1, 2, 2]
    - Conv3D: {filters: 8, kernel_size: [2, 3, 3], strides: 2, groups: 2}
    - Conv3DTranspose: {filters: 6, kernel_size: [2, 3, 3], strides: [1, 2, 2], padding: same}
    - GlobalMaxPooling3D
    - Dense: 3
data: {train: {Synthetic: {samples: 16}}}
train: {epochs: 1, batch_size: 8, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
Y
planned volumes.yaml 'forward cudnn' 4

say "attention in cuDNN"
transformer=(summary "$DPTRAIN_SOURCE/configs/bench/transformer.yaml" --plan --gpus h100 --set runtime.cudnn_attention=true)
run 0 "${transformer[@]}"
[ "$(grep -c '; attention own kernels: float32' out)" -eq 4 ] || fail "the plan does not give the reason for the kernels"
# cuDNN requires libcuda: the driver's, or the stub of the toolkit.
stub=$(echo "${CUDA_HOME:-/usr/local/cuda}"/lib64/stubs/libcuda.so)
[ ! -e "$stub" ] || export LD_PRELOAD=$stub
run 0 "${transformer[@]}" --set train.dtype_policy=mixed_bfloat16
unset LD_PRELOAD
grep -q 'attention own kernels: cuDNN plans it only where libcuda.so.1 is installed' out ||
  [ "$(grep -c '; attention cudnn forward eng.*, backward eng' out)" -eq 4 ] || fail "cuDNN does not compute the attention"
