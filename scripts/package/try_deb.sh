#!/usr/bin/env bash
# Tests a .deb: installs it in a bare root of its distribution and trains there for one epoch of Fashion-MNIST. Requires
# the same as scripts/package/root.bash; without it, exits with 77 and a reason.
#
#   scripts/package/try_deb.sh FILE.deb [--suite SUITE] [--cpus N]
#
#   --suite SUITE   bookworm or noble (by the file's version)
#   --cpus N        replicas (2)

set -euo pipefail
deb=
suite=
cpus=2
while [ $# -gt 0 ]; do
  case $1 in
    --suite) suite=${2:?--suite needs a distribution}; shift ;;
    --cpus) cpus=${2:?--cpus needs a number}; shift ;;
    -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "try_deb: unknown argument '$1'" >&2; exit 2 ;;
    *) deb=$(realpath "$1") ;;
  esac
  shift
done
[ -e "$deb" ] || { echo "try_deb: no such file: '$deb'" >&2; exit 2; }
cd "$(dirname "$0")/../.."
. scripts/package/root.bash

if [ -z "$suite" ]; then
  case $(dpkg-deb --field "$deb" Version) in
    *debian12*) suite=bookworm ;;
    *ubuntu24.04*) suite=noble ;;
    *) fail "its version names no distribution: --suite" ;;
  esac
fi
why=$(why_no_roots)
[ -z "$why" ] || skip "$why"
bare_root "$suite" || skip "no root of $suite could be made (network?)"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
unpack_root "$suite" "$root"
cp "$deb" "$root/root/dptrain.deb"
installed_kib() { du --summarize --block-size=1K --one-file-system "$1" | cut -f1; }
before=$(installed_kib "$root")

# seconds COMMAND...: runs it and adds how long it took to $total.
total=0
timed() {
  local title=$1 start=$EPOCHREALTIME took
  shift
  "$@" || fail "$title failed"
  took=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
  total=$(awk -v a="$total" -v b="$took" 'BEGIN { printf "%.1f", a + b }')
  printf '%7s s  %s\n' "$took" "$title"
}
quiet_apt=(apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
# By default, apt returns 0 if it cannot reach a server.
update() { in_root "$root" "${quiet_apt[@]}" -o APT::Update::Error-Mode=any update || skip "the root does not reach the distribution's servers"; }
install() { in_root "$root" "${quiet_apt[@]}" install --yes /root/dptrain.deb "$@" >"$root/root/apt.log" 2>&1 || { tail -n 20 "$root/root/apt.log"; return 1; }; }
data=/usr/share/datasets/fashion-mnist
# A user's own two lines: the bundled config, and where the data set's package has put its files.
train() {
  in_root "$root" bash -ec 'cd /root && mkdir -p datasets configs && ln -s '$data' datasets/fashion-mnist &&
    cp /usr/share/dptrain/configs/fashion_mnist.yaml configs/ &&
    dptrain fit configs/fashion_mnist.yaml --cpus '"$cpus"' --epochs 1 >fit.log 2>&1 || { tail -n 20 fit.log; exit 1; }'
}

echo "== $(basename "$deb") in a bare root of $suite"
in_root "$root" true || skip "nothing runs in a root here"
timed "apt-get update" update
timed "apt-get install ./dptrain.deb dataset-fashion-mnist" install dataset-fashion-mnist
timed "dptrain fit, one epoch of Fashion-MNIST on $cpus replicas" train
printf '%7s s  from nothing to the end of the first epoch\n' "$total"
grep -hE 'accuracy' "$root/root/fit.log" | tail -n 2
echo "the root has grown by $(($(installed_kib "$root") - before)) KiB, the data set included"

echo "== what else is in it"
in_root "$root" dptrain --version
in_root "$root" bash -ec '
  cd /root
  dptrain devices >/dev/null
  gzip -dc /usr/share/man/man1/dptrain-fit.1.gz | head -n 5 | grep -qi "dptrain"
  . /usr/share/bash-completion/completions/dptrain
  COMP_WORDS=(dptrain fi) COMP_CWORD=1; _dptrain; [ "${COMPREPLY[*]}" = fit ]
  grep -q compdef /usr/share/zsh/vendor-completions/_dptrain
  grep -q "complete -c dptrain" /usr/share/fish/vendor_completions.d/dptrain.fish
  grep -q "\"\$schema\"" /usr/share/dptrain/config.schema.json
  dptrain export runs/fashion-mnist/001 model.onnx >/dev/null
  [ -s model.onnx ]
' || fail "the installed package lacks something: run this script with bash -x"
echo "manual page, completion, schema and the module for ONNX are there and work"
in_root "$root" "${quiet_apt[@]}" purge --yes dptrain >/dev/null 2>&1 || fail "it cannot be removed"
! in_root "$root" sh -c 'ls -d /usr/bin/dptrain /usr/lib/dptrain /usr/share/dptrain 2>/dev/null' || fail "the files above remain after the removal"
echo "removed without a trace"
