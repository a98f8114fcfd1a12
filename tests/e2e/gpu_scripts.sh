#!/usr/bin/env bash
# The scripts for GPU hosts (scripts/gpu) without a GPU: check.sh on a substitute of a bundle, the table, the sums of
# ncu's output. `check.sh correctness --gpu emu:0 --quick` in a bundle runs the rest of check.sh on the emulator.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

scripts=$DPTRAIN_SOURCE/scripts/gpu
# expect CODE COMMAND...: like run(), for any program.
expect() {
  local expected=$1 code=0
  shift
  "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "$*: exit $code, expected $expected"
}

say "check.sh needs a bundle"
expect 2 bash "$scripts/check.sh" correctness
says "no dptrain next to"
expect 0 bash "$scripts/check.sh" --help
says "correctness"

say "check.sh in a bundle on the emulator"
mkdir -p bundle/configs/bench bundle/configs/check
ln -s "$DPTRAIN" bundle/dptrain
ln -s "$scripts"/{correctness.bash,performance.bash,sanitizer.bash,table.py,kernels.py} bundle/
cp "$scripts/check.sh" bundle/
ln -s "$scripts"/{small_resnet,slots}.yaml bundle/configs/check/
ln -s "$DPTRAIN_SOURCE/configs/bench/fashion_cnn.yaml" bundle/configs/bench/
expect 0 bundle/check.sh correctness --gpu emu:0 --quick --out results \
  --only environment,devices,curves,replicas,two_gpus,two_processes,two_ranks,slots
says "correctness: 8 stages, 0 failed"
for stage in two_gpus two_processes; do
  grep -q "^left-out  *$stage .* needs two GPUs: skipped" results/summary.txt || fail "summary.txt does not say why $stage is left out"
done
grep -q '^left-out  *two_ranks .* needs a GPU: skipped' results/summary.txt || fail "summary.txt does not say why two_ranks is left out"
grep -q '^ok  *slots .* equal to the bit' results/summary.txt || fail "slots"
grep -q '^ok  *curves .* losses within [0-9]' results/summary.txt || fail "summary.txt lacks the difference of the losses"
expect 1 bundle/check.sh correctness --gpu emu:0 --quick --out results --only conformance
says "FAILED    conformance"
expect 1 bundle/check.sh performance --out results --only table
says "no measurement under"

