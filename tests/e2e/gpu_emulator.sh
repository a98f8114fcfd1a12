#!/usr/bin/env bash
# The GPU path on a machine without a GPU: the emulator runs its code, and a request for a GPU gives one sentence and
# exit code 4.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

config=$DPTRAIN_SOURCE/configs/fashion_mnist.yaml
python3 "$support" idx . 100 30 28
data=()
for part in train:train validation:t10k; do
  set="data.${part%:*}.IDX" prefix=$work/${part#*:}
  data+=(--set "$set.inputs=$prefix-images-idx3-ubyte" --set "$set.labels=$prefix-labels-idx1-ubyte")
done
each=(--batch-size 10 --log-every '1 step')
short=("${each[@]}" --steps 4)
loss_of() { column "$1/train.csv" loss | tail -n 1; }

say "two emulated GPUs train as two CPU replicas do"
run 0 fit "$config" "${data[@]}" "${short[@]}" --cpus 2x1 --run-dir cpu
run 0 fit "$config" "${data[@]}" "${short[@]}" --gpus emu:0,emu:1 --run-dir emu
says "2 replicas: emu:0 "
says "10 samples = 2 x 5"
say "cpu $(loss_of cpu), emu $(loss_of emu)"
close 1e-4 "$(loss_of emu)" "$(loss_of cpu)" || fail "the losses differ"
python3 "$support" json emu/env.json 'len(j["devices"]) == 2' 'j["devices"][1].startswith("emu:1 ")' || fail "env.json"
run 0 fit "$config" "${data[@]}" "${short[@]}" --gpus emu:0,emu:0 --run-dir shared
close 1e-6 "$(loss_of shared)" "$(loss_of emu)" || fail "two replicas on one GPU differ from two on two"

say "batches made on the device are the loader's"
says "input    on the GPU: train resident (76.6 KiB), validation resident (23.0 KiB)"
run 0 fit "$config" "${data[@]}" "${short[@]}" --gpus emu:0,emu:1 --set runtime.resident=off --run-dir loader
if grep -q 'on the GPU' out; then fail "runtime.resident: off"; fi
close 1e-6 "$(loss_of loader)" "$(loss_of emu)" || fail "the losses differ"
augmented=(--set 'data.transforms={train: [RandomFlip: horizontal, RandomCrop: {height: 28, width: 28, padding: 2}, Rescaling: 0.004, RandomContrast: {factor: 0.2, value_range: [0, 1]}], eval: [Rescaling: 0.004]}')
run 0 fit "$config" "${data[@]}" "${short[@]}" "${augmented[@]}" --gpus emu:0,emu:1 --run-dir flips
run 0 fit "$config" "${data[@]}" "${short[@]}" "${augmented[@]}" --cpus 2x1 --run-dir flips_cpu
close 1e-4 "$(loss_of flips)" "$(loss_of flips_cpu)" || fail "the losses differ"

say "the check of devices"
run 0 devices --check --gpus emu:0,emu:1
says "emu:1  GroupNormalization "
says "emu:0, emu:1  BatchNormalization over 2 replicas "
tail -n 1 out | grep -qE '^[0-9]{3} checks passed in ' || fail "the last line"
if grep -q FAILED out; then fail "a check failed"; fi
run 0 devices --check --gpus emu:0 --json
python3 "$support" json out 'j["failed"] == 0' 'len(j["checks"]) > 90' 'all(c["passed"] for c in j["checks"])' || fail "--json"
run 2 devices --gpus emu:0
says "--check"

say "mixed precision"
# mixed POLICY REFERENCE FLOAT32 FLAG...: the loss is near the reference's, and differs from that in float32.
mixed() {
  local policy=$1 reference=$2 float32=$3
  shift 3
  run 0 fit "$config" "${data[@]}" "${short[@]}" --gpus emu:0,emu:1 --set "train.dtype_policy=$policy" --run-dir "$policy" "$@"
  says "; $policy"
  say "$policy $(loss_of "$policy")"
  close 2e-2 "$(loss_of "$policy")" "$(loss_of "$reference")" || fail "$policy: the loss is not near $(loss_of "$reference")"
  [ "$(loss_of "$policy")" != "$(loss_of "$float32")" ] || fail "$policy computes in float32"
}
mixed mixed_bfloat16 cpu emu
mixed mixed_float16 flips_cpu flips "${augmented[@]}"
run 0 ckpt show mixed_float16
run 4 fit "$config" "${data[@]}" "${short[@]}" --cpus 2x1 --set train.dtype_policy=mixed_float16 --run-dir none
says "error: cpu cannot run train.dtype_policy mixed_float16; use float32 or mixed_bfloat16, or a GPU"
[ ! -e none ] || fail "a refused run has left a folder"

say "stop and continue: augmentation draws the same values, and float16 keeps its loss scale"
for more in "--steps 2" "--steps 4 --resume"; do
  # shellcheck disable=SC2086
  run 0 fit "$config" "${data[@]}" "${each[@]}" "${augmented[@]}" --gpus emu:0,emu:1 --set train.dtype_policy=mixed_float16 $more --run-dir half
done
run 0 ckpt diff half mixed_float16

say "the checkpoint of a GPU on the CPU"
run 0 eval emu "${data[@]}" --batch-size 20 --on validation --gpus emu:0 --output eval-emu
run 0 eval emu "${data[@]}" --batch-size 20 --on validation --cpus 1x1 --output eval-cpu
python3 - <<'PY' || fail "eval differs: $(cat eval-*/eval.json)"
import json
emu, cpu = (json.load(open(f"eval-{device}/eval.json")) for device in ("emu", "cpu"))
raise SystemExit(not (abs(emu["loss"] - cpu["loss"]) <= 1e-5 * cpu["loss"] and emu["accuracy"] == cpu["accuracy"]))
PY
run 0 predict emu --input t10k-images-idx3-ubyte --gpus emu:0 --batch-size 7 --output emu.csv
run 0 predict emu --input t10k-images-idx3-ubyte --cpus 1 --output cpu.csv
[ "$(cut -d, -f1,2 emu.csv)" = "$(cut -d, -f1,2 cpu.csv)" ] || fail "predictions differ"
run 4 predict mixed_float16 --input t10k-images-idx3-ubyte --cpus 1
run 0 predict mixed_bfloat16 --input t10k-images-idx3-ubyte --cpus 1 --set train.dtype_policy=float32 --output mixed.csv
has_rows mixed.csv 31 || fail "rows of mixed.csv"

say "verify"
run 0 verify "$config" "${data[@]}" --gpus emu:0,emu:1 --against cpu --batch-size 6 --steps 2
says "verified: every difference is within 1.0e-02 (of the loss 1.0e-04)"
says "emu:0 emulated GPU"
run 0 verify "$config" "${data[@]}" --gpus emu:0,emu:1 --batch-size 6 --steps 2
says "verified: every difference is within 1.0e-05"

say "bench"
run 0 bench "$config" "${data[@]}" --gpus emu:0,emu:1 --sweep gpus=1,2 --batch-size 4 --steps 2 --warmup 1 --repeats 1 --layers --output timing
python3 "$support" json timing/bench-layers.json '[r["devices"] for r in j["rows"]] == ["1 emu", "2 emu"]' 'all(r["device_bytes"] > 1e6 for r in j["rows"])' \
  'len(j["machine"]["devices"]) == 2' || fail "bench-layers.json"
run 2 bench "$config" --gpus emu:0 --sweep gpus=1,2
says "--sweep gpus=2: --gpus names 1"

say "plans"
run 0 summary "$config" --plan --gpus emu:0 --batch-size 64
says "emu:0 emulated GPU"
says "memory of one replica"
says "plan of fashion-mnist, 64 rows"
says "additional memory of the device"
run 0 summary "$config" --plan --gpus emu:0 --set train.dtype_policy=mixed_bfloat16
says "parameters in bfloat16"
run 0 check "$config" --data synthetic --gpus emu:0,emu:1
run 0 devices --json
if python3 "$support" json out 'j["cudnn"] != ""' >/dev/null; then
  say "an H200 on paper, by the cuDNN that is here"
  run 0 summary "$config" --plan --gpus h200 --set train.dtype_policy=mixed_bfloat16
  says "NVIDIA H200, on paper"
  says "launches of a step"
  says "memory of a replica: "
  [ "$(grep -c 'forward cudnn eng' out)" -eq 5 ] || fail "three convolutions and two dense layers have engines"
  run 0 check "$config" --data synthetic --gpus h200
else
  run 4 summary "$config" --plan --gpus h200
fi

say "out of memory: the suggested batch fits"
export DPTRAIN_EMU_MEMORY=6000000
run 5 fit "$config" "${data[@]}" --gpus emu:0,emu:0 --batch-size 32 --steps 1 --run-dir large
says "bytes requested"
says "available: "
fits=$(sed -n 's/.*the largest global batch that fits is \([0-9]*\).*/\1/p' out)
pieces=$(sed -n 's/.*--accumulate \([0-9]*\) keeps.*/\1/p' out)
say "a batch of $fits fits, and 32 in $pieces pieces"
{ [ "$fits" -ge 2 ] && [ "$fits" -lt 32 ] && [ "$pieces" -ge 2 ]; } || fail "the largest batch that fits is said to be '$fits'"
run 0 fit "$config" "${data[@]}" --gpus emu:0,emu:0 --batch-size "$fits" --steps 1 --run-dir fits
run 0 fit "$config" "${data[@]}" --gpus emu:0,emu:0 --batch-size 32 --accumulate "$pieces" --steps 1 --run-dir pieces
run 5 fit "$config" "${data[@]}" --gpus emu:0,emu:0 --batch-size "$((fits + fits / 8 + 2))" --steps 1 --run-dir more
unset DPTRAIN_EMU_MEMORY

say "devices, and GPUs that are not there"
run 0 devices
says "gpu   none: "
run 0 devices --json
python3 "$support" json out 'j["devices"][0]["id"] == "cpu"' 'len(j["no_gpu"]) > 10' || fail "devices --json"
run 0 devices --p2p --gpus emu:0,emu:1
says "all-reduce of 64.0 KiB over 2 replicas (2 emu)"
for flag in "--gpus 0" "--gpus all" "--gpus 0,1" "--num-gpus 1"; do
  # shellcheck disable=SC2086
  run 4 fit "$config" $flag --run-dir none
  [ "$(wc -l <out)" -eq 1 ] || fail "$flag: expected one line"
  says "error: $flag: "
done
run 2 fit "$config" --gpus h200 --run-dir none
says "nothing runs on it"
[ ! -e none ] || fail "a refused run has left a folder"
