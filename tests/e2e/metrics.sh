#!/usr/bin/env bash
# Stateful metrics in train.csv, monitors, eval and --assert. A run stopped inside an epoch and resumed gives the same
# digits, on another number of replicas nearly so, and each output has its own metrics.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

small_data
small_config |
  sed -e 's/metrics: .*/metrics: [accuracy, auc, {F1Score: {average: macro}}, {Precision: {thresholds: [0.2, 0.4]}}, {MeanIoU: {num_classes: 10}}]/' \
    -e 's/monitor: val_accuracy/monitor: val_f1_score/' -e 's/  - CSVLogger/  - EarlyStopping: {monitor: val_auc, patience: 9}/' >metrics.yaml
names="auc f1_score precision_0 precision_1 mean_io_u"

say "uninterrupted"
run 0 fit metrics.yaml --cpus 1 --run-dir whole
says "val_f1_score: "
for name in $names; do
  for value in $(column whole/train.csv "$name") $(column whole/train.csv "val_$name"); do
    awk -v x="$value" 'BEGIN { exit !(x >= 0 && x <= 1) }' || fail "$name is $value"
  done
done
python3 "$support" json whole/result.json 'j["best"]["val_f1_score"] >= j["final"]["val_f1_score"] > 0' ||
  fail "result.json"

say "stopped inside an epoch and resumed"
run 0 fit metrics.yaml --cpus 1 --run-dir stopped --steps 27
run 0 fit metrics.yaml --cpus 1 --run-dir stopped --resume
for name in $names; do
  [ "$(column stopped/train.csv "$name")" = "$(column whole/train.csv "$name")" ] || fail "$name differs after a resume"
done

say "resumed with other metrics"
run 0 fit metrics.yaml --cpus 1 --run-dir other --steps 27
run 0 fit metrics.yaml --cpus 1 --run-dir other --resume --set 'train.metrics=[accuracy, {F1Score: {average: macro}}, {AUC: {curve: PR}}]'
says "the metrics differ from those of the checkpoint: this epoch's values exclude its first 210 samples"

say "on three replicas"
run 0 fit metrics.yaml --cpus 3x1 --run-dir three
for name in $names; do
  close 0.02 "$(column three/train.csv "$name" | head -n 1)" "$(column whole/train.csv "$name" | head -n 1)" ||
    fail "$name on three replicas"
done

say "eval and its assertions"
auc=$(column whole/train.csv val_auc | tail -n 1)
run 0 eval whole/checkpoints/last.h5 --cpus 2x1 --assert 'auc>0.5' --assert 'f1_score<=1' --assert 'precision_1>=0'
close 1e-4 "$(sed -n 's/^auc: //p' out)" "$auc" || fail "eval says another auc than $auc"
run 7 eval whole/checkpoints/last.h5 --cpus 1 --assert 'auc>1'
says "assertion 'auc>1' failed: auc is "
run 2 eval whole/checkpoints/last.h5 --cpus 1 --assert 'aux>1'

say "two outputs"
cat >two.yaml <<'YAML'
dptrain: 1
name: two
model:
  layers:
    - Input: {name: x, shape: [6, 6, 1]}
    - Flatten: {name: flat}
    - Dense: {name: kind, inputs: flat, units: 3, activation: softmax}
    - Dense: {name: sure, inputs: flat, units: 1, activation: sigmoid}
  outputs: [kind, sure]
data: {train: {Synthetic: {samples: 40}}, validation: {Synthetic: {samples: 20}}}
train:
  epochs: 1
  batch_size: 8
  loss: {kind: sparse_categorical_crossentropy, sure: binary_crossentropy}
  metrics: {kind: [{Precision: {class_id: 1}}], sure: [precision, root_mean_squared_error]}
callbacks: [{ModelCheckpoint: {monitor: val_kind_precision, save_best_only: true}}]
YAML
run 0 fit two.yaml --cpus 1 --run-dir two
python3 "$support" json two/eval.json '{"kind", "sure"} == set(j["outputs"])' 'len(j["outputs"]["kind"]["worst"]) == 20' || fail "eval.json of two outputs"
grep -q 'kind: best.h5 on validation, 20 samples' two/report.html || fail "report.html of two outputs"
run 0 fit two.yaml --cpus 1 --run-dir two --overwrite --no-report
[ ! -e two/confusion-kind.csv ] || fail "--overwrite left the files of an output"
for name in kind_precision sure_precision val_kind_precision val_sure_root_mean_squared_error; do
  column two/train.csv "$name" >/dev/null
done

say "two metrics of one name"
run 2 fit two.yaml --cpus 1 --dry-run --set 'train.metrics={kind: [{Precision: {class_id: 1}}], sure: [precision, {Precision: {thresholds: 0.7}}]}'
says "another metric of output 'sure' is logged as 'precision', too; give one of them a name"
