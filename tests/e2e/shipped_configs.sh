#!/usr/bin/env bash
# Every bundled config is valid, has the stated number of parameters, and trains.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
configs=$DPTRAIN_SOURCE/configs

say "check and summary"
for file in "$configs"/*.yaml "$configs"/bench/*.yaml; do
  run 0 check "$file" --data synthetic --batch-size 8 --set model.weights=null  # a file that is not here
  says "ok (data not opened"
done
# parameters FILE TOTAL TRAINABLE
parameters() {
  run 0 summary "$configs/$1"
  says "Total params: $2 ("
  says "Trainable params: $3 ("
}
parameters fashion_mnist.yaml 93,322 93,322
parameters bench/fashion_cnn.yaml 93,322 93,322
parameters cifar10_towers.yaml 1,068,298 1,068,298
parameters bench/cifar_towers.yaml 1,068,298 1,068,298
parameters series_forecast.yaml 4,641 4,641
parameters mnist_mlp.yaml 669,706 669,706
parameters bench/mlp.yaml 669,706 669,706
parameters shared_lstm.yaml 82,305 82,305
parameters bench/lstm_shared.yaml 82,305 82,305
parameters bench/gru.yaml 75,786 75,786
parameters bench/bilstm.yaml 2,757,761 2,757,761
parameters bench/embedding.yaml 64,004,225 64,004,225
parameters bench/mlp_table.yaml 6,209 6,209
parameters bench/transformer.yaml 3,162,122 3,162,122
parameters bench/vit_tiny.yaml 2,693,194 2,693,194
parameters sequence_transformer.yaml 1,388,418 1,388,418
parameters vit_cifar10.yaml 1,806,154 1,806,154
parameters bench/conv3d.yaml 280,586 280,586
parameters resnet_small.yaml 274,042 272,474
parameters bench/resnet50.yaml 25,610,152 25,557,032
parameters xception.yaml 22,910,480 22,855,952
parameters vgg16_oct.yaml 14,815,044 7,179,780
says "Non-trainable params: 7,635,264 ("
parameters clips_cnn.yaml 18,284 18,172
parameters text_classification.yaml 640,066 640,066
parameters flowers_mobilenetv2.yaml 2,264,389 6,405
parameters unet_shapes.yaml 11,842,836 11,780,244

# spelled_out FILE: `config` prints the same experiment, except for the folder of the runs, which is relative to the
# current folder in one case and to the file in the other.
spelled_out() {
  run 0 config "$1" --minimal
  cp out minimal.yaml
  run 0 config "$1" --resolved
  cp out resolved.yaml
  grep -v '^run_dir: ' resolved.yaml >once.yaml
  for form in resolved minimal; do
    run 0 config $form.yaml --resolved
    grep -v '^run_dir: ' out >twice.yaml
    cmp -s once.yaml twice.yaml || fail "$1: config --$form is another experiment: $(diff once.yaml twice.yaml | head -n 5)"
  done
}
# trains NAME STEPS FLAG...: to a plausible loss.
trains() {
  local name=$1 loss
  run 0 fit "$configs/$name.yaml" --data synthetic --steps "$2" --run-dir "$name" "${@:3}"
  loss=$(column "$name/train.csv" loss)
  awk -v x="$loss" 'BEGIN { exit !(x > 0 && x < 20) }' || fail "$name: the loss is $loss"
}

say "a few steps, and replicas against one"
few='data.validation={Synthetic: {samples: 20}}'   # in place of thousands, where the network takes long
for name in fashion_mnist mnist_mlp resnet_small cifar10_towers series_forecast shared_lstm sequence_transformer vit_cifar10 text_classification; do
  file=$configs/$name.yaml
  spelled_out "$file"
  case $name in
    resnet_small | vit_cifar10 | shared_lstm | sequence_transformer) trains "$name" 2 --cpus 2x1 --batch-size 6 --set "$few" ;;
    *) trains "$name" 2 --cpus 2x1 --batch-size 6 ;;
  esac
  run 0 eval "$name" --on train --set 'data={train: {Synthetic: {samples: 20}}}' --batch-size 10 --output "$name"
  run 0 verify "$file" --data synthetic --cpus 3x1 --batch-size 6 --steps 2
  says "verified: every difference is within"
done
spelled_out "$configs/clips_cnn.yaml"
trains clips_cnn 2 --cpus 2x1 --batch-size 8 --set "$few"
run 0 verify "$configs/clips_cnn.yaml" --data synthetic --cpus 3x1 --accumulate 1 --batch-size 6 --steps 2
says "verified: every difference is within"
run 0 verify "$configs/fashion_mnist.yaml" --data synthetic --cpus 2x1 --accumulate 3 --batch-size 10 --steps 2
says "2 replicas x 3 micro-batches against one"

say "networks, made small: a step, an evaluation, replicas against one"
# small NAME SET...: the config with changes that make it fast enough for a test
small() {
  local name=$1 file=$configs/$1.yaml changes=()
  shift
  for change in 'data.validation=null' 'callbacks=[]' "$@"; do changes+=(--set "$change"); done
  spelled_out "$file"
  trains "$name" 1 --cpus 1x1 --batch-size-per-replica 2 "${changes[@]}"
  rm -r "$name"  # hundreds of megabytes
  run 0 verify "$file" --data synthetic --cpus 2x1 --batch-size-per-replica 1 --steps 1 "${changes[@]}"
  says "verified: every difference is within"
}
small xception 'model.layers.Xception={input_shape: [71, 71, 3], classes: 10}' 'data.train={Synthetic: {samples: 4, classes: 10}}'
small vgg16_oct 'model.layers.VGG16={include_top: false, input_shape: [32, 32, 3]}' 'data.transforms=null'
small flowers_mobilenetv2 'model.layers.MobileNetV2={include_top: false, input_shape: [32, 32, 3], pooling: avg, trainable: false}' \
  'data.transforms=null'
small unet_shapes 'model.layers.UNet={input_shape: [32, 32, 3], classes: 4}'
for name in VGG19 ResNet50 MobileNet DenseNet121 InceptionV3; do
  printf 'dptrain: 1\nmodel: {layers: [%s]}\ntrain: {epochs: 1, batch_size: 2, loss: categorical_crossentropy}\n' "$name" >"$name.yaml"
  spelled_out "$name.yaml"
done

say "init writes each of them as it is here"
run 0 init
cp out list
for file in "$configs"/*.yaml; do
  name=$(basename "$file" .yaml)
  grep -q "^$name " list || fail "init does not list $name"
  run 0 init "$name" written
  cmp -s "$file" "written/$name.yaml" || fail "init $name writes another config"
done
run 2 init fashon_mnist
says "did you mean 'fashion_mnist'?"
run 2 init mnist_mlp written
says "is already there"
