#!/usr/bin/env bash
# Trains a classifier on folders of clips (video files if supported, else frames): damage, on_error, statistics, a
# picture, replicas, evaluation, prediction.
# Sanitized: containers and decoders of damaged clips in the loader's threads.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
config=$DPTRAIN_SOURCE/configs/clips_cnn.yaml
make=${DPTRAIN_MAKE_CLIPS:?the program that makes clips}
clips() { run "$1" $2 "$config" --var CLIPS="$PWD/clips" "${@:3}"; }
logged=(--set "callbacks=[CSVLogger]")
epochs=12 stop=17 clips=120  # enough to learn; with sanitizers, which take ten times as long, to stop within an epoch
if "$DPTRAIN" --version | grep -q '^sanitizers'; then epochs=2 stop=3 clips=48; fi
# broken CODE RUN FLAG...: trains on the damaged clips.
broken() {
  run "$1" fit "$config" --set data.train.Video.directory="$PWD/broken" --var CLIPS="$PWD/clips" --cpus 1 --run-dir "$2" "${logged[@]}" "${@:3}"
}

say "folders of frames"
"$make" frames/train --clips 24 --size 40 40 --length 20 --frames
"$make" frames/val --clips 8 --size 40 40 --length 20 --seed 2 --frames
run 0 fit "$config" --var CLIPS="$PWD/frames" --epochs 1 --cpus 2x1 --run-dir frames-run
run 0 data scan "$config" --var CLIPS="$PWD/frames" --on train
says "formats  pnm frames 24"
says "frames   20 to 20, median 20"
says "sizes    1 different; height 40 to 40"
printf 'P6\n40 40\n255\nshort' >frames/train/left/00001/0007.ppm
run 3 data scan "$config" --var CLIPS="$PWD/frames"
says "damaged  1"
says "frames/train/left/00001: 0007.ppm: byte "

"$make" clips/train --clips $clips --size 40 40 --length 24
"$make" clips/val --clips 40 --size 40 40 --length 24 --seed 2
if ls clips/train/up/*.mp4 >/dev/null 2>&1; then
  say "files in four containers, some damaged"
  "$make" broken --clips 80 --size 40 40 --length 24 --damage 10 >names
  [ "$(rows names)" -eq 8 ] || fail "made $(rows names) damaged clips"
  run 3 data scan broken
  says "damaged  8"
  says "avi mpeg4 "
  says "mp4 mpeg4 "
  says "frames   24 to 24, median 24"
  grep -o 'broken/[a-z]*/[0-9]*\.[a-z0-9]*: ' out | tr -d ': ' | sort >found
  sort names | cmp -s - found || fail "damaged: $(cat names); found: $(cat found)"
  broken 3 failed --set data.train.Video.on_error=fail
  says "(on_error: skip leaves such files out)"
  broken 0 skipped --epochs 2
  [ "$(rows skipped/data-errors.csv)" -eq 9 ] || fail "data-errors.csv: $(cat skipped/data-errors.csv)"
  broken 0 workers --epochs 2 --set data.loader.workers=3
  same_run skipped workers
else
  say "this dptrain reads no files of clips"
  mkdir -p none/a
  : >none/a/1.mp4
  run 3 data scan none
  says "was built without the headers of FFmpeg"
fi

say "statistics and a picture"
clips 0 "data stats"
says "Normalization: {mean: ["
clips 0 "data preview" --samples 3 -o sheet.svg
says "wrote sheet.svg ("

say "training: stop and resume is training through"
clips 0 fit --cpus 2x1 --epochs $epochs --run-dir whole "${logged[@]}"
clips 0 fit --cpus 2x1 --epochs $epochs --run-dir parts --steps $stop "${logged[@]}"
clips 0 fit --cpus 2x1 --epochs $epochs --run-dir parts --resume "${logged[@]}"
same_run whole parts

say "it learns the direction; several replicas against one, without micro-batches (they change batch normalization)"
[ $epochs -lt 12 ] || run 0 eval whole/checkpoints/last.h5 --on validation --cpus 1 --assert 'accuracy>0.6'
clips 0 verify --cpus 3x1 --accumulate 1 --batch-size 12 --steps 2
says "verified: every difference is within"

say "predictions for clips without labels"
run 0 predict whole/checkpoints/last.h5 --input clips/val/left --cpus 1 --output predicted.csv
has_rows predicted.csv 11 || fail "ten clips, a header, and $(rows predicted.csv) lines"
