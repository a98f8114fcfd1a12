# The stages of `check.sh correctness`, which sources this file: name, time limit in seconds, required or optional; in order
# of value. Each runs in a process of its own, in the folder $out.

correctness_stages=(
  "environment   60 required"
  "devices       60 required"
  "plans         90 required"
  "conformance   240 required"
  "verify        80 required"
  "curves        80 required"
  "repeatable   120 required"
  "replicas     100 required"
  "two_gpus     120 required"
  "two_processes 80 required"
  "two_ranks     60 required"
  "slots         40 required"
  "checkpoint    60 required"
  "precision     80 required"
  "refusals      60 required"
)

# --- what several stages use -------------------------------------------------------------------------------------------------

strict=(--set runtime.tf32=false)
works() { echo small_cnn small_resnet; }

# choose WORK: its config and flags, in the array `config`. Learning rates are such that rounding stays rounding for 50
# steps: at five times the small CNN's, two float32 devices are 4e-3 apart after them, at this 3e-7.
choose() {
  case $1 in
    small_cnn)
      config=("$here/configs/bench/fashion_cnn.yaml" --set data.train.Synthetic.samples=4000
        --set data.validation=null --set 'train.optimizer={SGD: {learning_rate: 0.001, momentum: 0.9}}') ;;
    small_resnet) config=("$here/configs/check/small_resnet.yaml") ;;
    slots) config=("$here/configs/check/slots.yaml") ;;
  esac
  if [ $quick = yes ]; then config+=(--batch-size 12); else config+=(--batch-size 64); fi
}
if [ $quick = yes ]; then steps=3 half=2; else steps=50 half=25; fi

launcher=()   # words before dptrain: mpirun

# train NAME WORK FLAG...: the losses of every step are in runs/NAME/steps.csv.
train() {
  local name=$1 config
  choose "$2"
  shift 2
  run 0 "${launcher[@]}" "$dptrain" fit "${config[@]}" --steps $steps --log-every '1 step' --run-dir "runs/$name" --overwrite --quiet "$@"
}
losses() { awk -F, 'NR > 1 { print $3 }' "runs/$1/steps.csv"; }

# difference A B: the largest relative difference of the losses of two runs.
difference() {
  paste <(losses "$1") <(losses "$2") | awk '
    NF != 2 || $1 != $1 + 0 || $2 != $2 + 0 { bad = 1; exit }
    { d = $1 - $2; m = $2 < 0 ? -$2 : $2; if (d < 0) d = -d; if (d / m > most) most = d / m; ++n }
    END { if (bad || !n) print "nan"; else printf "%.1e", most }'
}
# within LIMIT VALUE: a number, and not above the limit.
within() { awk -v limit="$1" -v value="$2" 'BEGIN { exit !(value ~ /^[0-9.]+(e[-+]?[0-9]+)?$/ && value + 0 <= limit) }'; }
must_agree() {
  local found
  found=$(difference "$2" "$3")
  say "$2 against $3: largest relative difference of the loss $found, allowed $1"
  within "$1" "$found" || fail "$2 and $3 differ by $found in the loss, allowed $1"
  largest=$(awk -v a="${largest:-0}" -v b="$found" 'BEGIN { print (a + 0 > b + 0 ? a : b) }')
}
must_be_equal() {
  run 0 "$dptrain" ckpt diff "runs/$1/checkpoints/last.h5" "runs/$2/checkpoints/last.h5"
  cmp <(losses "$1") <(losses "$2") || fail "$1 and $2 differ in the losses of their steps"
}

# --- stages --------------------------------------------------------------------------------------------------------------------

