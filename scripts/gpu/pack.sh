#!/usr/bin/env bash
# Builds the bundle for a GPU host: dptrain, its ONNX module, its GPU tests, the check script, and all libraries except
# those of glibc and NVIDIA. It runs on x86-64 Linux with at least this machine's glibc. Usage: docs/reference/gpus.md.
#
#   scripts/gpu/pack.sh [--output FILE] [--build-dir DIR] [--cuda DIR] [--arch LIST] [--jobs N] [--without-cuda]
#
#   --output FILE    the archive (dptrain-gpu.tar.gz)
#   --build-dir DIR  where it is built (build/gpu-bundle; with --cuda that and the toolkit's release)
#   --cuda DIR       the CUDA toolkit, bin/nvcc in it (nvcc on PATH, or /usr/local/cuda): 12.x makes a bundle for drivers of CUDA 12
#   --arch LIST      GPUs, as CMAKE_CUDA_ARCHITECTURES (machine code for all that the toolkit knows from 8.0 on, and PTX)
#   --jobs N         parallel compilations (number of cores)
#   --without-cuda   test the packing without a CUDA toolkit; the bundle then has no GPU backend

set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/gpu/toolkit.bash

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' scripts/gpu/pack.sh; }
fail() { echo "pack: $*" >&2; exit 1; }
say() { printf '\n== %s\n' "$*"; }

most_bytes=60000000   # of the archive; it has to travel to hosts without a network

output=dptrain-gpu.tar.gz
build=
toolkit=
arch=
jobs=$(nproc)
cuda=ON
while [ $# -gt 0 ]; do
  case $1 in
    --output) output=${2:?--output needs a file}; shift ;;
    --build-dir) build=${2:?--build-dir needs a folder}; shift ;;
    --cuda) toolkit=${2:?--cuda needs the folder of a toolkit}; shift ;;
    --arch) arch=${2:?--arch needs a list}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --without-cuda) cuda=OFF ;;
    -h | --help) usage; exit 0 ;;
    *) echo "pack: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
for tool in cmake ninja strip readelf objdump ldd tar; do
  command -v $tool >/dev/null || fail "$tool is missing"
done
nvcc=
release=
if [ $cuda = ON ]; then
  if [ -n "$toolkit" ]; then nvcc=$toolkit/bin/nvcc; else nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc); fi
  [ -x "$nvcc" ] || fail "there is no $nvcc; name a CUDA toolkit with --cuda DIR, or try the packing with --without-cuda"
  if [ -n "$toolkit" ]; then nvcc=$(realpath "$nvcc"); fi
  release=$(nvcc_release "$nvcc")
  at_least "$release" 12.0 || fail "$nvcc is of CUDA $release, expected 12.0 or newer"
fi
if [ -z "$build" ]; then build=build/gpu-bundle${toolkit:+-$release}; fi

# needed FILE: the libraries that a file asks the loader for.
needed() { readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
# loaded FILE: "name path" of every library that the loader takes for it, those of libraries too.
loaded() { ldd "$1" | awk '$2 == "=>" { print $1, ($3 == "not" ? "MISSING" : $3) }' | sort -u; }
is_glibc() { [[ $1 =~ ^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nsl|BrokenLocale|thread_db))\.so ]]; }

build_programs() {
  local flags=()
  if [ $cuda = ON ]; then mapfile -t flags < <(cuda_flags "$nvcc" "$arch"); fi
  if [ -n "$toolkit" ]; then flags+=(-DCUDAToolkit_ROOT="$(realpath "$toolkit")" -DCMAKE_CUDA_COMPILER="$nvcc"); fi
  cmake -S . -B "$build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DDPTRAIN_STATIC=ON -DDPTRAIN_TESTS=ON \
    -DDPTRAIN_CUDA=$cuda "${flags[@]}" >"$build.log" || { tail -n 20 "$build.log"; fail "cmake failed"; }
  tail -n 4 "$build.log"
  cmake --build "$build" -j "$jobs" --target dptrain_bundle dptrain_module_onnx
}

