#!/usr/bin/env bash
# A frozen prefix with cached features trains to the same bits as one that runs in every epoch: on one replica and two,
# stopped and resumed, in memory and in a file. The checkpoint contains the whole network. Also class weights.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

small_data
cat >frozen.yaml <<'YAML'
dptrain: 1
name: frozen
seed: 7
model:
  layers:
    - Input: {shape: [12, 12, 1]}
    - Conv2D: {name: low1, filters: 24, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization: {name: low2}
    - Activation: {name: low3, activation: relu}
    - Conv2D: {name: low4, filters: 24, kernel_size: 3, padding: same, activation: relu}
    - MaxPooling2D: {name: low5, pool_size: 3}
    - Conv2D: {name: high1, filters: 4, kernel_size: 3}
    - BatchNormalization: {name: high2}
    - Flatten
    - Dropout: 0.25
    - Dense: {name: classes, units: 10, activation: softmax}
  freeze: [low*]
data:
  train: {IDX: {inputs: data/train-images-idx3-ubyte, labels: data/train-labels-idx1-ubyte}}
  validation: {IDX: {inputs: data/t10k-images-idx3-ubyte, labels: data/t10k-labels-idx1-ubyte}}
  transforms: [{Rescaling: 1/255}]
train:
  epochs: 2
  batch_size: 32
  optimizer: {SGD: {learning_rate: 0.05, momentum: 0.9, use_ema: true}}
  loss: categorical_crossentropy
  metrics: [accuracy]
  log_every: 1 step
callbacks:
  - ModelCheckpoint: {monitor: val_accuracy, save_best_only: true}
  - CSVLogger
YAML
off="--set runtime.cache_frozen_prefix=off"

for cpus in 1x1 2x1; do
  say "$cpus: with and without the cache"
  run 0 fit frozen.yaml --cpus $cpus --run-dir "whole-$cpus" $off
  silent_on "prefix "
  run 0 fit frozen.yaml --cpus $cpus --run-dir "cached-$cpus"
  says "frozen up to low5 (5 layers, 5,520 weights); features of 720 samples, 4x4x24 each, are computed once and kept in memory, 1.1 MiB"
  says "features of 720 samples in"
  # A checkpoint contains the config of its training, so only the numbers of states are compared.
  for name in epoch loss accuracy val_loss val_accuracy lr; do
    [ "$(column "whole-$cpus/train.csv" $name)" = "$(column "cached-$cpus/train.csv" $name)" ] || fail "$cpus: $name differs"
  done
  cmp -s "whole-$cpus/log.csv" "cached-$cpus/log.csv" || fail "log.csv differs"
  run 0 ckpt diff "whole-$cpus/model.h5" "cached-$cpus/model.h5"
  run 0 ckpt diff "whole-$cpus/checkpoints/last.h5" "cached-$cpus/checkpoints/last.h5"
done

say "stopped inside an epoch and resumed; from cached to not and back"
for first in "" "$off"; do
  rm -rf first
  run 0 fit frozen.yaml --cpus 2x1 --run-dir first --steps 26 $first
  for then in "" "$off"; do
    rm -rf stopped
    cp -r first stopped
    run 0 fit frozen.yaml --cpus 2x1 --run-dir stopped --resume $then
    run 0 ckpt diff whole-2x1/model.h5 stopped/model.h5
    [ "$(column whole-2x1/train.csv val_loss)" = "$(column stopped/train.csv val_loss)" ] || fail "resumed '$first' '$then'"
  done
done

say "the whole network comes out of the checkpoint"
run 0 eval cached-2x1/checkpoints/last.h5 --on validation
cp out cached.txt
run 0 eval whole-2x1/checkpoints/last.h5 --on validation
grep loss cached.txt | head -n 1 >a; grep loss out | head -n 1 >b
cmp -s a b || fail "eval of the two differs: $(cat a) / $(cat b)"

say "in a file, which is removed at the end"
mkdir features
run 0 fit frozen.yaml --cpus 1x1 --run-dir disk --set "runtime.cache_frozen_prefix={disk: $work/features}"
says "kept in $work/features, 1.1 MiB"
run 0 ckpt diff whole-1x1/model.h5 disk/model.h5
[ -z "$(ls -A features)" ] || fail "features has $(ls -A features)"
run 10 fit frozen.yaml --cpus 1x1 --run-dir nowhere --set "runtime.cache_frozen_prefix={disk: $work/none}"
says "none: cannot write features there"

say "on the emulated GPU"
run 0 fit frozen.yaml --gpus emu:0 --run-dir emu-whole --epochs 2 --steps 30 $off --set data.train.IDX.take=64
run 0 fit frozen.yaml --gpus emu:0 --run-dir emu-cached --epochs 2 --steps 30 --set data.train.IDX.take=64
says "computed once and kept in memory"
run 0 ckpt diff emu-whole/model.h5 emu-cached/model.h5

say "where it does not apply: one line, or an error when it was asked for"
run 0 fit frozen.yaml --cpus 1x1 --run-dir random --steps 2 --set "data.transforms={train: [{RandomFlip: horizontal}, {Rescaling: 1/255}], eval: [{Rescaling: 1/255}]}"
says "not cached: data.transforms.train has RandomFlip, which draws again in every epoch"
run 2 fit frozen.yaml --cpus 1x1 --run-dir asked --steps 2 --set runtime.cache_frozen_prefix=memory --set "data.transforms={train: [{RandomFlip: horizontal}, {Rescaling: 1/255}], eval: [{Rescaling: 1/255}]}"
says "runtime.cache_frozen_prefix: data.transforms.train has RandomFlip"
run 0 fit frozen.yaml --cpus 1x1 --run-dir single --epochs 1 --steps 2
says "not cached: the run has no second epoch"

say "class weights: printed, the same on any number of replicas, unknown ones refused"
run 0 fit frozen.yaml --cpus 1x1 --run-dir weighted --steps 2 --set "train.class_weight={'0': 3, '4': 0.5}"
says "classes  of classes: 0 3, 1 1, 2 1, 3 1, 4 0.5"
grep -q "class_weight" weighted/config.resolved.yaml || fail "the resolved config lacks class_weight"
[ "$(column weighted/steps.csv loss | head -n 1)" != "$(column whole-1x1/steps.csv loss | head -n 1)" ] || fail "the weights changed nothing"
run 0 verify frozen.yaml --cpus 3x1 --steps 2 --set "train.class_weight={'0': 3, '4': 0.5}"
run 0 fit frozen.yaml --cpus 1x1 --run-dir balanced --steps 2 --set train.class_weight=balanced
says "classes  balanced: 0 "
run 2 fit frozen.yaml --cpus 1x1 --run-dir unknown --set "train.class_weight={ten: 3}"
says "unknown class 'ten'"
run 2 fit frozen.yaml --cpus 1x1 --run-dir mse --set train.loss=mse --set train.class_weight=balanced
says "class_weight needs one class per sample"

say "a stop while the features are computed saves and resumes"
sed '/filters/s/24/512/' frozen.yaml >slow.yaml  # features that take much longer than a look at a file
start fit slow.yaml --cpus 1x1 --run-dir slow
until_true test -e slow/checkpoints/last.h5  # written before the first batch of them
kill -s INT "$process"
ended_with 130
says "SIGINT: saving and stopping after step 0"
silent_on "features of 720 samples in"
run 0 fit slow.yaml --cpus 1x1 --run-dir slow --resume --steps 1
