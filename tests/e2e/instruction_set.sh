# ONEDNN_MAX_CPU_ISA also limits dptrain's own kernels.
source "$DPTRAIN_SOURCE/tests/e2e/lib.bash"

tiny_convolutions >tiny.yaml

say "no instruction set beyond the one that the environment names"
for limit in AVX2 SSE41; do
  export ONEDNN_MAX_CPU_ISA=$limit
  run 0 devices
  silent_on AVX-512
  says 'no bfloat16 products'
  run 4 fit tiny.yaml --set train.dtype_policy=mixed_bfloat16
  says 'it needs AMX or AVX-512 BF16, which this processor does not have or ONEDNN_MAX_CPU_ISA disables'
  run 0 summary tiny.yaml --plan
  says 'forward winograd'
  silent_on AVX-512
  silent_on avx512
  if [ $limit = SSE41 ]; then silent_on AVX2; fi
  run 0 fit tiny.yaml --run-dir "run_$limit"
done