copy_files() {
  local name path module=$build/lib/libdptrain_onnx.so mpi
  mkdir -p "$bundle/lib" "$bundle/configs/check" "$bundle/tests/plans"
  strip --strip-all -o "$bundle/dptrain" "$build/tests/dptrain_bundle"
  ln -s dptrain "$bundle/dptrain_gpu_tests"   # the same executable under its other name
  while read -r name path; do
    is_glibc "$name" && continue
    [ "$path" != MISSING ] || fail "$name is not on this machine"
    strip --strip-unneeded -o "$bundle/lib/$name" "$(readlink -f "$path")"
  done < <({ loaded "$bundle/dptrain"; loaded "$module"; } | sort -u -k 1,1)
  strip --strip-unneeded -o "$bundle/lib/$(basename "$module")" "$module"
  chmod 755 "$bundle"/lib/*
  # Not in lib/: they need the MPI of the host.
  for mpi in "$build"/libdptrain_*mpi*.so; do
    if [ -e "$mpi" ]; then strip --strip-unneeded -o "$bundle/$(basename "$mpi")" "$mpi"; fi
  done
  cp -r configs/*.yaml configs/bench "$bundle/configs/"
  cp scripts/gpu/{small_resnet,slots}.yaml "$bundle/configs/check/"
  cp -r tests/golden "$bundle/tests/"
  cp tests/plans/*.txt "$bundle/tests/plans/"
  rm -f "$bundle/tests/plans/CMakeLists.txt"
  cp scripts/gpu/{check.sh,correctness.bash,performance.bash,sanitizer.bash,torch_side_by_side.py,table.py,kernels.py} "$bundle/"
  cp LICENSE "$bundle/"
  write_readme >"$bundle/README.txt"
}

write_readme() {
  local file
  "$bundle/dptrain" --version
  if [ $cuda = ON ]; then
    cat <<TEXT

dptrain for a GPU host: x86-64 Linux, a driver for CUDA ${release%%.*} or newer; cuDNN 9 and NCCL 2 for CUDA ${release%%.*}
installed, on LD_LIBRARY_PATH, or as wheels of python3 (PyTorch brings them).
TEXT
  else
    printf '\ndptrain for x86-64 Linux, built without a GPU backend, to test the packing.\n'
  fi
  cat <<'TEXT'

    ./check.sh correctness        checks the results
    ./check.sh performance        measures the speed and compares with PyTorch
    ./check.sh sanitizer          runs NVIDIA's compute-sanitizer on the kernels
    ./dptrain devices             lists processors and GPUs
    ./dptrain --help

dptrain finds cuDNN and NCCL on the loader's path; to use those of Python wheels:

    export LD_LIBRARY_PATH=$(python3 -c 'import nvidia, glob
    print(":".join(sorted({d for p in nvidia.__path__ for d in glob.glob(p + "/*/lib")})))')

lib/ holds libraries of other projects under their own licences, as the distribution has them:

TEXT
  for file in "$bundle"/lib/*; do echo "    $(basename "$file")  $(origin "$(basename "$file")")"; done
}
# origin LIBRARY: package and version, where the distribution is Debian's kind.
origin() {
  local path package
  path=$({ loaded "$build/tests/dptrain_bundle"; loaded "$build/lib/libdptrain_onnx.so"; } | awk -v name="$1" '$1 == name { print $2; exit }')
  package=$(dpkg-query --search "$(readlink -f "$path")" 2>/dev/null | head -n 1 | cut -d: -f1) || true
  if [ -n "$package" ]; then dpkg-query --show --showformat='${Package} ${Version}\n' "$package" | head -n 1; fi
}

# Nothing of NVIDIA's is linked, nothing is looked for outside but glibc, and it starts in an empty environment.
examine() {
  local name path outside
  if needed "$bundle/dptrain" | grep -E '^lib(cuda|cudart|cudnn|nccl|cublas|nvrtc)'; then fail "dptrain is linked with the libraries above"; fi
  outside=$(loaded "$bundle/dptrain" | while read -r name path; do
    if ! is_glibc "$name" && [[ $path != "$bundle"/lib/* ]]; then echo "$name ($path)"; fi
  done)
  [ -z "$outside" ] || fail "the loader looks outside the bundle for: $outside"
  outside=$(for path in "$bundle"/lib/*; do needed "$path"; done | sort -u | while read -r name; do
    is_glibc "$name" || [ -e "$bundle/lib/$name" ] || echo "$name"
  done)
  [ -z "$outside" ] || fail "the libraries of the bundle need others: $outside"
  (
    cd /
    env -i "$bundle/dptrain" --version
    env -i "$bundle/dptrain" devices
    env -i "$bundle/dptrain" export "$bundle/configs/check/small_resnet.yaml" "$work/small_resnet.onnx"
    env -i "$bundle/dptrain_gpu_tests" --gtest_list_tests | grep -c '^  ' | sed 's/$/ tests/'
  ) || fail "it does not start in an empty environment"
}

say "Build"
mkdir -p "$build"
build_programs

say "Bundle"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/dptrain-gpu
copy_files
examine
mkdir -p "$(dirname "$output")"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -czf "$output" dptrain-gpu

say "What is in it"
(cd "$bundle" && du --bytes --all --max-depth=1 lib tests configs . | sort -rn | awk '$2 != "." { sub("^\\./", "", $2); if (!seen[$2]++) printf "%11d  %s\n", $1, $2 }')
newest=$(objdump -T "$bundle"/dptrain "$bundle"/lib/* | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
total=$(find "$bundle" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
packed=$(stat -c %s "$output")
printf '\n%s: %d bytes, %d unpacked; needs %s; %s\n' "$output" "$packed" "$total" "$newest" \
  "$([ $cuda = ON ] && echo "CUDA $release, for GPUs $(built_for "$build")" || echo "no GPU backend in it")"
[ "$packed" -le $most_bytes ] || fail "$packed bytes are more than the $most_bytes that a bundle may have"
