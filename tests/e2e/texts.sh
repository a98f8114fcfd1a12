#!/usr/bin/env bash
# A folder of texts from fit to eval: the checkpoint carries the fitted vocabulary to texts outside the training set.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
config=$DPTRAIN_SOURCE/configs/text_classification.yaml

say "texts whose class depends on one word"
for k in $(seq 1 60); do
  for class in bad good; do
    for set in train test; do
      mkdir -p "texts/$set/$class"
      echo "The film no. $((k * 7 % 13)) was, all in all, $class$((k % 3))! Say $set." >"texts/$set/$class/$k.txt"
    done
  done
done
small=(--var TEXTS="$PWD/texts" --batch-size 8 --epochs 6 --set train.optimizer.Adam.learning_rate=0.03 --cpus 2x1)
run 0 fit "$config" "${small[@]}" --run-dir whole
says "words, 1 for padding and 1 for unknown words"
run 0 eval whole --output .
accuracy=$(sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' eval.json | head -n 1)
awk -v x="$accuracy" 'BEGIN { exit !(x > 0.95) }' || fail "the accuracy on texts of the same words is $accuracy"

say "the words are the model's, though other texts are there now"
run 0 fit "$config" "${small[@]}" --run-dir part --steps 8
run 0 eval part --output part
grep '^[a-z]*:' out >before
sed -i 's/film/movie/' texts/train/*/*.txt
run 0 eval part --output part
grep '^[a-z]*:' out >after
cmp before after || fail "the evaluation depends on the current training texts"

say "a text that is not UTF-8"
printf 'na\xefve' >texts/train/bad/1.txt
run 3 fit "$config" --var TEXTS="$PWD/texts" --run-dir refused
says "1.txt: byte 2 of the text, 0xef, is not UTF-8"
