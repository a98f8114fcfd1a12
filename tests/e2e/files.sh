#!/usr/bin/env bash
# The files for scripts, name by name and column by column (docs/reference/run-directory.md).
# Sanitized: every writer, eval, predict and plot.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

small_data
small_config >plain.yaml
names='[zero, one, two, three, "four, or five", five, six, seven, eight, nine]'
sed "s/labels: \(data[^}]*\)}/labels: \1, class_names: $names}/" plain.yaml >small.yaml

first_line() { head -n 1 "$1" | tr -d '\r'; }
header() { [ "$(first_line "$1")" = "$2" ] || fail "$1 begins with '$(first_line "$1")', expected '$2'"; }
json() { python3 "$support" json "$@" || fail "$1"; }

say "a run's folder"
run 0 fit small.yaml --cpus 2x1 --run-dir "a run"
for name in config.yaml config.resolved.yaml command.txt env.json train.log train.csv steps.csv events.jsonl result.json model.h5 \
  labels.txt log.csv checkpoints/last.h5 checkpoints/best.h5 report.html eval.json confusion.csv answers.csv; do
  [ -s "a run/$name" ] || fail "no $name"
done
[ "$(find "a run" -type f ! -name .lock | wc -l)" -eq 22 ] || fail "unexpected files: $(find "a run" -type f)"
for picture in curves confusion scores worst; do python3 "$support" xml "a run/$picture.svg" || fail "$picture.svg of a run"; done
cmp -s small.yaml "a run/config.yaml" || fail "config.yaml is not the config as written"
[ "$(cat "a run/command.txt")" = "$DPTRAIN fit small.yaml --cpus 2x1 --run-dir 'a run'" ] || fail "command.txt: $(cat "a run/command.txt")"
[ "$(sed -n 5p "a run/labels.txt")" = "four, or five" ] && has_rows "a run/labels.txt" 10 || fail "labels.txt"
mv "a run" run
run 0 check run/config.resolved.yaml --with-data
json run/env.json '{"dptrain", "git", "build", "libraries", "machine", "environment", "devices", "data_fingerprint", "time"} == set(j)' \
  'j["machine"]["cores"] >= 1' 'len(j["devices"]) == 2 and j["devices"][1].startswith("cpu:1 1 thread")' 'j["libraries"]["onednn"][0].isdigit()' 'j["data_fingerprint"].startswith("idx:600:12x12:")'

say "train.csv, steps.csv, log.csv"
header run/train.csv epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds
has_rows run/train.csv 3 || fail "train.csv"
[ "$(column run/train.csv epoch | paste -sd,)" = 1,2 ] || fail "epochs of train.csv"
[ "$(column run/train.csv lr | paste -sd,)" = 0.05,0.05 ] || fail "lr of train.csv"
header run/steps.csv step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms
[ "$(column run/steps.csv step | paste -sd,)" = "$(seq -s, 40)" ] || fail "steps of steps.csv"
[ "$(column run/steps.csv epoch | sort | uniq -c | awk '{ print $1 "x" $2 }' | paste -sd,)" = 20x1,20x2 ] || fail "epochs of steps.csv"
header run/log.csv epoch,accuracy,loss,val_accuracy,val_loss
[ "$(grep -c $'\r$' run/log.csv)" -eq 3 ] || fail "log.csv is not in Keras's format: its lines end in CR LF"
[ "$(cut -d, -f1 run/log.csv | paste -sd,)" = epoch,0,1 ] || fail "epochs of log.csv"

