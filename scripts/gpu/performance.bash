# The stages of `check.sh performance`, which sources this file: name, time limit in seconds, required, optional or
# always (required, whatever time is left).

performance_stages=(
  "resnet50      240 required"
  "fashion_cnn    60 required"
  "vgg16         180 required"
  "cifar_towers   60 required"
  "mlp            75 required"
  "engines        10 optional"
  "input          40 required"
  "two_gpus_speed 90 required"
  "torch         200 optional"
  "torch_compile 200 optional"
  "transformer    40 optional"
  "attention      40 optional"
  "lstm_shared    40 optional"
  "embedding      40 optional"
  "profile        60 optional"
  "table          20 always"
)

# batch_of WORK, steps_of WORK PRECISION: a window of `steps` takes around a second on an H100.
batch_of() {
  case $1 in
    resnet50 | embedding) echo 256 ;;
    vgg16 | cifar_towers) echo 128 ;;
    lstm_shared) echo 64 ;;
    transformer) echo 32 ;;
    *) echo 512 ;;
  esac
}
steps_of() {
  case $1-$2 in
    resnet50-fp32) echo 3 ;;
    mlp-fp32) echo 500 ;;
    resnet50-*) echo 15 ;;
    vgg16-*) echo 10 ;;
    transformer-* | lstm_shared-* | embedding-*) echo 100 ;;
    fashion_cnn-*) echo 1000 ;;
    *) echo 2000 ;;
  esac
}

count=1 gpus=''   # number of GPUs of a benchmark, and their ids if not $gpu; the batch grows with their number

# bench WORK PRECISION MODE [FLAG...]: leaves bench/WORK.PRECISION.MODE/bench.json.
bench() {
  local work=$1 precision=$2 mode=$3 settings=() size
  shift 3
  case $precision in
    bf16) settings=(--set train.dtype_policy=mixed_bfloat16) ;;
    tf32) settings=(--set runtime.tf32=true) ;;
    fp32) settings=(--set runtime.tf32=false) ;;
  esac
  settings+=(--set runtime.autotune=time)   # as PyTorch's benchmark mode, which it is compared with
  case $mode in graph*) settings+=(--set runtime.cuda_graphs=on) ;; eager*) settings+=(--set runtime.cuda_graphs=off) ;; esac
  size=(--batch-size $((count * $(batch_of $work))) --steps "$(steps_of $work $precision)" --warmup 10 --repeats 5)
  if [ $quick = yes ]; then size=(--batch-size $((2 * count)) --steps 1 --warmup 1 --repeats 1); fi
  run 0 "${launcher[@]}" "$dptrain" bench "$here/configs/bench/$work.yaml" --gpus "${gpus:-$gpu}" "${settings[@]}" "${size[@]}" \
    --output "bench/$work.$precision.$mode" --quiet "$@"
  told+=("$precision $mode $(rate_of "bench/$work.$precision.$mode/bench.json")")
}
rate_of() { sed -n 's/^ *"examples_per_second": \([0-9.e+]*\).*/\1/p' "$1" | head -n 1 | awk '{ printf "%.0f", $1 }'; }

