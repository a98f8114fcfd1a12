#!/usr/bin/env bash
# `dptrain export` and `ckpt convert` write .onnx and .h5 of runs, checkpoints and configs, and reject unsupported
# models.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
small_data
small_config >small.yaml
run 0 fit small.yaml --cpus 1 --steps 3 --run-dir run

say "a run, its checkpoint, and a Keras file of it give the same ONNX file"
run 0 export run a.onnx
says "a.onnx: ONNX, "
run 0 export run/checkpoints/last.h5 b.onnx
run 0 ckpt convert run/checkpoints/last.h5 c.onnx
cmp b.onnx c.onnx || fail "export and ckpt convert write different files"
run 0 export run d.h5
run 0 export small.yaml e.onnx --weights d.h5
[ "$(wc -c <e.onnx)" -gt 1000 ] || fail "e.onnx is small"
grep -q dptrain_version a.onnx || fail "a.onnx does not say who wrote it"

say "a config alone: the initial weights, with a message"
run 0 export small.yaml f.onnx --opset 13
says "has no weights: exporting"

say "a rejected export leaves no file"
run 2 export run g.onnx --opset 12
says "13 to 21"
run 2 export run g.h5 --opset 17
says "--opset applies to .onnx files"
run 2 export run g.pb
says ".onnx (ONNX)"
run 2 export small.yaml g.onnx --ema
run 10 export run no/such/folder/g.onnx
ls g.* 2>/dev/null && fail "a refused export has left a file"

say "without the module everything else works, and export names the missing file"
cp "$DPTRAIN" ./dptrain
LD_LIBRARY_PATH='' ./dptrain export run h.h5 >out 2>&1 || fail "export to .h5 needs the module"
if ./dptrain export run h.onnx >out 2>&1; then fail "there is a module elsewhere, too"; fi
says "libdptrain_onnx.so"
