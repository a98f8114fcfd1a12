#!/usr/bin/env bash
# Checkpoints of another model or optimizer, damaged ones and other files: exit 8 and the reason.
# Sanitized: truncated, damaged and foreign checkpoints through every command.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

small_data
small_config >small.yaml
sed 's/filters: 6/filters: 5/' small.yaml >wider.yaml
sed 's/name: classes, units: 10/name: digits, units: 10/' small.yaml >renamed.yaml
sed 's/SGD: {learning_rate: 0.05, momentum: 0.9, use_ema: true}/Adam: 0.001/' small.yaml >adam.yaml

run 0 fit small.yaml --cpus 1x1 --steps 3 --run-dir run
last=run/checkpoints/last.h5

say "another model"
for flag in "--resume=$last" "--init-from $last"; do
  # shellcheck disable=SC2086  # words
  run 8 fit wider.yaml --cpus 1x1 --run-dir none $flag
  says "is a checkpoint of another model"
  says "layer 'conv' kernel is 3x3x1x6 in the file, 3x3x1x5 in the model"
  says "layer 'norm' gamma is 6 in the file, 5 in the model"
done
run 8 fit renamed.yaml --cpus 1x1 --run-dir none "--resume=$last"
says "layer 'digits' is not in the file"
says "layer 'classes' of the file is not in the model"
run 8 eval wider.yaml --weights $last
says "is a checkpoint of another model"
[ ! -e none ] || fail "a run directory was made"

say "another optimizer"
run 8 fit adam.yaml --cpus 1x1 --run-dir adam "--resume=$last"
says "the checkpoint has no optimizer state"
says "--init-from"
rm -rf adam
run 0 fit adam.yaml --cpus 1x1 --run-dir adam --init-from $last --steps 1

say "another data set"
mkdir fewer && python3 "$support" idx fewer/data 90 30 12
cp small.yaml fewer/
run 8 fit fewer/small.yaml --cpus 1x1 --run-dir less "--resume=$last"
says "the checkpoint was trained on 600 samples per epoch, the data set has 90"

say "weights without a training state"
run 8 fit small.yaml --run-dir none "--resume=run/model.h5"
says "--init-from"
run 0 eval small.yaml --weights run/model.h5 --output .
run 0 fit small.yaml --cpus 1x1 --run-dir from-weights --init-from run/model.h5 --steps 1

# no_checkpoint FILE TEXT: every command that reads a checkpoint rejects the file with a reason.
no_checkpoint() {
  say "$1"
  run 8 ckpt show "$1"
  says "$2"
  run 8 ckpt diff $last "$1"
  run 8 fit small.yaml --run-dir none "--resume=$1"
  says "$2"
  run 8 fit small.yaml --run-dir none --init-from "$1"
  says "$2"
  run 8 eval "$1"
  says "$2"
  run 8 eval small.yaml --weights "$1"
  says "$2"
  run 8 predict "$1" --input data/t10k-images-idx3-ubyte
  says "$2"
}
head -c 1000 $last >cut.h5
no_checkpoint cut.h5 "it is cut off, 1000 bytes of"
cp $last damaged.h5
python3 "$support" flip damaged.h5 $(($(stat -c %s $last) / 2))
no_checkpoint damaged.h5 "is damaged"
: >empty.h5
no_checkpoint empty.h5 "empty.h5"
echo "These are not the weights" >text.h5
no_checkpoint text.h5 "text.h5"
no_checkpoint missing.h5 "missing.h5"

say "nothing was lost"
run 0 ckpt show $last
says "checksum good"
run 0 ckpt diff $last $last
