#!/usr/bin/env bash
# data scan, stats and preview, predict on images, and eval's scores, on folders of small good and damaged photos.
# Sanitized: scan, stats, preview and predict read and write image files.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
photo() { python3 "$support" photo "$@"; }
json() { python3 "$support" json "$@" || fail "$1"; }

python3 "$support" photos photos 20
cat >photos.yaml <<'YAML'
dptrain: 1
name: photos
seed: 3
model:
  layers:
    - Input: {shape: [8, 8, 1]}
    - Flatten
    - Dense: {units: 8, activation: relu}
    - Dense: {units: 2, activation: softmax}
data:
  train: {ImageFolder: {directory: photos, color_mode: grayscale, on_error: skip}}
  validation: {Split: {fraction: 0.25, stratified: true}}
  transforms:
    train: [{RandomCrop: {height: 8, width: 8}}, {RandomFlip: horizontal}, {Rescaling: 1/255}]
    eval: [{CenterCrop: {height: 8, width: 8}}, {Rescaling: 1/255}]
train:
  epochs: 8
  batch_size: 4
  optimizer: {Adam: 0.02}
  loss: categorical_crossentropy
  metrics: [accuracy]
YAML

say "scan of a good folder"
run 0 data scan photos
says "photos: 40 samples, 2 classes"
says "dark         20   50.0 %"
says "formats  jpeg 40"
says "colours  gray 40"
says "damaged  0"

say "train, and the scores of each class from eval"
run 0 fit photos.yaml --run-dir run --cpus 1
run 0 eval run --cpus 1
says "class  precision  recall      f1  support"
json run/eval.json '[c["name"] for c in j["classes"]] == ["dark", "light"]' 'all(c["support"] == 5 for c in j["classes"])' \
  'set(j["macro"]) == {"precision", "recall", "f1"}' 'j["macro"]["recall"] >= 0.8' \
  'abs(sum(c["recall"] * c["support"] for c in j["classes"]) / 10 - j["accuracy"]) < 1e-9'
run 0 eval run --cpus 1 --quiet
[ "$(cut -d: -f1 out | paste -sd,)" = loss,accuracy,n ] || fail "lines of eval --quiet: $(cat out)"

say "predict: a folder, nested and flat; single files; names and probabilities"
mkdir -p "new/b b" new/a
photo new/z.jpg 20 16 210
photo "new/b b/one, two.jpg" 16 16 30
photo new/a/x.jpg 16 18 220
run 0 predict run --input new --cpus 1 --output preds.csv --probabilities
[ "$(head -n 1 preds.csv)" = file,label,probability,p_dark,p_light ] || fail "header: $(head -n 1 preds.csv)"
[ "$(cut -d, -f1,2 preds.csv | sed -n 2p)" = new/z.jpg,light ] || fail "$(cat preds.csv)"
grep -q '^new/a/x.jpg,light,' preds.csv && grep -q '^"new/b b/one, two.jpg",dark,' preds.csv || fail "$(cat preds.csv)"
[ "$(rows preds.csv)" -eq 4 ] || fail "rows: $(cat preds.csv)"
run 0 predict run --input new/z.jpg --input "new/b b" --cpus 1 --top 2
says "file,label,probability,label_2,probability_2"
[ "$(wc -l <out)" -eq 3 ] || fail "$(cat out)"
whole=$(grep '^new/z.jpg,' preds.csv | cut -d, -f2,3)
[ "$(grep '^new/z.jpg,' out | cut -d, -f2,3)" = "$whole" ] || fail "another batch, another prediction"

say "predict: unreadable files"
photo new/cut.jpg 64 64 200
truncate -s 180 new/cut.jpg
run 0 predict run --input new --cpus 1 --output preds.csv
says "skipped: new/cut.jpg: byte 180: Premature end of JPEG file"
[ "$(rows preds.csv)" -eq 4 ] || fail "rows: $(cat preds.csv)"
rm preds.csv
run 3 predict run --input new --cpus 1 --output preds.csv --on-error fail
says "new/cut.jpg: byte 180"
[ ! -e preds.csv ] || fail "a CSV of a failed run"
run 3 predict run --input new/cut.jpg --cpus 1
silent_on "file,label"  # an error alone, without a header
run 3 predict run --input none --cpus 1
says "none: no such file or folder"

say "scan lists damaged and misnamed files, and ends with 3"
cp new/cut.jpg photos/light/cut.jpg
: >photos/dark/zero.jpg
echo words >photos/dark/notes.jpeg
mkdir photos/empty
cp "$DPTRAIN_SOURCE/tests/fuzz/corpus/image/rgb.png" raw && tail -c +2 raw >photos/light/png.jpg
run 3 data scan photos
says "photos: 44 samples, 3 classes"
says "empty         0    0.0 %"
says "formats  jpeg 41, png 1"
says "one file has a format other than its suffix indicates"
says "photos/light/png.jpg: png"
says "damaged  3"
says "photos/light/cut.jpg: byte 180: Premature end of JPEG file"
says "photos/dark/zero.jpg: byte 0: the file is empty"
says "photos/dark/notes.jpeg: byte 0: not a readable image but a text file"
run 3 data scan photos/light
says "photos/light: 22 samples"
rmdir photos/empty
run 3 data scan photos.yaml
says "train: "
says "validation: "

say "stats"
rm photos/light/cut.jpg photos/dark/zero.jpg photos/dark/notes.jpeg photos/light/png.jpg
run 0 data stats photos/dark
says "photos/dark: 20 samples"
says "values as they are stored"
run 0 data stats photos.yaml
says "values after CenterCrop, Rescaling"
mean=$(sed -n 's/^Normalization: {mean: \[\([0-9.]*\)\].*/\1/p' out)
awk -v m="$mean" 'BEGIN { exit !(m > 0.3 && m < 0.7) }' || fail "mean: $(cat out)"
run 0 data stats photos.yaml --on validation
says "validation: 10 samples"
run 2 data stats photos.yaml --on test
says "the config has no data.test"

say "preview"
run 0 data preview photos.yaml --samples 3 --epochs 4 -o sheet.svg
says "wrote sheet.svg"
python3 "$support" xml sheet.svg || fail "sheet.svg is not well-formed"
cp sheet.svg again.svg
run 0 data preview photos.yaml --samples 3 --epochs 4 -o sheet.svg
cmp -s sheet.svg again.svg || fail "another picture of the same draws"
run 0 data preview photos.yaml --samples 3 --epochs 4 -o sheet.svg --set seed=4
! cmp -s sheet.svg again.svg || fail "the seed changes nothing"
run 0 data preview photos.yaml --eval-transforms
[ -s preview.svg ] || fail "no preview.svg"
run 2 data preview photos.yaml -o chart.png
says "use chart.svg"
[ ! -e chart.png ] || fail "chart.png"
run 2 data preview photos
run 2 data scna photos
says "did you mean 'scan'?"
