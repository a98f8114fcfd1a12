#!/usr/bin/env bash
# One executable for machines with and without GPUs: it links none of NVIDIA's, FFmpeg's and ONNX's libraries, with or
# without CUDA, and trains on the CPU without a driver. A request for a GPU then gives one sentence.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

say "libraries that the loader must find"
command -v readelf >/dev/null || skip "readelf (binutils) reads what an executable is linked with"
readelf --dynamic "$DPTRAIN" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
cat needed
grep -q '^libc\.so' needed || fail "readelf shows no libc among the libraries of $DPTRAIN"
if grep -E '^lib(cuda|cudart|cudnn|nccl|cublas|nvrtc|nvidia|av[cfu]|swscale|onnx|protobuf)' needed; then fail "the executable is linked with the libraries above"; fi

say "a GPU where there is none"
if { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -q 'libcuda\.so\.1' || [ -e /dev/nvidiactl ]; then
  skip "a driver is here; the rest of this test is about machines without one"
fi
small_data
small_config >small.yaml
for command in fit bench verify; do
  run 4 $command small.yaml --gpus 0
  [ "$(grep -c . out)" -eq 1 ] || fail "$command --gpus 0 says more than one line"
  grep -qE '(driver|GPU)' out || fail "$command --gpus 0 does not say what is missing"
  say "$command: $(cat out)"
done
[ ! -e runs ] || fail "a refused run has left a run directory"

say "the same executable on the CPU"
run 0 fit small.yaml --cpus 1 --steps 3 --run-dir cpu
run 0 devices
run 0 devices --json
