#!/usr/bin/env bash
# From a table of numbers in a .npy file to a forecast: windows, ordered parts, statistics, training, evaluation,
# prediction.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
config=$DPTRAIN_SOURCE/configs/series_forecast.yaml
python3 "$support" series series.npy 1200
forecast() { run "$1" $2 "$config" --var SERIES="$PWD/series.npy" "${@:3}"; }

say "windows: 1,200 hours, two days each; 15 % of 1,152 for each part, 48 at each border are left out"
run 0 data scan "$config" --var SERIES="$PWD/series.npy"
says "train: 710 samples"
says "validation: 173 samples"
says "test: 173 samples"

say "the columns' statistics, and with them mean 0 and variance 1"
forecast 0 "data stats" --set data.train.Windows.mean=null --set data.train.Windows.variance=null
sed -n 's/^Normalization: //p' out | tr -d '{}' | sed 's/mean: //; s/ variance: //' >numbers
mean=$(sed 's/\],.*/]/' numbers) variance=$(sed 's/.*\],/[/; s/\[\[/[/' numbers)
forecast 0 "data stats" --set "data.train.Windows.mean=$mean" --set "data.train.Windows.variance=$variance"
sed -n 's/^Normalization: {mean: \[\([^,]*\), .* variance: \[\([^,]*\),.*/\1 \2/p' out >numbers
awk '{ exit !($1 < 1e-3 && $1 > -1e-3 && $2 > 0.999 && $2 < 1.001) }' numbers || fail "the windows are not standard: $(cat numbers)"

say "training: better than to say that the next hour is as this one"
forecast 0 fit --cpus 1 --epochs 4 --run-dir run
loss=$(column run/train.csv val_loss | tail -n 1)
awk -v x="$loss" 'BEGIN { exit !(x > 0 && x < 0.12) }' || fail "val_loss is $loss"
run 0 eval run/checkpoints/last.h5 --on test --cpus 1 --assert 'mean_absolute_error<0.35' --assert 'loss<0.2'

say "replicas against one"
forecast 0 verify --cpus 3x1 --batch-size 10 --steps 2
says "verified: every difference is within"

say "a forecast for windows in a .npy file"
python3 "$support" series windows.npy 96 48
run 0 predict run/checkpoints/last.h5 --input windows.npy --cpus 1 --output predicted.csv
cp predicted.csv out
has_rows predicted.csv 3 || fail "two windows, a header, and $(rows predicted.csv) lines"

say "errors have a location"
printf 'no array' >wrong.npy
run 3 fit "$config" --var SERIES="$PWD/wrong.npy" --cpus 1
says "wrong.npy: "
says "series_forecast.yaml:"
run 3 fit "$config" --var SERIES="$PWD/none.npy" --cpus 1
says "data.train: no such file or folder"
