#!/usr/bin/env bash
# A replica of several slots gives the bits of one with one slot, on threads and on emulated GPUs, also if a run changes
# from one to the other.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

cat >branches.yaml <<'YAML'
dptrain: 1
name: branches
seed: 3
model:
  shared: {encoder: {LSTM: {units: 6, dropout: 0.2}}}
  layers:
    - Input: {name: left, shape: [5, 3]}
    - Input: {name: right, shape: [5, 3]}
    - encoder: {name: of_left, inputs: left, device: a}
    - encoder: {name: of_right, inputs: right, device: b}
    - Concatenate: {name: both, inputs: [of_left, of_right], device: cpu}
    - Dense: {name: same, units: 1, activation: sigmoid}
data:
  train: {Synthetic: {samples: 90}}
  validation: {Split: {of: train, fraction: 0.2}}
train: {epochs: 2, batch_size: 16, optimizer: adam, loss: binary_crossentropy, metrics: [accuracy], log_every: 1 step}
YAML
fit() { run 0 fit branches.yaml "$@"; }
same() {
  run 0 ckpt diff "$1/checkpoints/last.h5" "$2/checkpoints/last.h5"
  cmp <(column "$1/steps.csv" loss) <(column "$2/steps.csv" loss) || fail "the losses of $1 and $2 differ"
}

say "one slot, two and three of a CPU"
fit --cpus 1x1 --run-dir one
says "slots    a, b, cpu on cpu:0 (fewer devices than slots)"
fit --cpus 1+1 --run-dir two
says "slots    a, cpu on cpu:0; b on cpu:1"
same one two
fit --cpus 1+1+1 --run-dir three
same one three
fit --cpus 1+1 --slots b=0,a=1 --run-dir turned
says "slots    b, cpu on cpu:0; a on cpu:1"
same one turned

say "replicas of two slots"
fit --cpus 2x1 --run-dir replicas
fit --cpus 2x1+1 --run-dir groups
same replicas groups

say "emulated GPUs"
fit --gpus emu:0 --run-dir emu-one
fit --gpus emu:0,emu:1 --run-dir emu-two --verbose
says "slots    a, cpu on emu:0; b on emu:1"
says "replica 0: peer access between emu:0 and emu:1"
same emu-one emu-two
fit --gpus emu:0,emu:0 --run-dir emu-twice
same emu-one emu-twice
fit --gpus emu:0+emu:1,emu:2+emu:3 --run-dir emu-groups
fit --gpus emu:0,emu:1 --slots a=0,b=0 --run-dir emu-replicas
same emu-groups emu-replicas

say "a checkpoint is independent of slots"
fit --cpus 1+1 --run-dir changed --steps 3
fit --cpus 1x1 --run-dir changed --resume --steps 7
fit --cpus 1+1+1 --run-dir changed --resume
same one changed
run 0 eval two --cpus 1+1
cp out two.out
run 0 eval two --cpus 1
says "loss: 0."
cmp <(grep loss out) <(grep loss two.out) || fail "eval differs"

say "a frozen prefix that is cached leaves a slot with nothing to do"
frozen=(--set 'model.freeze=[encoder]' --set model.shared.encoder.LSTM.dropout=0 --set runtime.cache_frozen_prefix=memory)
fit --cpus 1x1 --run-dir frozen-one "${frozen[@]}"
fit --cpus 1+1 --run-dir frozen-two "${frozen[@]}"
same frozen-one frozen-two

say "mismatches"
run 2 fit branches.yaml --cpus 1+1+1+1 --run-dir none
says "4 devices for each replica, but the model has 3 slots (a, b, cpu)"
run 2 fit branches.yaml --gpus emu:0,emu:1,emu:2 --run-dir none
says "3 GPUs cannot be divided into replicas of 2 each"
run 2 fit branches.yaml --cpus 1+1 --slots c=1 --run-dir none
says "--slots: no step has 'device: c'"
run 0 summary branches.yaml --plan --cpus 1+1
says "copy from b"
says "copy of d of_right (part) from a"