say "the sanitizer task names suites of the tests, and every kernel with shared memory"
# Lists the suites of the sources, as gtest lists those of a bundle.
cat >bundle/dptrain_gpu_tests <<SH
#!/usr/bin/env bash
grep -hoE '^TEST(_F|_P)?\([A-Za-z0-9_]+' "$DPTRAIN_SOURCE"/tests/{kernels_cuda,backend,runtime,distributed}/*.cpp | sed 's/.*(\(.*\)/\1./' | sort -u
SH
chmod +x bundle/dptrain_gpu_tests
expect 0 bundle/check.sh sanitizer --gpu emu:0 --quick --out clean
says "sanitizer: 4 stages, 0 failed"
grep -q '^left-out  *racecheck .* needs a GPU: skipped' clean/summary.txt || fail "summary.txt does not say why racecheck is left out"
python3 - "$DPTRAIN_SOURCE" <<'PY' || fail "scripts/gpu/sanitizer.bash: shared_memory_tests differs from kernels/cuda"
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
texts = {path.name: path.read_text() for path in (root / "kernels/cuda").glob("*") if path.name not in ("launch.h", "simt.h")}
def shares(name, seen=()):
    includes = re.findall(r'#include "kernels/cuda/([^"]+)"', texts.get(name, ""))
    return name in texts and name not in seen and (re.search(r"__shared__|DPTRAIN_DYNAMIC_SHARED", texts[name]) is not None
                                                   or any(shares(each, (*seen, name)) for each in includes))
expected = {name[:-3] for name in texts if name.endswith(".cu") and shares(name)}
table = (root / "scripts/gpu/sanitizer.bash").read_text().split("shared_memory_tests=(\n", 1)[1].split("\n)", 1)[0]
found = set(re.findall(r'^  "(\w+)', table, re.M))
print("without a row:", sorted(expected - found), "without shared memory:", sorted(found - expected))
sys.exit(expected != found)
PY
rm bundle/sanitizer.bash
sed 's/GpuGroupNorm /GroupNormKernels /' "$scripts/sanitizer.bash" >bundle/sanitizer.bash
expect 1 bundle/check.sh sanitizer --gpu emu:0 --quick --out clean --only racecheck
says "no suite GroupNormKernels (group_norm)"

say "the sanitizer task on a GPU, with a substitute for compute-sanitizer"
mkdir fake
cat >fake/compute-sanitizer <<'SH'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case $* in
  *racecheck*GpuGroupNorm*) echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"; exit 9 ;;
  *racecheck*AttentionOp*) sleep "${SLOW:-0}" ;;
  *memcheck*=Loss.\*) echo "[  FAILED  ] Loss.Sums (3 ms)"; exit 1 ;;
  *synccheck*) echo "========= Error: Device not supported"; exit 255 ;;
  *initcheck*=Lrn.*) echo "[  PASSED  ] 0 tests."; exit 0 ;;
esac
echo "[  PASSED  ] 3 tests."
SH
chmod +x fake/compute-sanitizer
cp "$scripts/sanitizer.bash" bundle/
on_gpu() { local code=$1; shift; expect "$code" env PATH="$PWD/fake:$PATH" CALLS="$PWD/calls" "$@"; }
on_gpu 1 bundle/check.sh sanitizer --out clean
grep -q '^FAILED  *racecheck .* errors in group_norm: RACECHECK SUMMARY: 1 hazard .*; [0-9]* tests clean, of batch_norm_sums attention' clean/summary.txt || fail "racecheck: $(cat out)"
grep -q '^FAILED  *memcheck .* errors in loss: \[  FAILED  \] Loss.Sums' clean/summary.txt || fail "memcheck: $(cat out)"
grep -q '^FAILED  *synccheck .* cannot run: synccheck, batch_norm_sums: .*Device not supported' clean/summary.txt || fail "synccheck: $(cat out)"
grep -q '^FAILED  *initcheck .* errors in lrn: no test ran' clean/summary.txt || fail "initcheck: $(cat out)"
head -n 1 calls | grep -q -- '--tool racecheck --kernel-name kns=dptrain .*--gtest_filter=BatchNorm\.\*:BatchNormalizationOp\.\*' || fail "the first call: $(head -n 1 calls)"
sed -i 's/"racecheck *240/"racecheck 2/' bundle/sanitizer.bash
on_gpu 1 env SLOW=60 bundle/check.sh sanitizer --out clean --only racecheck
grep -q '^FAILED  *racecheck .* stopped after its 2 s; so far: errors in group_norm' clean/summary.txt || fail "stopped with errors: $(cat out)"
sed -i 's/RACECHECK/nothing/; /GpuGroupNorm/d' fake/compute-sanitizer
on_gpu 0 env SLOW=60 bundle/check.sh sanitizer --out clean --only racecheck
grep -q '^in-part  *racecheck .* stopped after its 2 s; so far: 6 tests clean, of batch_norm_sums group_norm' clean/summary.txt || fail "stopped: $(cat out)"

say "two GPUs, with an executable that trains on the emulator in their place"
cat >on_emulator <<SH
#!/usr/bin/env bash
if [ -n "\${OMPI_COMM_WORLD_RANK:-}" ]; then echo "processes on \$CUDA_VISIBLE_DEVICES" >>"$PWD/pairs"; fi
for word; do
  case \$word in
    0,1) word=emu:0,emu:1; echo pair >>"$PWD/pairs" ;;
    0) [ "\$last" != --gpus ] || word=emu:0\${OMPI_COMM_WORLD_RANK:+,emu:1} ;;
    runtime.cuda_graphs=on) word=runtime.cuda_graphs=auto; echo on >>"$PWD/pairs" ;;
    parallel.allreduce_dtype=*) word=parallel.allreduce_dtype=float32 ;;
  esac
  words+=("\$word") last=\$word
done
exec "$DPTRAIN" "\${words[@]}"
SH
# One process, which has both GPUs, instead of two.
cat >fake/mpirun <<'SH'
#!/usr/bin/env bash
[ "$1 $2" = "-n 2" ] || exit 2
while [ "$1" != "$BASH" ]; do shift; done
OMPI_COMM_WORLD_RANK=1 exec "$@"
SH
chmod +x on_emulator fake/mpirun
ln -sf "$PWD/on_emulator" bundle/dptrain
two_gpus() { on_gpu 0 bash bundle/check.sh "$@" --gpu 0 --quick --out two; }
mkdir two
echo '  "id": "gpu:0",' >two/devices.json
two_gpus correctness --only two_gpus,two_processes
[ "$(grep -c '^left-out .* needs two GPUs: skipped, gpu:0 is the only one' two/summary.txt)" -eq 2 ] || fail "one GPU is not left out"
echo '  "id": "gpu:1",' >>two/devices.json
two_gpus correctness --only two_gpus,two_processes
grep -q '^ok  *two_gpus .*gpu:0 and gpu:1: .* losses within [0-9]' two/summary.txt || fail "two GPUs: $(cat out)"
grep -q '^left-out  *two_processes .* needs a bundle .*: skipped' two/summary.txt || fail "no module for MPI: $(cat out)"
[ "$(grep -c pair pairs)" -eq 15 ] && [ "$(grep -c on$ pairs)" -eq 8 ] || fail "two GPUs trained $(sort pairs | uniq -c | tr '\n' ' ')"
: >bundle/libdptrain_openmpi.so
two_gpus correctness --only two_processes
grep -q '^ok  *two_processes .*: one process per GPU and one process: equal to the bit' two/summary.txt || fail "two processes: $(cat out)"
two_gpus performance --only two_gpus_speed
grep -qE '^ok  *two_gpus_speed .* eager: in one process [0-9.]+, in one process per GPU [0-9.]+$' two/summary.txt || fail "speed of two GPUs: $(cat out)"
[ "$(grep -c 'processes on 1' pairs)" -eq 3 ] || fail "mpirun started $(sort pairs | uniq -c | tr '\n' ' ')"
rm bundle/libdptrain_openmpi.so

say "one precision, and PyTorch on the networks that --only names"
printf '#!/usr/bin/env bash\necho "$*" >>"%s/pythons"\n' "$PWD" >fake/python
chmod +x fake/python
two_gpus performance --only fashion_cnn,torch --precision tf32 --python "$PWD/fake/python"
grep -qE '^ok  *fashion_cnn .* examples/s: tf32 graph [0-9]+;tf32 eager [0-9]+$' two/summary.txt || fail "one precision: $(cat out)"
[ "$(grep -o 'works .*' pythons)" = "works fashion_cnn --precisions tf32 --modes eager,graph" ] || fail "PyTorch: $(cat pythons)"
two_gpus performance --only fashion_cnn --precision fp32
grep -q '^left-out  *fashion_cnn .* is not measured in fp32' two/summary.txt || fail "no such precision: $(cat out)"

say "two ranks of NCCL, with a substitute for the tests"
two_ranks() { echo "$1" >bundle/said; two_gpus correctness --only two_ranks; }
printf '#!/usr/bin/env bash\n[ "$NCCL_MULTI_RANK_GPU_ENABLE" = 1 ] && cat "%s/bundle/said"\n' "$PWD" >bundle/dptrain_gpu_tests
chmod +x bundle/dptrain_gpu_tests
two_ranks $'needs NCCL 2.30 or newer, found 2.28\n[  SKIPPED ] NcclOnAGpu.TwoRanks (0 ms)\n[  PASSED  ] 0 tests.'
grep -q '^left-out  *two_ranks .* needs NCCL 2.30 or newer, found 2.28: skipped' two/summary.txt || fail "an old NCCL: $(cat out)"
two_ranks '[  PASSED  ] 1 test.'
grep -q '^ok  *two_ranks ' two/summary.txt || fail "two ranks: $(cat out)"

say "engines of dense layers as rows of a table"
cat >lister <<'SH'
#!/usr/bin/env bash
printf '    {\n      "id": "gpu:0",\n      "name": "NVIDIA H100",\n      "bus_id": "0",\n      "compute_capability": "9.0",\n'
SH
chmod +x lister
ln -sf "$PWD/lister" bundle/dptrain
mkdir -p fast/cache/dptrain
engines() { expect "$1" bash bundle/check.sh performance --gpu 0 --out fast --only engines; }
engines 0
grep -q '^left-out  *engines .* run the stage mlp first' fast/summary.txt || fail "engines without a measurement: $(cat out)"
cat >fast/cache/dptrain/plans-9.14.0-NVIDIA-H100-80GB-HBM3.txt <<'TSV'
# dptrain: convolution pass, engine, microseconds (delete this file to measure again)
forward float32 n512 x1,1,512 y1,1,512 f1,1 s1,1 d1,1 p0,0,0,0 g1 bias det tf32 w1073741824	eng57 k2=9 k13=1	20.0
forward float32 n512 x1,1,784 y1,1,512 f1,1 s1,1 d1,1 p0,0,0,0 g1 bias det tf32 w1073741824	eng51 k2=9	31.5
forward float32 n512 x1,1,512 y1,1,10 f1,1 s1,1 d1,1 p0,0,0,0 g1 bias det tf32 w1073741824	eng51 k2=4	7.0
data float32 n512 x1,1,512 y1,1,10 f1,1 s1,1 d1,1 p0,0,0,0 g1 det w1073741824	eng0	9.0
data float32 n9999 x1,1,512 y1,1,10 f1,1 s1,1 d1,1 p0,0,0,0 g1 det w1073741824	eng9	0.0
weights bfloat16 n512 x1,1,512 y1,1,10 f1,1 s1,1 d1,1 p0,0,0,0 g1 det tf32 w536870912	eng3	2.0
weights float32 n512 x28,28,1 y24,24,20 f5,5 s1,1 d1,1 p0,0,0,0 g1 det tf32 w1073741824	eng4	2.0
forward float32 n512 x1,1,64 y1,1,64 f1,1 s1,1 d1,1 p0,0,0,0 g2 det tf32 w1073741824	eng5	2.0
TSV
engines 0
cat >expected <<'ROWS'
    {ConvPass::kData, ProductType::kStrict, 90, 91400, 91499, 0},  // 9.0 us, n512 512 -> 10
    {ConvPass::kForward, ProductType::kTf32, 90, 91400, 91499, 51},  // 31.5 us, n512 784 -> 512
    {ConvPass::kForward, ProductType::kTf32, 90, 91400, 91499, 57},  // 20.0 us, n512 512 -> 512
    {ConvPass::kWeights, ProductType::k16Bits, 90, 91400, 91499, 3},  // 2.0 us, n512 512 -> 10
ROWS
diff expected fast/engines.txt || fail "other rows of engines"

say "the table"
mkdir -p measured/bench/resnet50.bf16.graph measured/bench/resnet50.bf16.eager measured/torch
echo '{"rows": [{"global_batch": 256, "examples_per_second": 3300.0, "device_bytes": 13958643712}]}' >measured/bench/resnet50.bf16.graph/bench.json
echo '{"rows": [{"global_batch": 256, "examples_per_second": 3000.0, "device_bytes": 13958643712}]}' >measured/bench/resnet50.bf16.eager/bench.json
cat >measured/torch/resnet50.jsonl <<'JSON'
{"work": "resnet50", "precision": "bf16", "mode": "eager", "batch": 256, "examples_per_second": 2200.0, "peak_bytes": 26843545600}
{"work": "resnet50", "precision": "bf16", "mode": "compile", "error": "RuntimeError: no"}
{"work": "resnet50", "precision": "bf16", "mode": "graph", "batch": 256, "examples_per_second": 3000.0, "peak_bytes": 25769803776}
JSON
expect 0 python3 "$scripts/table.py" measured
grep -qE '^\| resnet50 \| +256 \| bf16 +\| +3,000 \| +3,300 \| +2,200 \| +- \| +3,000 \| +1\.50 \| +1\.10 \| +13\.0 \| +24\.0 \|$' out ||
  fail "the table has another row"
sed -i 's/256/128/' measured/bench/resnet50.bf16.eager/bench.json
expect 1 python3 "$scripts/table.py" measured
says "different batches"

say "kernels by time"
cat >profile.csv <<'CSV'
==PROF== Connected to process
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","void dptrain::kernels::cuda::(anonymous namespace)::pool<float, 2>(const T1 *, int)","gpu__time_duration.sum","ns","1,500.0"
"0","void dptrain::kernels::cuda::(anonymous namespace)::pool<float, 2>(const T1 *, int)","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","60"
"1","void dptrain::kernels::cuda::(anonymous namespace)::pool<float, 2>(const T1 *, int)","gpu__time_duration.sum","us","1.5"
"2","sm90_gemm","gpu__time_duration.sum","us","1"
CSV
expect 0 python3 "$scripts/kernels.py" profile.csv
grep -qE '^dptrain::kernels::cuda::pool +2 +3\.0 +75 % +60 %$' out || fail "the two launches of one kernel do not add up"