stage_environment() {
  local program missing gpu_name
  uname -srm
  getconf GNU_LIBC_VERSION
  command -v nvidia-smi >/dev/null && nvidia-smi
  echo "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}"
  for program in "$here"/dptrain*; do
    missing=$(ldd "$program" | grep 'not found')
    [ -z "$missing" ] || fail "$(basename "$program"): $missing"
  done
  run 0 "$dptrain" --version
  run 0 "$dptrain" devices
  cp "$said" "$out/machine.txt"
  "$dptrain" devices --json >"$out/devices.json" || fail "dptrain devices --json"
  on_emulator && { result "the emulator on $(uname -sr)"; return; }
  grep -qF "\"id\": \"gpu:$gpu\"" "$out/devices.json" || fail "no gpu:$gpu here: $(json_text no_gpu)"
  [ -n "$(json_text cudnn)" ] || fail "cuDNN does not open: $(grep -i cudnn "$out/machine.txt")"
  gpu_name=$(grep -A1 -F "\"id\": \"gpu:$gpu\"" "$out/devices.json" | sed -n 's/.*"name": "\(.*\)".*/\1/p')
  result "$gpu_name, driver for CUDA $(json_text driver), cuDNN $(json_text cudnn), NCCL $(json_text nccl)"
}
# json_text KEY: a text of devices.json, which has each on a line of its own.
json_text() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$out/devices.json" | tail -n 1; }

# The executable's own check, from a small convolution to the sums of two replicas: in a minute, what is wrong.
stage_devices() {
  run 0 "$dptrain" devices --check --gpus "$gpu"
  result "$(tail -n 1 "$said")"
}

