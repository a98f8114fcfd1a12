#!/usr/bin/env bash
# Damaged data sets: exit 3, and a message with the file and the position in it.
# Sanitized: damaged IDX and gzip files through fit, check and predict.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

small_data good
small_config >small.yaml
images=train-images-idx3-ubyte labels=train-labels-idx1-ubyte

# Copies the good files to data/, for `damage` to change.
fresh() { rm -rf data && cp -r good data; }
# refused WHAT TEXT...: check and fit both reject the data with exit 3 and all the texts, and leave no files.
refused() {
  say "$1"
  shift
  for command in "fit small.yaml --run-dir none" "check small.yaml --with-data"; do
    # shellcheck disable=SC2086  # words
    run 3 $command
    for text in "$@"; do says "$text"; done
    silent_on "internal error"
  done
  [ ! -e none ] || fail "a run directory was made for data that cannot be read"
}
# byte FILE OFFSET VALUE...: overwrites bytes, values in hexadecimal.
byte() {
  local file=$1 offset=$2
  shift 2
  printf '%b' "$(printf '\\x%s' "$@")" | dd of="$file" bs=1 seek="$offset" conv=notrunc status=none
}

fresh
run 0 check small.yaml --with-data

# 16 bytes of header and 600 x 144
truncate -s $((16 + 144 * 250 + 10)) data/$images
refused "images cut off" "data/$images: truncated: 86,416 bytes expected, found 36,026 (item 250 of 600)"

fresh
truncate -s 9 data/$images
refused "cut off inside the header" "data/$images: truncated: the header needs 16 bytes, found 9"

fresh
: >data/$labels
refused "an empty file" "data/$labels: the file is empty"

fresh
printf 'more' >>data/$images
refused "bytes beyond the end" "data/$images: oversized: 86,416 bytes expected for 600 items, found 86,420"

fresh
byte data/$images 2 07
refused "an unknown element type" "data/$images: not an IDX file: first bytes 00 00 07 03"

fresh
cp small.yaml data/$images
refused "another kind of file" "data/$images: not an IDX file: first bytes 64 70 74 72"

fresh
byte data/$images 3 00
refused "no dimension" "data/$images: the header names 0 dimensions at byte 3"

fresh
byte data/$images 8 00 00 00 00
refused "a dimension of zero" "data/$images: dimension 1 is 0 at byte 8"

fresh
byte data/$images 4 ff ff ff ff ff ff ff ff ff ff ff ff
refused "absurd dimensions" "data/$images: the dimensions in the header are too large"

fresh
byte data/$images 4 00 00 ff ff
refused "more items than there are bytes" "data/$images: truncated: 9,437,056 bytes expected, found 86,416 (item 600 of 65535)"

fresh
byte data/$labels $((8 + 17)) 0b
refused "a label out of range" "data/$labels, item 17: label 11 is outside 0..9 (the model has 10 outputs)"

fresh
truncate -s $((8 + 599)) data/$labels
byte data/$labels 4 00 00 02 57
refused "one label too few" "data/$images has 600 samples" "data/$labels has 599 labels; expected the same number"

fresh
cp good/$labels data/x && cp good/$images data/$labels && mv data/x data/$images
refused "images and labels swapped" "data/$labels: labels have the shape 600x12x12" "are inputs and labels swapped?"

fresh
byte data/$images 11 0a 00 00 00 0a
truncate -s $((16 + 600 * 100)) data/$images
refused "images of another size" "samples are 10x10" "the model expects 12x12x1"

fresh
rm data/$images
refused "no such file" "small.yaml:" ": error: data.train: no such file or folder: " "data/$images; did you mean"

say "compressed files"
sed -i "s/$images/$images.gz/" small.yaml
fresh
gzip --no-name data/$images
run 0 check small.yaml --with-data
packed=$(stat -c %s data/$images.gz)
truncate -s $((packed / 2)) data/$images.gz
refused "an archive cut off" "data/$images.gz: truncated: 86,416 bytes expected after decompression, found"

fresh
gzip --no-name data/$images
truncate -s $((packed - 6)) data/$images.gz
refused "an archive without its checksum" "data/$images.gz: truncated: all items are there, but the archive ends before its checksum"

fresh
gzip --no-name data/$images
byte data/$images.gz $((packed / 2)) 00 00 00 00 00 00 00 00
refused "damage inside an archive" "data/$images.gz: damaged: byte " " after decompression cannot be read"

fresh
{ cat data/$images; printf 'more'; } | gzip --no-name >data/$images.gz
refused "an archive of too much" "data/$images.gz: oversized: 86,416 bytes expected after decompression for 600 items, found 86,420"

say "predict reads with the same care"
small_config >small.yaml
fresh
run 0 fit small.yaml --steps 2 --run-dir trained
truncate -s 100 data/$images
run 3 predict trained --input data/$images
says "data/$images: truncated: 86,416 bytes expected, found 100 (item 0 of 600)"
run 3 predict trained --input missing-idx3-ubyte
says "missing-idx3-ubyte: no such file or folder"