say "result.json, events.jsonl"
json run/result.json '{"exit", "epochs", "steps", "skipped_steps", "rollbacks", "seconds", "examples_per_second", "final", "best", "best_by_metric", "directions", "checkpoints"} == set(j)' \
  'j["skipped_steps"] == j["rollbacks"] == 0' \
  'j["exit"] == "completed"' 'j["epochs"] == 2' 'j["steps"] == 40' 'j["seconds"] > 0' 'j["examples_per_second"] > 0' \
  '{"loss", "accuracy", "val_loss", "val_accuracy"} == set(j["final"])' \
  '{"loss", "accuracy", "val_loss", "val_accuracy", "epoch"} == set(j["best"])' 'j["best"]["epoch"] in (1, 2)' \
  'j["directions"] == {"loss": "min", "accuracy": "max", "val_loss": "min", "val_accuracy": "max"}' \
  '{k: v["value"] for k, v in j["best_by_metric"].items()} == {k: v for k, v in j["best"].items() if k != "epoch"}' \
  '{k: p.startswith("/") and p.endswith(f"/a run/checkpoints/{k}.h5") for k, p in j["checkpoints"].items()} == {"last": True, "best": True}'
final=$(python3 -c 'import json; print("%.9g" % json.load(open("run/result.json"))["final"]["loss"])')
[ "$(column run/train.csv loss | tail -n 1)" = "$final" ] || fail "train.csv and result.json differ in the final loss"
python3 "$support" jsonl run/events.jsonl 'all(line["t"] > 1e9 for line in j)' 'j[-1]["ev"] == "end" and j[-1]["exit"] == "completed"' \
  '{"step", "save", "epoch", "end"} == {line["ev"] for line in j}' '[line["epoch"] for line in j if line["ev"] == "epoch"] == [1, 2]' ||
  fail "events.jsonl"

say "the checkpoint and the file to hand on"
run 0 ckpt show run/checkpoints/last.h5
says "dptrain checkpoint, format 1"
says "classes (10): zero, one, two"
run 0 ckpt show run/model.h5
says "Keras model, Keras 2.15.0"
silent_on "state:"

say "eval"
run 0 eval run/checkpoints/last.h5 --quiet
loss=$(sed -n 's/^loss: //p' out)
close 1e-5 "$loss" "$(column run/train.csv val_loss | tail -n 1)" || fail "eval says loss $loss"
[ "$(cut -d: -f1 out | paste -sd,)" = loss,accuracy,n ] || fail "lines of eval: $(cat out)"
says "n: 120"
json run/eval.json '{"checkpoint", "on", "n", "loss", "accuracy", "examples_per_second", "classes", "macro", "worst"} == set(j)' 'j["n"] == 120' 'j["on"] == "validation"' \
  'len(j["worst"]) == 24' '{"sample", "label", "answer", "probability", "loss"} == set(j["worst"][0])' \
  '[w["loss"] for w in j["worst"]] == sorted((w["loss"] for w in j["worst"]), reverse=True)'
for picture in confusion scores; do python3 "$support" xml run/$picture.svg || fail "$picture.svg"; done
header run/confusion.csv 'label,zero,one,two,three,"four, or five",five,six,seven,eight,nine'
[ "$(rows run/confusion.csv)" -eq 11 ] || fail "rows of confusion.csv"
python3 - <<'PYTHON' || fail "confusion.csv and the accuracy of eval.json disagree"
import csv, json
table = [[int(x) for x in row[1:]] for row in list(csv.reader(open("run/confusion.csv")))[1:]]
right = sum(table[i][i] for i in range(10)) / 120
raise SystemExit(sum(map(sum, table)) != 120 or abs(right - json.load(open("run/eval.json"))["accuracy"]) > 1e-9)
PYTHON
run 0 eval run --on train --ema --output elsewhere
[ -s elsewhere/eval-train.json ] && [ -s elsewhere/confusion-train.csv ] || fail "--output"

