#!/usr/bin/env bash
# A folder of photos: rotated, CMYK, of one pixel, 20,000 pixels wide, with a wrong suffix, truncated, empty, not an
# image, a class without files. None is fatal with on_error: skip; all bad ones are listed.
# Sanitized: damaged photos through the decoders and their workers.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
seeds=$DPTRAIN_SOURCE/tests/fuzz/corpus/image
seed() { tail -c +2 "$seeds/$1" >"$2"; }  # their first byte is the fuzzer's
photo() { python3 "$support" photo "$@"; }

python3 "$support" photos photos 20
python3 "$support" photos test 4
# config ON_ERROR [WORKERS]
config() {
  cat >photos.yaml <<YAML
dptrain: 1
name: photos
seed: 3
model:
  layers:
    - Input: {shape: [8, 8, 1]}
    - Flatten
    - Dense: {units: $(find photos -mindepth 1 -maxdepth 1 -type d | wc -l), activation: softmax}
data:
  train: {ImageFolder: {directory: photos, color_mode: grayscale, on_error: $1}}
  validation: {Split: {of: train, fraction: 0.2, stratified: true}}
  transforms: [{CenterCrop: {height: 8, width: 8}}, {Rescaling: {scale: 1/64, offset: -2}}]
  loader: {workers: ${2:-2}}
train:
  epochs: 2
  batch_size: 4
  optimizer: {Adam: 0.05}
  loss: categorical_crossentropy
  metrics: [accuracy]
callbacks: [CSVLogger]
YAML
}
# bad RUN: the base names in its data-errors.csv, sorted.
bad() { tail -n +2 "$1/data-errors.csv" | sed 's/^"\{0,1\}[^,]*\///; s/,.*//' | sort | tr '\n' ' '; }

say "good photos only"
config fail
run 0 fit photos.yaml --run-dir good
[ ! -e good/data-errors.csv ] || fail "data-errors.csv without errors"
awk -F, 'NR == 3 && $3 < 0.9 { exit 1 }' good/train.csv || fail "light and dark were not learnt: $(cat good/train.csv)"
[ "$(cat good/labels.txt)" = $'dark\nlight' ] || fail "labels.txt: $(cat good/labels.txt)"

say "strange but good ones"
mkdir "photos/a class" photos/light/more
photo photos/light/turned.jpg 24 10 200 6
photo photos/dark/wide.jpg 20000 16 30
photo "photos/dark/two words.jpg" 16 16 40
photo photos/light/more/h$'\xc3\xa9'.jpg 16 16 220
seed baseline.jpg photos/light/color.jpg
seed progressive.jpg photos/light/progressive.jpg
seed cmyk.jpg photos/light/cmyk.jpg
seed ycck.jpg photos/light/ycck.jpg
photo "photos/a class/1.jpg" 16 16 100
photo photos/dark/tiny.jpg 1 1 20
python3 - photos/dark/png.jpg <<'PY'
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + bytes([30]) * 9 for _ in range(9))
open(sys.argv[1], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 0, 0, 0, 0))
                              + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
ln -s .. photos/light/circle
config fail
run 0 fit photos.yaml --run-dir strange
[ ! -e strange/data-errors.csv ] || fail "good files are listed: $(cat strange/data-errors.csv)"

say "fail: the run ends with the name of a bad file, the byte and the decoder's words"
mkdir photos/nothing
photo photos/light/cut.jpg 640 64 200
truncate -s 200 photos/light/cut.jpg
config fail
run 3 fit photos.yaml --run-dir failed
says "nothing: no files; the class 'nothing' has no samples"
says "error: $work/photos/light/cut.jpg: byte 200: Premature end of JPEG file (on_error: skip leaves such files out)"
[ "$(bad failed)" = "cut.jpg " ] || fail "data-errors.csv: $(cat failed/data-errors.csv)"
grep -q '^file,byte,message$' failed/data-errors.csv || fail "no header"
grep -q 'photos/light/cut.jpg,200,Premature end of JPEG file$' failed/data-errors.csv || fail "$(cat failed/data-errors.csv)"

say "skip: training continues without them"
: >photos/dark/zero.jpg
echo "notes about light, and \"more\"" >photos/light/notes.jpeg
ln -s gone.jpg photos/light/broken.jpg
all="broken.jpg cut.jpg notes.jpeg zero.jpg "
config skip
run 0 fit photos.yaml --run-dir skipped
says "4 files with errors are skipped"
[ "$(bad skipped)" = "$all" ] || fail "listed: $(bad skipped)"
grep -q 'photos/dark/zero.jpg,0,the file is empty$' skipped/data-errors.csv || fail "$(cat skipped/data-errors.csv)"
grep -q 'light/notes.jpeg,0,"\{0,1\}not a readable image but a text file' skipped/data-errors.csv || fail "$(cat skipped/data-errors.csv)"
grep -q 'light/broken.jpg,,cannot open: No such file or directory$' skipped/data-errors.csv || fail "$(cat skipped/data-errors.csv)"
run 0 eval skipped --set 'data.test={ImageFolder: {directory: '"$work"'/photos, color_mode: grayscale, on_error: skip}}' --on test
says "n: 51"
says "4 files with errors are skipped"
run 3 predict skipped --input photos/light/cut.jpg --on-error fail
says "error: photos/light/cut.jpg: byte 200: Premature end of JPEG file (--on-error skip leaves such files out)"

say "the same for any number of workers"
config skip 5
run 0 fit photos.yaml --run-dir workers
same_run skipped workers
cmp -s skipped/data-errors.csv workers/data-errors.csv || fail "another order of bad files"

say "stop and resume: the same, and no file twice"
config skip
run 0 fit photos.yaml --run-dir resumed --steps 9
run 0 fit photos.yaml --resume --run-dir resumed
same_run skipped resumed
cmp -s skipped/data-errors.csv resumed/data-errors.csv || fail "$(cat resumed/data-errors.csv)"

say "limits"
config '{skip: 3}'
run 3 fit photos.yaml --run-dir limited
says "4 of 55 files cannot be read, more than on_error allows (3)"
[ "$(rows limited/data-errors.csv)" -eq 5 ] || fail "listed: $(cat limited/data-errors.csv)"
config '{skip: 4}'
run 0 fit photos.yaml --run-dir limited --overwrite --epochs 1
config '{skip: 6%}'
run 3 fit photos.yaml --run-dir limited --overwrite
says "more than on_error allows (6 %)"

say "two replicas, which share a limit"
config '{skip: 8%}'
run 0 fit photos.yaml --run-dir two --cpus 2 --epochs 1
[ "$(bad two)" = "$all" ] || fail "listed: $(bad two)"

say "class_names, and mismatches"
config skip
run 3 fit photos.yaml --set 'data.train.ImageFolder.class_names=[dark, light, a class, nothin]'
says "no folder for the class 'nothin' of class_names; did you mean 'nothing'?"
run 3 fit photos.yaml --set 'data.train.ImageFolder.class_names=[dark, light, a class, extra]'
says "no folder for the class 'extra'"
run 3 check photos.yaml --with-data --set 'data.test={ImageFolder: {directory: '"$work"'/test, color_mode: grayscale}}'
says "the classes of data.test are dark, light, those of data.train a class, dark, light, nothing"
run 3 fit photos.yaml --set data.train.ImageFolder.directory="$work/none"
says "/none"
says "error: data.train: no such file or folder: "
run 2 fit photos.yaml --set data.train.ImageFolder.on_error=ignore
says "on_error must be fail, skip, or {skip: LIMIT}"
