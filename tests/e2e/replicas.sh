#!/usr/bin/env bash
# 1, 2, 3 and 7 replicas reach the same loss after 20 steps of configs/fashion_mnist.yaml: to 1e-5 relative with SGD, to
# 1e-4 with Adam, which amplifies rounding where gradients vanish. A batch of 512 on three replicas is 171 + 171 + 170.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

config=$DPTRAIN_SOURCE/configs/fashion_mnist.yaml
packaged=/usr/share/datasets/fashion-mnist
data=()
if [ -e "$DPTRAIN_SOURCE/datasets/fashion-mnist/train-images-idx3-ubyte.gz" ]; then
  say "Fashion-MNIST of datasets/"
elif [ -e $packaged/train-images-idx3-ubyte.gz ]; then
  say "Fashion-MNIST of $packaged"
  for part in train:train validation:t10k; do
    set="data.${part%:*}.IDX" prefix=$packaged/${part#*:}
    data+=(--set "$set.inputs=$prefix-images-idx3-ubyte.gz" --set "$set.labels=$prefix-labels-idx1-ubyte.gz")
  done
else
  say "generated images: Fashion-MNIST is not here"
  python3 "$support" idx . --train 2600 --test 200 --side 28
  for part in train:train validation:t10k; do
    set="data.${part%:*}.IDX" prefix=$work/${part#*:}
    data+=(--set "$set.inputs=$prefix-images-idx3-ubyte" --set "$set.labels=$prefix-labels-idx1-ubyte")
  done
fi

# compare NAME TOLERANCE FLAG...: the loss after 20 steps is the one of train.csv, the mean over the samples so far.
compare() {
  local name=$1 tolerance=$2 cpus
  shift 2
  for cpus in 1 2 3 7; do
    run 0 fit "$config" "${data[@]}" --cpus "${cpus}x1" --steps 20 --log-every '1 step' --run-dir "$name-$cpus" "$@"
    loss[cpus]=$(column "$name-$cpus/train.csv" loss)
    say "$name on $cpus replicas: ${loss[cpus]}; the last step alone $(column "$name-$cpus/steps.csv" loss | tail -n 1)"
  done
  for cpus in 2 3 7; do
    close "$tolerance" "${loss[cpus]}" "${loss[1]}" || fail "$name on $cpus replicas: the loss is not within $tolerance of ${loss[1]}"
  done
  first=$(column "$name-1/steps.csv" loss | head -n 1) last=$(column "$name-1/steps.csv" loss | tail -n 1)
  awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a) }' || fail "$name: the loss went from $first to $last"
}

compare sgd 1e-5 --set train.optimizer=SGD
compare adam 1e-4

say "512 on three replicas"
run 0 fit "$config" "${data[@]}" --cpus 3x1 --batch-size 512 --steps 2 --run-dir three
says "512 global = 171 + 171 + 170"
run 0 fit "$config" "${data[@]}" --cpus 3x1 --batch-size 512 --split 2:1:0 --steps 2 --run-dir uneven
says "512 global = 341 + 171 + 0"
run 0 fit "$config" "${data[@]}" --cpus 1x1 --batch-size 512 --steps 2 --run-dir one
for folder in three uneven; do
  a=$(column $folder/train.csv loss) b=$(column one/train.csv loss)
  close 1e-5 "$a" "$b" || fail "$folder: the loss is $a, on one replica $b"
done

say "verify, layer by layer"
run 0 verify "$config" "${data[@]}" --cpus 3x1 --batch-size 100 --steps 3
says "verified: every difference is within 1.0e-05"
run 7 verify "$config" "${data[@]}" --cpus 3x1 --batch-size 100 --steps 1 --tol 1e-12
says "FAILED"