# Every convolution of the lists has an engine on this GPU, and the one that the H200 on paper has.
stage_plans() {
  local mode lists=("$here"/tests/plans/*.txt) passes=0 other=0
  mkdir -p plans
  if ! on_emulator; then
    run 0 "$here/dptrain_gpu_tests" plan-check --gpu "$gpu" --properties
    grep -v '^cuDNN ' "$said" >deviceprop.json
  fi
  for mode in bf16 tf32 fp32; do
    if on_emulator && ! "$here/dptrain_gpu_tests" plan-check $mode 256 "${lists[0]}" >"$said" 2>&1 && grep -q ^SKIPPED "$said"; then
      leave_out "$(tail -n 1 "$said")"
    fi
    run 0 "$here/dptrain_gpu_tests" plan-check $mode 256 "${lists[@]}"
    grep ': eng' "$said" >plans/$mode.paper
    passes=$((passes + $(wc -l <plans/$mode.paper)))
    on_emulator && continue
    run 0 "$here/dptrain_gpu_tests" plan-check --gpu "$gpu" $mode 256 "${lists[@]}"
    grep ': eng' "$said" >plans/$mode.gpu
    diff plans/$mode.paper plans/$mode.gpu
    other=$((other + $(diff plans/$mode.paper plans/$mode.gpu | grep -c '^>')))
  done
  if on_emulator; then result "an H200 on paper has an engine for each of $passes passes"; return; fi
  result "an engine for each of $passes passes; for $other of them another one than the H200 on paper has"
}

# Every op, loss and optimizer against naive loops and Keras's values; cuDNN, streams, graphs; replicas and their sums.
# Each case creates its convolutions and their handle again, which keeps one core busy: shards run concurrently.
stage_conformance() {
  local left_out='RollCall.*'   # reads the source tree
  local shards=$(($(nproc) / 2)) code=0 i pids=() passed failed skipped
  if on_emulator; then left_out+=':Cuda*:Cudnn*:Engines*:PlanOnlyRuntime*'; fi
  [ $shards -ge 1 ] || shards=1
  [ $shards -le 8 ] || shards=8
  printf '$ dptrain_gpu_tests --gtest_filter=-%s, %d shards\n' "$left_out" $shards
  for ((i = 0; i < shards; ++i)); do
    env DPTRAIN_TEST_DEVICES="$(device_kind)" DPTRAIN_REQUIRE_DEVICES="$(device_kind)" GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i \
      "$here/dptrain_gpu_tests" --gtest_brief=1 --gtest_filter="-$left_out" >"$out/logs/conformance.$i.log" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do wait "${pids[i]}" || code=$?; done
  for ((i = 0; i < shards; ++i)); do cat "$out/logs/conformance.$i.log"; done >"$said"
  cat "$said"
  passed=$(sum '^\[  PASSED  \] \([0-9]*\) test.*') failed=$(grep -c '^\[  FAILED  \] .* ms)$' "$said")
  skipped=$(sum '^\[  SKIPPED \] \([0-9]*\) test.*')
  [ $code -eq 0 ] || fail "$passed passed, $failed failed, $skipped skipped, exit code $code: $(grep '^\[  FAILED  \] .* ms)$' "$said" | head -n 3 | tr '\n' ' ')"
  [ "$passed" -gt 0 ] || fail "no test ran"
  result "$passed passed, $failed failed, $skipped skipped"
}
# sum PATTERN: of the numbers that it finds in the lines of $said.
sum() { sed -n "s/$1/\1/p" "$said" | awk '{ s += $1 } END { print s + 0 }'; }

# Layer by layer: two replicas on the GPU against one; the GPU against the CPU.
stage_verify() {
  local work config told=()
  for work in $(works); do
    choose $work
    run 0 "$dptrain" verify "${config[@]}" --steps 3 --gpus "$(all_of "$gpu" 2)"
    run 0 "$dptrain" verify "${config[@]}" --steps 3 --gpus "$gpu" --against cpu
    told+=("$work: $(grep -o 'largest difference [^,]*' "$said" | head -n 1)")
  done
  local IFS=';'
  result "against the CPU: ${told[*]}"
}

# 50 steps in strict float32: the same losses as on the CPU, to rounding.
stage_curves() {
  local work
  for work in $(works); do
    train "$work-cpu" $work --cpus 1
    train "$work-gpu" $work --gpus "$gpu" "${strict[@]}"
    must_agree 1e-4 "$work-gpu" "$work-cpu"
  done
  result "$(losses "$work-gpu" | wc -l) steps, CPU against GPU, strict float32: losses within $largest"
}

# The same bits twice; and as a graph what step by step gives.
stage_repeatable() {
  local work policy
  for work in $(works); do
    for policy in float32 mixed_bfloat16; do
      train "$work-$policy-1" $work --gpus "$gpu" --set train.dtype_policy=$policy --set runtime.cuda_graphs=on
      train "$work-$policy-2" $work --gpus "$gpu" --set train.dtype_policy=$policy --set runtime.cuda_graphs=on
      train "$work-$policy-eager" $work --gpus "$gpu" --set train.dtype_policy=$policy --set runtime.cuda_graphs=off
      must_be_equal "$work-$policy-1" "$work-$policy-2"
      must_be_equal "$work-$policy-1" "$work-$policy-eager"
    done
  done
  result "two runs, and graph against eager, equal to the bit in float32 and mixed_bfloat16"
}

# 1, 2, 3 and 4 logical replicas on one GPU train the same network; 3 have uneven shares.
stage_replicas() {
  local work count
  for work in $(works); do
    [ -e "runs/$work-gpu/steps.csv" ] || train "$work-gpu" $work --gpus "$gpu" "${strict[@]}"   # by the stage curves
    for count in 2 3 4; do
      train "$work-x$count" $work --gpus "$(all_of "$gpu" $count)" "${strict[@]}"
      must_agree 1e-4 "$work-x$count" "$work-gpu"
    done
  done
  result "2, 3 and 4 replicas on one GPU: losses within $largest of one replica's"
}

# need_two_gpus: the id of another GPU, in $second; without one it ends the stage.
need_two_gpus() {
  if on_emulator; then leave_out "needs two GPUs: skipped"; fi
  [ -e "$out/devices.json" ] || "$dptrain" devices --json >"$out/devices.json" || fail "dptrain devices --json"
  second=$(grep -o '"id": "gpu:[0-9]*"' "$out/devices.json" | tr -cd '0-9\n' | grep -vx "$gpu" | head -n 1)
  [ -n "$second" ] || leave_out "needs two GPUs: skipped, gpu:$gpu is the only one here"
}

# mpirun_missing: why dptrain cannot run in several processes here; nothing if it can.
mpirun_missing() {
  if ! command -v mpirun >/dev/null; then
    echo "needs mpirun: skipped"
  elif [ -z "$(find "$here" "$here/lib" -maxdepth 1 -name 'libdptrain_*mpi*.so' 2>/dev/null)" ]; then
    echo "needs a bundle that was made where MPI is installed: skipped"
  fi
}
# use_mpirun: $launcher starts two processes, which see $gpu and $second as their GPU 0.
use_mpirun() {
  local ids=("$gpu" "$second") visible
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    IFS=, read -r -a visible <<<"$CUDA_VISIBLE_DEVICES"
    ids=("${visible[$gpu]}" "${visible[$second]}")
  fi
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # shellcheck disable=SC2016  # the processes expand it
  launcher=(mpirun -n 2 --bind-to none "$BASH" -c 'ids=($0); export CUDA_VISIBLE_DEVICES=${ids[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}; exec "$@"' "${ids[*]}")
}

# Two GPUs over NCCL repeat their bits, a CUDA graph of the step gives those of step-by-step launches, sums in bfloat16
# included, and the losses are those of one GPU. A replica with a slot on each GPU gives the bits of one GPU.
stage_two_gpus() {
  local second pair work policy sums
  need_two_gpus
  pair=$gpu,$second
  for work in $(works); do
    for policy in float32 mixed_bfloat16; do
      case $policy in float32) sums=float32 ;; *) sums=bfloat16 ;; esac
      local flags=(--gpus "$pair" --set "train.dtype_policy=$policy" --set "parallel.allreduce_dtype=$sums")
      train "$work-two-$policy-1" $work "${flags[@]}" --set runtime.cuda_graphs=on
      train "$work-two-$policy-2" $work "${flags[@]}" --set runtime.cuda_graphs=on
      train "$work-two-$policy-eager" $work "${flags[@]}" --set runtime.cuda_graphs=off
      must_be_equal "$work-two-$policy-1" "$work-two-$policy-2"
      must_be_equal "$work-two-$policy-1" "$work-two-$policy-eager"
    done
    [ -e "runs/$work-gpu/steps.csv" ] || train "$work-gpu" $work --gpus "$gpu" "${strict[@]}"   # by the stage curves
    train "$work-two" $work --gpus "$pair" "${strict[@]}"
    must_agree 1e-4 "$work-two" "$work-gpu"
  done
  train slots-one slots --gpus "$gpu"
  train slots-two slots --gpus "$pair"
  must_be_equal slots-one slots-two
  result "gpu:$gpu and gpu:$second: two runs, graph against eager, and two slots against one equal to the bit; losses within $largest of one GPU's"
}

# One process per GPU gives the bits of one process with a thread per GPU: the sum of two values has one order.
stage_two_processes() {
  local second work missing
  need_two_gpus
  missing=$(mpirun_missing)
  [ -z "$missing" ] || leave_out "$missing"
  for work in $(works); do
    launcher=()
    train "$work-two-threads" $work --gpus "$gpu,$second" --set runtime.cuda_graphs=off
    use_mpirun
    train "$work-two-processes" $work --gpus 0 --set runtime.cuda_graphs=off
    must_be_equal "$work-two-processes" "$work-two-threads"
  done
  result "gpu:$gpu and gpu:$second: one process per GPU and one process: equal to the bit"
}

# Two ranks of NCCL on this GPU, which need NCCL 2.30: its kernels, recordings and both communicators. A world of one rank, in
# the stage conformance, launches nothing of NCCL.
stage_two_ranks() {
  if on_emulator; then leave_out "needs a GPU: skipped"; fi
  run 0 env NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=8 NCCL_NVLS_ENABLE=0 DPTRAIN_REQUIRE_DEVICES=cuda \
    "$here/dptrain_gpu_tests" --gtest_filter='NcclOnAGpu.TwoRanks*'
  if grep -q '^\[  SKIPPED \]' "$said"; then leave_out "$(grep -m 1 -o 'needs NCCL.*' "$said"): skipped"; fi
  [ "$(sum '^\[  PASSED  \] \([0-9]*\) test.*')" -eq 1 ] || fail "the test of two ranks is missing"
  result "two ranks of NCCL on one GPU train as two replicas without NCCL, to the bit, eager and as a graph"
}

# A replica with two slots on one GPU gives the bits of one slot. The stage two_gpus has them on two.
stage_slots() {
  train slots-one slots --gpus "$gpu"
  train slots-shared slots --gpus "$(all_of "$gpu" 2)"
  must_be_equal slots-one slots-shared
  result "two slots on one GPU and one slot: equal to the bit"
}

# A checkpoint of the GPU evaluates to the same on the CPU, and training continues from it to the same bits.
stage_checkpoint() {
  local work=small_resnet config gpu_loss cpu_loss
  train whole $work --gpus "$gpu"
  choose $work
  run 0 "$dptrain" fit "${config[@]}" --steps $half --gpus "$gpu" --run-dir runs/parts --overwrite --quiet
  run 0 "$dptrain" fit "${config[@]}" --steps $steps --gpus "$gpu" --run-dir runs/parts --resume --quiet
  run 0 "$dptrain" ckpt diff runs/whole/checkpoints/last.h5 runs/parts/checkpoints/last.h5
  run 0 "$dptrain" eval runs/whole/checkpoints/last.h5 --on train --gpus "$gpu" --set runtime.tf32=false
  gpu_loss=$(sed -n 's/^loss: //p' "$said")
  run 0 "$dptrain" eval runs/whole/checkpoints/last.h5 --on train --cpus 1
  cpu_loss=$(sed -n 's/^loss: //p' "$said")
  within 1e-4 "$(awk -v a="$gpu_loss" -v b="$cpu_loss" 'BEGIN { d = a - b; printf "%.1e", (d < 0 ? -d : d) / b }')" ||
    fail "the checkpoint's loss is '$gpu_loss' on the GPU and '$cpu_loss' on the CPU"
  result "resumed to the same bits; its loss is $gpu_loss on the GPU, $cpu_loss on the CPU"
}

# TF32 and 16 bits learn what float32 learns: the mean loss of the last ten steps, the difference as a share of the first loss.
stage_precision() {
  local work policy band told=() found
  for work in $(works); do
    [ -e "runs/$work-cpu/steps.csv" ] || train "$work-cpu" $work --cpus 1   # by the stage curves
    for policy in tf32 mixed_bfloat16 mixed_float16; do
      case $policy in
        tf32) band=0.01; train "$work-$policy" $work --gpus "$gpu" --set runtime.tf32=true ;;
        *) band=0.05; train "$work-$policy" $work --gpus "$gpu" --set train.dtype_policy=$policy ;;
      esac
      found=$(paste <(losses "$work-$policy") <(losses "$work-cpu") | tail -n 10 |
        awk -v first="$(losses "$work-cpu" | head -n 1)" '{ a += $1; b += $2; ++n } END { d = (a - b) / n / first; printf "%.1e", d < 0 ? -d : d }')
      say "$work in $policy: $found of the first loss away from the CPU's, allowed $band"
      within $band "$found" || fail "$work in $policy ends $found of its first loss away from the CPU's, allowed $band"
      told+=("$work $policy $found")
    done
  done
  local IFS=';'
  result "away from float32 on the CPU, as a share of the first loss: ${told[*]}"
}

# What cannot be is refused in a sentence: a GPU that is not there, a batch that does not fit.
stage_refusals() {
  local memory=4294967296   # the emulator's
  on_emulator || memory=$(grep -A5 -F "\"id\": \"gpu:$gpu\"" "$out/devices.json" | sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p')
  [ -n "$memory" ] || fail "devices.json, of the stage environment, has no memory_bytes of gpu:$gpu"
  run 4 "$dptrain" fit "$here/configs/check/small_resnet.yaml" --gpus 63 --steps 1 --run-dir runs/refused --overwrite
  # VGG16 needs 39 MB per sample.
  run 5 "$dptrain" fit "$here/configs/bench/vgg16.yaml" --gpus "$gpu" --batch-size $((memory / 30000000)) --steps 1 \
    --set data.train.Synthetic.samples=16 --run-dir runs/refused --overwrite
  result "no such GPU: exit 4; out of memory: exit 5,$(tail -n 1 "$said" | tr -s ' ')"
}
