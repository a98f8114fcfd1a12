#!/usr/bin/env bash
# Tries a tar of scripts/package.sh where its C library is the oldest that the tar is made for: unpacks it in a bare root of Ubuntu
# 18.04 (glibc 2.27) and trains there for an epoch of Fashion-MNIST, writes an ONNX model and measures a kernel. Every function
# that a file wants is looked for when it is opened (LD_BIND_NOW). Needs what scripts/package/root.bash says, and the data set
# here (dataset-fashion-mnist); exits 77, and says why, where that is not there.
#
#   scripts/package/try_tar.sh FILE.tar.gz [--cpus N]
#
#   --cpus N   replicas (2)

set -euo pipefail
tar=
cpus=2
while [ $# -gt 0 ]; do
  case $1 in
    --cpus) cpus=${2:?--cpus needs a number}; shift ;;
    -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "try_tar: unknown argument '$1'" >&2; exit 2 ;;
    *) tar=$(realpath "$1") ;;
  esac
  shift
done
[ -e "$tar" ] || { echo "try_tar: no such file: '$tar'" >&2; exit 2; }
cd "$(dirname "$0")/../.."
. scripts/package/root.bash

data=/usr/share/datasets/fashion-mnist
why=$(why_no_roots)
[ -z "$why" ] || skip "$why"
[ -d $data ] || skip "no Fashion-MNIST here (apt-get install dataset-fashion-mnist)"
bare_root bionic || skip "no root of Ubuntu 18.04 could be made (network?)"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
unpack_root bionic "$root"
in_root "$root" true || skip "nothing runs in a root here"
tar -C "$root/opt" -xzf "$tar"
mv "$root"/opt/dptrain-* "$root/opt/dptrain"

echo "== $(basename "$tar") on $(in_root "$root" ldd --version | head -n 1)"
in_root "$root" --bind "$data" /root/datasets/fashion-mnist bash -ec '
  cd /root
  export PATH=/opt/dptrain/bin:$PATH LD_BIND_NOW=1
  dptrain --version
  dptrain devices >/dev/null
  mkdir configs
  cp /opt/dptrain/share/dptrain/configs/fashion_mnist.yaml configs/
  dptrain fit configs/fashion_mnist.yaml --cpus '"$cpus"' --epochs 1 >fit.log 2>&1 || { tail -n 20 fit.log; exit 1; }
  grep -h accuracy fit.log | tail -n 2
  dptrain export runs/fashion-mnist/001 model.onnx
  [ -s model.onnx ]
  dptrain bench --kernels --filter 7x7x512/1x1v/2048/weights/gemm >bench.log 2>&1 || { tail -n 20 bench.log; exit 1; }
  tail -n 3 bench.log
' || fail "it does not work there: run this script with bash -x"