say "report"
python3 "$support" xml run/report.html || fail "report.html is not well-formed"
grep -q "four, or five" run/report.html || fail "report.html lacks a class"
[ "$(grep -o 'src="data:image/png' run/report.html | wc -l)" -eq 24 ] || fail "report.html lacks worst samples"
touch run/checkpoints/best.h5
run 0 report run --no-eval -o no-eval.html
silent_on "on validation"
run 0 report run
says "run/checkpoints/best.h5 on validation"
says "wrote run/report.html"
run 0 report run
silent_on "on validation"
run 0 fit plain.yaml --cpus 1x1 --run-dir bare --no-report
[ ! -e bare/report.html ] && [ ! -e bare/eval.json ] || fail "--no-report"
mv data moved
run 0 report bare run
says "warning: bare is not evaluated: "
mv moved data
python3 "$support" xml report.html || fail "the page of two runs is not well-formed"
grep -q 'id="run2-worst"' report.html || fail "the page of two runs lacks a section"
run 3 report data
says "the folder has no config.resolved.yaml"
run 0 fit plain.yaml --cpus 1x1 --run-dir blocked --steps 2
rm blocked/report.html && mkdir -p blocked/report.html
run 0 fit plain.yaml --cpus 1x1 --run-dir blocked --resume --epochs 1
says "warning: cannot write report.html: "

say "predict"
run 0 predict run --input data/t10k-images-idx3-ubyte --output preds.csv
header preds.csv index,label,probability
[ "$(rows preds.csv)" -eq 121 ] || fail "rows of preds.csv"
[ "$("$DPTRAIN" predict run --input data/t10k-images-idx3-ubyte | cksum)" = "$(cksum <preds.csv)" ] || fail "stdout and --output differ"
run 0 predict run/checkpoints/last.h5 --input data/t10k-images-idx3-ubyte --top 2 --probabilities --output preds.csv
header preds.csv 'index,label,probability,label_2,probability_2,p_zero,p_one,p_two,p_three,"p_four, or five",p_five,p_six,p_seven,p_eight,p_nine'
python3 - <<'PYTHON' || fail "columns of preds.csv contradict one another"
import csv
for i, row in enumerate(csv.DictReader(open("preds.csv"))):
    p = {k[2:]: float(v) for k, v in row.items() if k.startswith("p_")}
    best = sorted(p.values(), reverse=True)
    assert int(row["index"]) == i and abs(sum(p.values()) - 1) < 1e-5
    assert p[row["label"]] == float(row["probability"]) == best[0] and p[row["label_2"]] == float(row["probability_2"]) == best[1]
PYTHON

say "bench"
run 0 bench plain.yaml --data real --sweep cpus=1x1,2x1 --sweep batch=30,60 --steps 4 --warmup 1 --repeats 2 --output timing
json timing/bench.json '{"dptrain", "machine", "config", "rows", "verdict"} <= set(j)' 'j["config"] == "plain.yaml"' 'len(j["rows"]) == 4' \
  '[(r["replicas"], r["threads"], r["global_batch"], r["devices"]) for r in j["rows"]] == [(1, 1, 30, "1x1"), (1, 1, 60, "1x1"), (2, 1, 30, "2x1"), (2, 1, 60, "2x1")]' \
  'all({"devices", "replicas", "threads", "global_batch", "examples_per_second", "examples_per_second_min", "examples_per_second_max", "step_ms", "forward_backward_ms", "comm_exposed_ms", "optimizer_ms", "data_wait_ms", "peak_bytes", "of_peak", "peak_gflops"} <= set(r) for r in j["rows"])' \
  'all(r["examples_per_second_min"] <= r["examples_per_second"] <= r["examples_per_second_max"] for r in j["rows"])' \
  'len(j["verdict"]) > 10'
header timing/bench.csv replicas,threads,global_batch,examples_per_second,examples_per_second_min,examples_per_second_max,speedup,efficiency,step_ms,forward_backward_ms,comm_exposed_ms,optimizer_ms,data_wait_ms,peak_bytes,devices,workers,loader_examples_per_second,of_peak
[ "$(rows timing/bench.csv)" -eq 5 ] || fail "rows of bench.csv"
python3 "$support" xml timing/scaling.svg || fail "scaling.svg"
cp timing/bench.json sweep.json
run 0 bench plain.yaml --cpus 1x1 --batch-size 30 --steps 2 --warmup 1 --repeats 1 --layers --output timing
json timing/bench-layers.json 'any(p["name"] == "conv backward" and p["bound_ms"] > 0 for p in j["rows"][0]["passes"])' '"farthest from" in j["verdict"]'
json timing/bench-layers.json 'any(layer["name"] == "conv" and layer["forward_gflops"] > 0 for layer in j["rows"][0]["layers"])'
cmp timing/bench.json sweep.json || fail "--layers has replaced the sweep"
sed 's/"examples_per_second": [0-9.]*/"examples_per_second": 1e12/' timing/bench.json >faster.json
run 7 bench plain.yaml --cpus 1x1 --batch-size 30 --steps 2 --warmup 1 --repeats 1 --baseline faster.json --output timing
says "slower than faster.json"
run 0 bench plain.yaml --set parallel.virtual_shards=4 --set parallel.sync_batchnorm=false --cpus 2x1 --batch-size 30 --steps 2 --warmup 1 --repeats 1 --output timing
says "2x1 batch 30: 4 virtual shards: "
json timing/bench.json 'j["rows"][0]["virtual_shards"] == 4' 'j["rows"][0]["examples_per_second_without_shards"] > 0' 'j["rows"][0]["ratio_to_no_shards"] > 0'
run 0 bench plain.yaml --data loader-only --cpus 1x1 --steps 4 --warmup 1 --repeats 1 --output timing
json timing/bench.json 'j["data"] == "loader-only"' 'j["rows"][0]["of_peak"] is None' 'j["rows"][0]["examples_per_second"] > 0'

say "plot, summary, config"
run 0 plot run
python3 "$support" xml run/curves.svg || fail "curves.svg"
run 0 summary small.yaml --dot graph.dot --plot-schedule lr.svg
grep -q '^digraph' graph.dot || fail "graph.dot"
python3 "$support" xml lr.svg || fail "lr.svg"
run 0 config --schema
cp out schema.json
json schema.json 'j["title"] == "dptrain config"' '"model" in j["properties"]' 'j["properties"]["train"]["additionalProperties"] is False'

say "a run that ends inside an epoch has a row for the partial epoch, until it continues"
run 0 fit plain.yaml --cpus 1x1 --run-dir partial --steps 25
[ "$(column partial/train.csv epoch | paste -sd,)" = 1,2 ] || fail "no row for the epoch begun"
[ -z "$(column partial/train.csv val_loss | tail -n 1)" ] || fail "the epoch begun has no validation"
run 0 fit plain.yaml --cpus 1x1 --run-dir partial --resume
[ "$(column partial/train.csv epoch | paste -sd,)" = 1,2 ] || fail "the row was not replaced"
[ -n "$(column partial/train.csv val_loss | tail -n 1)" ] || fail "the row was not replaced"

say "why a run ended"
run 0 fit plain.yaml --cpus 1x1 --run-dir early --epochs 50 --set 'callbacks=[{EarlyStopping: {monitor: loss, min_delta: 100, patience: 2}}]'
grep -q 'model.h5 on validation, 120 samples' early/report.html || fail "report.html without best.h5"
json early/result.json 'j["exit"] == "early_stopping"' 'j["epochs"] == 3' '"best" not in j["checkpoints"]'
run 0 fit plain.yaml --cpus 1x1 --run-dir short --epochs 100000 --max-time 0.2s --log-every '1000 steps'
json short/result.json 'j["exit"] == "max_time"' 'j["epochs"] < 100000'
run 6 fit plain.yaml --cpus 1x1 --run-dir diverged --set train.optimizer.SGD.learning_rate=1e38
says "error: training diverged: the loss of step 2 is nan"
json diverged/result.json 'j["exit"] == "diverged"' 'j["steps"] == 1'
[ ! -e diverged/model.h5 ] || fail "a run that failed left a model to hand on"
run 6 replay diverged/fault
says "replay   on 1x1: the same"
says "loss     nan, the same bits"
run 7 fit plain.yaml --cpus 1x1 --run-dir claimed --assert 'val_accuracy>=1.5'
says "assertion 'val_accuracy>=1.5' failed: val_accuracy is"
json claimed/result.json 'j["exit"] == "completed"'
