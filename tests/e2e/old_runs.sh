#!/usr/bin/env bash
# Runs written by version 6ba2d831: a small network stopped within an epoch, and a table. They resume, evaluate, predict
# and report.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
cp -r "$DPTRAIN_SOURCE/tests/runs/6ba2d831/." .
chmod -R u+w .
table=(--set data.train.CSV.file="$PWD/table.csv")

say "eval, predict, plot and report"
run 0 eval net --cpus 1x1
says "net/checkpoints/best.h5 on validation"
close 1e-4 "$(grep '^loss: ' out | cut -d' ' -f2)" 0.393164
run 0 eval table --cpus 1x1 "${table[@]}"
says "table/model.h5 on validation"
close 1e-4 "$(grep '^loss: ' out | cut -d' ' -f2)" 0.36556
printf 'size,colour\n2.5,red\n' >new.csv
run 0 predict table --input new.csv --output answers.csv
[ "$(cut -d, -f1,2 answers.csv | tail -n 1)" = new.csv:2,dog ] || fail "answers: $(cat answers.csv)"
run 0 plot net table -o curves.svg
for one in net table; do run 0 report $one --no-eval; done
grep -q 'best val_<wbr/>accuracy' net/report.html || fail "report.html names no best value"

say "resume within an epoch, and beyond the end"
run 0 fit net.yaml --cpus 1x1 --run-dir net --resume
says "resumed at epoch 3, step 27, sample 42; best val_accuracy 0.9333 (epoch 2)"
python3 "$support" json net/result.json 'j["exit"] == "completed"' 'j["epochs"] == 4' 'j["steps"] == 40' \
  'j["best_by_metric"]["val_accuracy"]["value"] > 0.9' || fail "result.json of the resumed run"
run 0 fit table.yaml --var TABLE=table.csv --cpus 1x1 --run-dir table --resume --epochs 5
python3 "$support" json table/result.json 'j["exit"] == "completed"' 'j["epochs"] == 5' || fail "result.json of the table"
