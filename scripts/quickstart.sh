#!/usr/bin/env bash
# From a fresh machine to a trained model: installs what is missing, builds dptrain, gets Fashion-MNIST, trains on two
# CPU replicas to a test accuracy of 0.90 or more, evaluates the checkpoint and draws the curves.
#
#   scripts/quickstart.sh [--no-install] [--cuda] [--cpus N] [--data auto|package|download|generated]
#
# Builds only the executable: no tests, no GPU emulator, kernels for this machine's processor, and the CUDA backend if
# there is a GPU. `cmake --preset product` builds an executable that also runs on other machines.
#
#   --cuda         build the CUDA backend, with or without a GPU
#   --no-install   install nothing; list what is missing and exit 2
#   --cpus N       CPU replicas (2)
#   --data SOURCE  source of Fashion-MNIST; auto (the default) tries the three in order

set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' scripts/quickstart.sh; }
say() { printf '\n== %s\n' "$*"; }
fail() { echo "quickstart: $*" >&2; exit 1; }

install_flag=()
cpus=2
source=auto
cuda=OFF
if [ -e /dev/nvidiactl ]; then cuda=AUTO; fi
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install_flag=(--no-install) ;;
    --cuda) cuda=ON ;;
    --cpus) cpus=${2:?--cpus needs a number}; shift ;;
    --data) source=${2:?--data needs a source}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
case $source in auto | package | download | generated) ;; *) fail "unknown --data '$source'" ;; esac

folder=datasets/fashion-mnist
packaged=/usr/share/datasets/fashion-mnist
home=http://fashion-mnist.s3-website.eu-central-1.amazonaws.com
marker=$folder/GENERATED   # marks the files as generated
# The four files, with the SHA-256 of the uncompressed data (packages recompress it).
files="
  train-images-idx3-ubyte c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888
  train-labels-idx1-ubyte bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9
  t10k-images-idx3-ubyte 5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b
  t10k-labels-idx1-ubyte 0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"

# Calls "$1 <name> <sha256>" for each file, until one fails.
for_each_file() {
  local name sum
  while read -r name sum; do
    if [ -n "$name" ]; then "$1" "$name" "$sum" || return 1; fi
  done <<<"$files"
}

is_there() { [ -e "$folder/$1.gz" ]; }
is_intact() { [ "$(gzip -dc "$folder/$1.gz" 2>/dev/null | sha256sum | cut -d' ' -f1)" = "$2" ]; }
link_one() { [ -e "$packaged/$1.gz" ] && ln -sf "$packaged/$1.gz" "$folder/$1.gz"; }
fetch_one() {
  curl --fail --silent --show-error --location --connect-timeout 15 --retry 2 \
    --output "$folder/$1.gz.part" "$home/$1.gz" && mv "$folder/$1.gz.part" "$folder/$1.gz"
}
forget_stand_in() { if [ -e $marker ]; then rm -f $folder/*-ubyte.gz $marker; fi; }

from_package() {
  scripts/install_deps.sh "${install_flag[@]}" data || return 1
  forget_stand_in
  for_each_file link_one && for_each_file is_intact && echo "linked from $packaged"
}

from_download() {
  scripts/install_deps.sh "${install_flag[@]}" download || return 1
  forget_stand_in
  for_each_file fetch_one && for_each_file is_intact && echo "downloaded from $home"
}

from_generator() {
  cmake --build --preset product --target dptrain_make_idx
  forget_stand_in
  build/product/dptrain_make_idx "$folder"
  gzip --no-name --force --fast "$folder"/*-ubyte
  echo "made by dptrain_make_idx, not Fashion-MNIST" >"$marker"
  cat >&2 <<'TEXT'
************************************************************************
* This is not Fashion-MNIST but a GENERATED STAND-IN of the same shape *
* (no package, no network, or asked for with --data generated).        *
* It shows that everything works; its accuracy means nothing.          *
************************************************************************
TEXT
}

get_data() {
  mkdir -p $folder
  if [ "$source" = auto ] && [ ! -e $marker ] && for_each_file is_there; then
    for_each_file is_intact || fail "$folder holds files that are not Fashion-MNIST; move them away and run again"
    echo "already in $folder"
    return
  fi
  case $source in
    auto)
      from_package || from_download || from_generator ;;
    package) from_package || fail "the package dataset-fashion-mnist could not be had" ;;
    download) from_download || fail "the download from $home failed" ;;
    generated) from_generator ;;
  esac
}

say "Dependencies"
scripts/install_deps.sh "${install_flag[@]}" product
echo "complete"

say "Build"
cmake --preset product -Wno-dev -DDPTRAIN_CUDA=$cuda -DDPTRAIN_KERNELS_HERE=ON | tail -n 4 | grep -- '-- dptrain'
cmake --build --preset product --target dptrain -j "$(nproc)"
dptrain=build/product/dptrain

say "Fashion-MNIST"
get_data
assert=(--assert 'accuracy>=0.90')
if [ -e $marker ]; then assert=(); fi

run=runs/quickstart-$(date +%Y%m%d-%H%M%S)
say "Training on $cpus CPU replicas"
"$dptrain" fit configs/fashion_mnist.yaml --cpus "$cpus" --run-dir "$run"

say "Evaluating $run/checkpoints/best.h5 on the test images"
"$dptrain" eval "$run/checkpoints/best.h5" --cpus "$cpus" "${assert[@]}"

say "Drawing the curves"
"$dptrain" plot "$run" -o "$run/curves.svg"

cat <<TEXT

Done. What to look at, and what to try next:

  $run/report.html
      the run on one page: curves, classes, the worst samples, where the time went
  $run/curves.svg
      the learning curves
  $run/checkpoints/best.h5
      the best weights; Keras opens this file too
  $dptrain summary configs/fashion_mnist.yaml
      the network, layer by layer
  $dptrain fit configs/fashion_mnist.yaml --cpus 2 --learning-rate 3e-3
      the same with another learning rate; --set changes any key of the config
  $dptrain verify configs/fashion_mnist.yaml --cpus 3
      shows that three replicas compute the same as one
  $dptrain bench configs/fashion_mnist.yaml --sweep cpus=1,2
      how fast it is, and where the time goes
  $dptrain init
      the bundled configs, to start your own
  docs/guide/first-network.md, photos.md, tables.md
      from a folder of photos or a CSV file to a trained model
  scripts/quickstart.sh --cuda
      the same with the CUDA backend (docs/reference/gpus.md); the default on a machine with a GPU
  scripts/test.sh --quick
      builds the tests and the GPU emulator as well, and runs them
TEXT
if [ -e $marker ]; then
  echo
  echo "Remember: this was a GENERATED STAND-IN, not Fashion-MNIST." >&2
fi
