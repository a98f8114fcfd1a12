# The stages of `check.sh sanitizer`, which sources this file: the tools of NVIDIA's compute-sanitizer. Name, time limit in
# seconds, need. Races come first, because no other check detects them on a GPU.

sanitizer_stages=(
  "racecheck    240 partial"
  "memcheck     150 partial"
  "synccheck    100 partial"
  "initcheck    100 partial"
)

# Kernels with shared memory or shuffles: a source of kernels/cuda, and the test suites that launch its kernels. In order of
# value, which is the order of a tool's runs. "none": no test on a GPU launches them. e2e.gpu_scripts compares with the sources.
shared_memory_tests=(
  "batch_norm_sums BatchNorm BatchNormalizationOp SynchronizedBatchNormalization"
  "group_norm      GpuGroupNorm GroupNormalizationOp LayerNormalizationOp RMSNormalizationOp"
  "attention       GpuAttention AttentionOp AdditiveAttentionOp MultiHeadAttentionOp"
  "loss            Loss"
  "losses          *Loss"
  "loss_weights    LossOp"
  "softmax         Softmax LogSoftmax SoftmaxOp"
  "metric          MetricSums"
  "metric_bins     MetricBins GoldenMetrics"
  "affine          GpuAffine NormalizationOp"
  "bias            GpuBias"
  "prelu           GpuPRelu PReLUOp"
  "merge           GpuMerge Merge AddOp AverageOp MultiplyOp SubtractOp"
  "extremes        MaximumOp MinimumOp"
  "pool            GpuGlobalPool GpuMaxPool GpuAvgPool GlobalAveragePooling2DOp GlobalMaxPooling2DOp"
  "depthwise       GpuDepthwise DepthwiseConv2DOp"
  "lrn             Lrn LocalResponseNormalizationOp"
  "permute         GpuPermute PermuteOp"
  "embedding       ScatterRows EmbeddingOp PositionEmbeddingOp"
  "elementwise     GpuHash GpuDifference"
  "optimizer_sums  Optimizer"
  "pixels          none"
)
# Other kernels, for the tools that check global memory.
global_memory_tests=(
  "flat            GpuElementwise GpuSumRanks GpuActivation GpuReluLayer GpuDropout GpuNoise GpuPad GpuUpsample LossScale"
  "recurrent       LSTMOp GRUOp SimpleRNNOp"
  "dot             DotOp"
  "updates         Update"
)

# suite_filter SUITE...: gtest's filter of these suites.
suite_filter() { local IFS=:; set -- "${@/%/.*}"; echo "$*"; }

# Ends the stage if a suite of the tables is not in the test program.
check_suites() {
  local row words suite missing=()
  "$here/dptrain_gpu_tests" --gtest_list_tests >"$said" 2>&1 || fail "dptrain_gpu_tests does not list its tests: $(tail -n 1 "$said")"
  sed -i 's/ .*//' "$said"
  for row in "${shared_memory_tests[@]}" "${global_memory_tests[@]}"; do
    read -r -a words <<<"$row"
    for suite in "${words[@]:1}"; do
      if [ "$suite" != none ] && ! grep -qxE "${suite//\*/.*}\." "$said"; then missing+=("$suite (${words[0]})"); fi
    done
  done
  [ ${#missing[@]} -eq 0 ] || fail "dptrain_gpu_tests has no suite ${missing[*]}: correct the tables of scripts/gpu/sanitizer.bash"
}

# The program: on PATH, in the toolkit, or in the wheel nvidia-cuda-sanitizer-api.
find_sanitizer() {
  command -v compute-sanitizer && return
  ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null && return
  "$python" -c 'import nvidia, glob
print(*(f for p in nvidia.__path__ for f in glob.glob(p + "/*/bin/compute-sanitizer")), sep="\n")' 2>/dev/null | grep -m 1 .
}

# sanitize TOOL ROW...: runs the tool on dptrain's kernels, one row of a table after the other; cuDNN's kernels are left out.
sanitize() {
  local tool=$1 program row words code passed=0 count checked=() faults=()
  shift
  check_suites
  if on_emulator; then leave_out "needs a GPU: skipped"; fi
  program=$(find_sanitizer) || cannot "compute-sanitizer is missing; the CUDA toolkit and the wheel nvidia-cuda-sanitizer-api have it"
  for row; do
    read -r -a words <<<"$row"
    if [ "${words[1]}" = none ]; then continue; fi
    printf '$ compute-sanitizer --tool %s: %s\n' "$tool" "${words[*]}"
    code=0
    DPTRAIN_TEST_DEVICES=cuda DPTRAIN_REQUIRE_DEVICES=cuda "$program" --tool "$tool" --kernel-name kns=dptrain --error-exitcode 9 \
      "$here/dptrain_gpu_tests" --gtest_brief=1 --gtest_filter="$(suite_filter "${words[@]:1}")" >"$said" 2>&1 || code=$?
    cat "$said"
    count=$(sum '^\[  PASSED  \] \([0-9]*\) test.*')
    if [ $code -eq 0 ] && [ "$count" -gt 0 ]; then
      checked+=("${words[0]}") passed=$((passed + count))
    elif [ $code -eq 0 ]; then
      faults+=("${words[0]}: no test ran")
    elif [ $code -eq 9 ]; then
      faults+=("${words[0]}: $(grep -m 1 SUMMARY "$said" | sed 's/^=* *//')")
    elif grep -q '^\[  FAILED  \]' "$said"; then
      faults+=("${words[0]}: $(grep -m 1 '^\[  FAILED  \]' "$said")")
    else
      cannot "$tool, ${words[0]}: $(grep -m 1 -iE 'error|not supported' "$said" || tail -n 1 "$said")"
    fi
    result "$(sanitized)"
  done
  [ ${#faults[@]} -eq 0 ] || exit 1
}
sanitized() {
  if [ ${#faults[@]} -gt 0 ]; then printf 'errors in %s; ' "${faults[@]}"; fi
  echo "$passed tests clean, of ${checked[*]:-no kernel}"
}

stage_racecheck() { sanitize racecheck "${shared_memory_tests[@]}"; }
stage_memcheck() { sanitize memcheck "${shared_memory_tests[@]}" "${global_memory_tests[@]}"; }
stage_synccheck() { sanitize synccheck "${shared_memory_tests[@]}"; }
stage_initcheck() { sanitize initcheck "${shared_memory_tests[@]}" "${global_memory_tests[@]}"; }
