#!/usr/bin/env bash
# 1, 2, 3 and 7 replicas give the same losses with SGD and with Adam. The network of configs/fashion_mnist.yaml does for
# its first steps: about once in thirty steps, rounding changes the side of a ReLU or a pool's maximum, and differences
# then grow. With tanh and mean pools, losses agree for any number of steps. `verify` compares layer by layer. A batch
# of 512 on three replicas is 171 + 171 + 170. With virtual shards, weights, optimizer and tables have the same bits.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

config=$DPTRAIN_SOURCE/configs/fashion_mnist.yaml
python3 "$support" idx . 660 60 28
data=()
for part in train:train validation:t10k; do
  set="data.${part%:*}.IDX" prefix=$work/${part#*:}
  data+=(--set "$set.inputs=$prefix-images-idx3-ubyte" --set "$set.labels=$prefix-labels-idx1-ubyte")
done
fit() { run 0 fit "$@" "${data[@]}" --log-every '1 step'; }
losses() { column "$1/steps.csv" loss; }

# agree TOLERANCE STEPS A B: compares the losses of the steps of two runs; prints the largest difference.
agree() {
  local found
  [ "$(losses "$4" | wc -l)" -ge "$2" ] || fail "$4 has not $2 steps"
  found=$(paste -d ' ' <(losses "$3" | head -n "$2") <(losses "$4" | head -n "$2") |
    awk 'NF != 2 || $1 $2 !~ /^[-+.0-9e]+$/ { bad = 1; exit }
      { d = $1 / $2 - 1; if (d < 0) d = -d; if (d > most) most = d }
      END { print bad ? "no numbers" : most + 0 }')
  say "$4: within $found over $2 steps"
  { [[ $found =~ ^[0-9.]+(e-?[0-9]+)?$ ]] && awk -v a="$found" -v b="$1" 'BEGIN { exit !(a <= b) }'; } ||
    fail "the losses of $3 and $4 differ by $found, more than $1"
}

# compare NAME FLAG...
compare() {
  local name=$1 cpus first last
  shift
  fit "$config" --cpus 1x1 --batch-size 32 --steps 20 --run-dir "$name-1" "$@"
  first=$(losses "$name-1" | head -n 1) last=$(losses "$name-1" | tail -n 1)
  say "$name-1: from $first to $last"
  awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < 0.95 * a) }' || fail "$name: the loss went from $first to $last"
  fit smooth.yaml --cpus 1x1 --batch-size 32 --steps 20 --run-dir "$name-smooth-1" "$@"
  for cpus in 2 3 7; do
    fit "$config" --cpus "${cpus}x1" --batch-size 32 --steps 3 --run-dir "$name-$cpus" "$@"
    agree 1e-5 3 "$name-1" "$name-$cpus"
    fit smooth.yaml --cpus "${cpus}x1" --batch-size 32 --steps 20 --run-dir "$name-smooth-$cpus" "$@"
    agree 1e-6 20 "$name-smooth-1" "$name-smooth-$cpus"
  done
}
sed 's/activation: relu/activation: tanh/; s/MaxPooling2D/AveragePooling2D/' "$config" >smooth.yaml
compare sgd --set 'train.optimizer={SGD: {learning_rate: 0.05, momentum: 0.9}}'
compare adam

say "512 on three replicas"
fit "$config" --cpus 3x1 --batch-size 512 --steps 2 --run-dir three
says "512 samples = 171 + 171 + 170"
fit "$config" --cpus 3x1 --batch-size 512 --split 2:1:0 --steps 2 --run-dir uneven
says "512 samples = 341 + 171 + 0"
fit "$config" --cpus 1x1 --batch-size 512 --steps 2 --run-dir one
for folder in three uneven; do agree 1e-5 2 one $folder; done

say "verify, layer by layer"
run 0 verify "$config" "${data[@]}" --cpus 3x1 --batch-size 40 --steps 3
says "verified: every difference is within 1.0e-05"
run 7 verify "$config" "${data[@]}" --cpus 3x1 --batch-size 40 --steps 1 --tol 1e-12
says "FAILED"

say "virtual shards: the same bits"
# without the last columns, which are times
table() { cut -d, -f1-6 "$1/train.csv"; }
same_bits() {
  run 0 ckpt diff "$1/checkpoints/last.h5" "$2/checkpoints/last.h5"
  [ "$(table "$1")" = "$(table "$2")" ] || fail "$1/train.csv and $2/train.csv differ"
}
shards=(--set parallel.virtual_shards=8 --batch-size 52 --epochs 2)
fit "$config" "${shards[@]}" --cpus 1x1 --run-dir shards-1
[ "$(head -n 1 shards-1/train.csv)" = epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds ] || fail "columns"
for cpus in 1x2 2x1 4x1 8x1; do
  fit "$config" "${shards[@]}" --cpus $cpus --run-dir "shards-$cpus"
  same_bits shards-1 "shards-$cpus"
done
fit "$config" "${shards[@]}" --cpus 4x1 --steps 5 --run-dir stopped
fit "$config" "${shards[@]}" --cpus 2x1 --run-dir moved --resume=stopped/checkpoints/last.h5
same_bits shards-1 moved
run 0 verify "$config" "${data[@]}" --set parallel.virtual_shards=8 --cpus 4x1 --batch-size 40 --steps 3 --tol 0
run 2 fit "$config" "${data[@]}" "${shards[@]}" --cpus 3x1
says "parallel.virtual_shards: 8 needs 1, 2, 4 or 8 replicas, found 3"