# measure WORK PRECISION...: graph and eager. Keeps the engines that autotuning chose.
measure() {
  local work=$1 each mode told=()
  shift
  for each in "$@"; do
    if [ -n "$precision" ] && [ "$each" != "$precision" ]; then continue; fi
    for mode in graph eager; do bench $work $each $mode; done
  done
  [ ${#told[@]} -gt 0 ] || leave_out "$work is not measured in $precision"
  find "$XDG_CACHE_HOME" -name 'plans-*.txt' -exec cp {} "$out/" \;
  local IFS=';'
  result "examples/s: ${told[*]}"
}

stage_resnet50() {
  if on_emulator; then leave_out "too much for the emulator"; fi
  measure resnet50 bf16 tf32 fp32
}
stage_vgg16() {
  if on_emulator; then leave_out "too much for the emulator"; fi
  measure vgg16 bf16 tf32
}
stage_transformer() { sequences transformer; }
# The same transformer with the attention of our kernels and of cuDNN.
stage_attention() {
  local told=()
  if on_emulator; then leave_out "the emulator has no cuDNN"; fi
  run 0 "$dptrain" summary "$here/configs/bench/transformer.yaml" --plan --gpus "$gpu" \
    --set train.dtype_policy=mixed_bfloat16 --set runtime.cudnn_attention=true
  grep -q '; attention cudnn forward' "$said" || fail "$(grep -m 1 -o '; attention own kernels: .*' "$said")"
  bench transformer bf16 graph_kernels
  bench transformer bf16 graph_cudnn --set runtime.cudnn_attention=true
  local IFS=';'
  result "examples/s: ${told[*]}"
}
stage_lstm_shared() { sequences lstm_shared; }
stage_embedding() { sequences embedding; }
# torch_side_by_side.py does not have these networks.
sequences() {
  if on_emulator; then leave_out "too much for the emulator"; fi
  measure "$1" bf16 tf32
}
stage_fashion_cnn() { measure fashion_cnn bf16 tf32; }
stage_cifar_towers() { measure cifar_towers bf16 tf32; }
stage_mlp() { measure mlp bf16 tf32 fp32; }

# The engines that were fastest for dense layers, as rows of kPreferredEngines in src/backend/cuda/cudnn_engines.cpp: one
# for each pass, kind of product and engine, the longest product first, because the first row of a kind decides.
stage_engines() {
  local cache caches=("$XDG_CACHE_HOME"/dptrain/plans-*.txt) version architecture
  if on_emulator; then leave_out "the emulator has no cuDNN"; fi
  architecture=$("$dptrain" devices --json | grep -A4 -F "\"id\": \"gpu:$gpu\"" | sed -n 's/.*"compute_capability": "\([0-9]*\)\.\([0-9]*\)".*/\1\2/p')
  [ -n "$architecture" ] || fail "dptrain devices names no compute capability of gpu:$gpu"
  [ -e "${caches[0]}" ] || cannot "no engine was measured: run the stage mlp first"
  for cache in "${caches[@]}"; do
    version=$(basename "$cache" | sed 's/^plans-\([0-9.]*\)-.*/\1/')
    awk -F'\t' -v architecture="$architecture" -v version="$version" '
      BEGIN { split(version, v, "."); first = 10000 * v[1] + 100 * v[2] }
      /^#/ || NF != 3 || $3 == 0 || $1 !~ / x1,1,[0-9]+ y1,1,[0-9]+ f1,1 / || $1 !~ / g1( |$)/ { next }
      {
        split($1, word, " "); split(word[4], x, ","); split(word[5], y, ",")
        pass = toupper(substr(word[1], 1, 1)) substr(word[1], 2)
        products = word[2] != "float32" ? "16Bits" : $1 ~ / tf32 / ? "Tf32" : "Strict"
        engine = $2; sub(/^eng/, "", engine); sub(/ .*/, "", engine)
        printf "%s %s\t%.1f\t    {ConvPass::k%s, ProductType::k%s, %d, %d, %d, %d},  // %.1f us, %s %d -> %d\n", pass, products, $3,
          pass, products, architecture, first, first + 99, engine, $3, word[3], x[3], y[3]
      }' "$cache"
  done | sort -t"$(printf '\t')" -k1,1 -k2,2gr | cut -f3 | awk '{ key = $0; sub(/\/\/.*/, "", key) } !seen[key]++' >engines.txt
  [ -s engines.txt ] || cannot "no engine of a dense layer was measured: run the stage mlp first"
  cat engines.txt
  result "$(wc -l <engines.txt) rows for dense layers in engines.txt"
}

# Two GPUs: one process with a thread per GPU, as a graph and eager, against one process per GPU.
stage_two_gpus_speed() {
  local second work=resnet50 told=() one threads processes missing
  need_two_gpus
  if [ $quick = yes ]; then work=fashion_cnn; fi
  run 0 "$dptrain" devices --p2p --gpus "$gpu,$second"
  bench $work bf16 eager-one
  one=$(rate_of bench/$work.bf16.eager-one/bench.json)
  local count=2 gpus=$gpu,$second
  bench $work bf16 graph-threads
  bench $work bf16 eager-threads
  threads="in one process $(ratio "$(rate_of bench/$work.bf16.eager-threads/bench.json)" "$one")"
  missing=$(mpirun_missing)
  if [ -n "$missing" ]; then
    processes="in one process per GPU $missing"
  else
    use_mpirun
    gpus=0
    bench $work bf16 eager-processes
    processes="in one process per GPU $(ratio "$(rate_of bench/$work.bf16.eager-processes/bench.json)" "$one")"
  fi
  local IFS=';'
  result "$work, examples/s: ${told[*]}; times one GPU, eager: $threads, $processes"
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# PyTorch on the same work. Each network in a process of its own: an error of CUDA spoils the rest of a process.
peer() {
  local work modes=$1 precisions without=() device=cuda:$gpu flags=()
  shift
  "$python" -c 'import torch' 2>"$said" || cannot "$python has no PyTorch ($(tail -n 1 "$said")); name one that has it with --python"
  if on_emulator; then device=cpu flags=(--tiny) modes=eager; fi
  mkdir -p torch
  for work in $(wanted "$@"); do
    precisions=bf16,tf32
    if [ $work = resnet50 ] && [ $modes != compile ]; then precisions=bf16,tf32,fp32; fi
    if [ -n "$precision" ]; then precisions=$precision; fi
    if on_emulator; then precisions=fp32; fi
    "$python" "$here/torch_side_by_side.py" --device "$device" --works $work --precisions $precisions --modes $modes "${flags[@]}" \
      >"torch/$work.$modes.jsonl" 2>"$said" || without+=("$work")
    cat "torch/$work.$modes.jsonl" "$said"
    result "PyTorch $modes up to $work; failed: ${without[*]:-none}"
  done
  [ ${#without[@]} -eq 0 ] || exit 1
}
# wanted WORK...: those that --only names, or all if it names none.
wanted() {
  local work some=()
  for work; do if [[ ,$only, == *,$work,* ]]; then some+=("$work"); fi; done
  if [ ${#some[@]} -gt 0 ]; then echo "${some[@]}"; else echo "$@"; fi
}
stage_torch() { peer eager,graph resnet50 fashion_cnn vgg16 cifar_towers mlp; }
stage_torch_compile() { peer compile resnet50 fashion_cnn vgg16 cifar_towers mlp; }

# The same network fed from the data set: resident on the GPU, and through loader, pinned memory and copy stream.
stage_input() {
  local told=()
  bench fashion_cnn tf32 resident --data real
  bench fashion_cnn tf32 loader --data real --set runtime.resident=off
  local IFS=';'
  result "examples/s: ${told[*]}; with the loader waiting for data $(sed -n 's/^ *"data_wait_ms": \([0-9.e+-]*\).*/\1/p' bench/fashion_cnn.tf32.loader/bench.json | head -n 1) ms a step"
}

# Which of our kernels one eager step spends its time in. The clocks stay as they are.
stage_profile() {
  command -v ncu >/dev/null || cannot "ncu is not on the PATH (Nsight Compute, of the CUDA toolkit)"
  printf '$ ncu ... dptrain bench resnet50, one step\n'
  ncu --clock-control none --launch-skip 1200 --launch-count 600 --csv \
    --metrics gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed \
    "$dptrain" bench "$here/configs/bench/resnet50.yaml" --gpus "$gpu" --batch-size 64 --set train.dtype_policy=mixed_bfloat16 \
    --set runtime.cuda_graphs=off --steps 3 --warmup 3 --repeats 1 --output bench/profile --quiet >profile.csv 2>"$said" ||
    { cat "$said"; cannot "ncu: $(grep -m 1 -E '==(ERROR|WARNING)==' "$said" profile.csv || tail -n 1 "$said")"; }
  "$python" "$here/kernels.py" profile.csv >"$said" 2>&1 || { cat "$said"; fail "kernels.py: $(tail -n 1 "$said")"; }
  cat "$said"
  cp "$said" profile.txt
  result "most of the time: $(sed -n 2p "$said" | tr -s ' ')"
}

stage_table() {
  run 0 "$python" "$here/table.py" "$out"
  cp "$said" table.md
  result "table.md"
}
