#!/usr/bin/env bash
# Builds packages of dptrain: a .deb for Debian 12 or Ubuntu 24.04, and a tar for other distributions.
# docs/reference/building.md describes their contents and requirements.
#
#   scripts/package.sh [deb | tar] [--for SUITE] [--output DIR] [--build-dir DIR] [--arch LIST] [--jobs N] [--without-cuda]
#
#   deb, tar         which one (deb)
#   --for SUITE      build in a bare root of this distribution, made for it (bookworm: Debian 12, noble: Ubuntu 24.04); needs
#                    root's rights, mmdebstrap and the network. Otherwise on this machine, for its own
#   --output DIR     where the package goes (build/packages)
#   --build-dir DIR  build directory (build/package, build/package-tar; for a SUITE with the suffix -SUITE)
#   --arch LIST      GPUs, as CMAKE_CUDA_ARCHITECTURES (machine code for all that the toolkit knows from 8.0 on, and PTX)
#   --jobs N         parallel compilations (number of cores)
#   --without-cuda   without the GPU backend, which is otherwise included if nvcc is found
#
# The same commit gives the same bytes, if compiler and libraries are the same: times are the commit's (SOURCE_DATE_EPOCH).

set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/gpu/toolkit.bash
. scripts/package/root.bash
. scripts/package/contents.bash
. scripts/package/portable.bash

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' scripts/package.sh; }
say() { printf '\n== %s\n' "$*"; }

kind=deb
suite=
output=build/packages
build=
arch=
jobs=$(nproc)
cuda=AUTO
while [ $# -gt 0 ]; do
  case $1 in
    deb | tar) kind=$1 ;;
    --for) suite=${2:?--for needs a distribution}; shift ;;
    --output) output=${2:?--output needs a folder}; shift ;;
    --build-dir) build=${2:?--build-dir needs a folder}; shift ;;
    --arch) arch=${2:?--arch needs a list}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --without-cuda) cuda=OFF ;;
    -h | --help) usage; exit 0 ;;
    *) echo "package: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
case $suite in '' | bookworm | noble) ;; *) fail "--for must be bookworm or noble, found '$suite'" ;; esac
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
if [ $cuda = AUTO ]; then
  if [ -n "$nvcc" ]; then cuda=ON; else cuda=OFF; echo "package: no nvcc here, so no GPU backend in the package"; fi
fi
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH

# build_in_root: runs this script in a root of $suite, with this project, the CUDA toolkit and the compiler's cache in it.
build_in_root() {
  local why binds=() flags=() cache git_folder packages="git dpkg-dev"
  if [ "$kind" = tar ]; then packages+=" libstdc++-12-pic libbenchmark-dev curl ca-certificates"; fi
  why=$(why_no_roots)
  [ -z "$why" ] || fail "--for $suite: $why"
  say "Root of $suite"
  bare_root "$suite" || fail "no root of $suite could be made (is the network there?)"
  root=$(mktemp -d)   # not local: it is still known when the script ends
  trap 'rm -rf "$root"' EXIT
  unpack_root "$suite" "$root"
  mkdir -p "$output"
  output=$(realpath "$output")
  binds=(--bind "$PWD" "$PWD" --bind "$output" "$output")
  git_folder=$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null || true)   # elsewhere, in a worktree
  if [ -n "$git_folder" ] && [[ $git_folder != "$PWD"/* ]]; then binds+=(--bind "$git_folder" "$git_folder"); fi
  cache=$(ccache --get-config cache_dir 2>/dev/null || true)
  if [ -d "$cache" ]; then binds+=(--bind "$cache" /root/.cache/ccache); fi
  if [ $cuda = ON ]; then
    local toolkit
    toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    binds+=(--bind "$toolkit" /usr/local/cuda)
  else
    flags+=(--without-cuda)
  fi
  # shellcheck disable=SC2016
  in_root "$root" "${binds[@]}" bash -c 'cd "$1" && apt-get -qq update &&
    apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install $2 >/dev/null && scripts/install_deps.sh product mpi &&
    git config --global --add safe.directory "*" && export SOURCE_DATE_EPOCH=$3 && shift 3 && scripts/package.sh "$@"' \
    bash "$PWD" "$packages" "$SOURCE_DATE_EPOCH" "$kind" --output "$output" --build-dir "${build:-build/package$([ "$kind" = deb ] || echo -tar)-$suite}" ${arch:+--arch "$arch"} \
    --jobs "$jobs" "${flags[@]}"
}

# build_product [FLAG...]: the executable and its modules.
build_product() {
  local flags=("$@") more=()
  if [ $cuda = ON ]; then mapfile -t more < <(cuda_flags "$nvcc" "$arch") && more+=(-DCUDAToolkit_ROOT="${nvcc%/bin/nvcc}"); fi
  flags+=("${more[@]}")
  mkdir -p "$build"
  cmake --preset product -B "$build" -Wno-dev -DDPTRAIN_CUDA=$cuda "${flags[@]}" >"$build.log" ||
    { tail -n 20 "$build.log"; fail "cmake failed"; }
  grep -- '-- dptrain' "$build.log"
  cmake --build "$build" -j "$jobs"
}

# install_stage STAGE PREFIX: what the product installs, stripped.
install_stage() { DESTDIR=$1 cmake --install "$build" --prefix "$2" --strip >/dev/null; }

# package_deb: $output/dptrain_VERSION_ARCHITECTURE.deb.
package_deb() {
  local stage=$work/stage tree=$work/debian name share
  for tool in dpkg-shlibdeps dpkg-gencontrol dpkg-deb; do command -v $tool >/dev/null || fail "$tool is missing (apt-get install dpkg-dev)"; done
  build_product
  say "Package"
  install_stage "$stage" /usr
  share=$stage/usr/share
  mkdir -p "$tree" "$stage/DEBIAN" "$share/zsh/vendor-completions"
  mv "$share/zsh/site-functions/_dptrain" "$share/zsh/vendor-completions/"   # where Debian's zsh looks
  rmdir "$share/zsh/site-functions"
  rm "$share/doc/dptrain/LICENSE"                                           # is part of copyright
  copyright_of "$build" >"$share/doc/dptrain/copyright"
  write_changelog >"$tree/changelog"
  gzip --best --no-name <"$tree/changelog" >"$share/doc/dptrain/changelog.Debian.gz"
  gzip --best --no-name "$share"/man/man1/*.1
  write_control >"$tree/control"
  shared_library_packages
  (cd "$work" && dpkg-gencontrol -pdptrain -P"$stage" -O"$stage/DEBIAN/control" -f"$tree/files")
  (cd "$stage" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$stage" -type d -exec chmod 755 {} +
  find "$stage" -type f ! -path '*/bin/*' -exec chmod 644 {} +
  find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  name=dptrain_$(deb_version)_$(dpkg --print-architecture).deb
  dpkg-deb --root-owner-group -Zxz --build "$stage" "$output/$name" >/dev/null
  dpkg-deb --field "$output/$name"
  examine_deb "$output/$name"
  printf '\n%s: %d bytes, %d KiB installed, %s\n' "$output/$name" "$(stat -c %s "$output/$name")" \
    "$(dpkg-deb --field "$output/$name" Installed-Size)" "$([ $cuda = ON ] && echo "for GPUs $(built_for "$build")" || echo "no GPU backend in it")"
}

# shared_library_packages: what dpkg-shlibdeps finds, in $work/debian/substvars. The executable does not start without its
# libraries; the module of ONNX is wanted by most; those of MPI are for who has one.
shared_library_packages() {
  local modules=$work/stage/usr/lib/dptrain weak=()
  for module in "$modules"/*.so; do
    case $module in *_onnx.so) weak+=(-dRecommends "$module") ;; *) weak+=(-dSuggests "$module") ;; esac
  done
  (cd "$work" && dpkg-shlibdeps -Tdebian/substvars -dDepends "$work/stage/usr/bin/dptrain" "${weak[@]}")
}

# package_tar: $output/dptrain-VERSION-linux-x86_64.tar.gz.
package_tar() {
  local parts name tree share link file unmet
  parts=$build/parts
  [ "$(running_suite)" = bookworm ] || fail "the tar is built on Debian 12: --for bookworm"
  mkdir -p "$parts"
  parts=$(realpath "$parts")
  fetch_parts "$parts"
  # Anew where a script or a source in scripts/package/ is younger.
  [ -z "$(find scripts/package -type f -newer "$parts/lib/libstdc++.so" 2>/dev/null || echo all)" ] || build_parts "$parts"
  link=$(old_glibc_flags "$parts")
  build_product -DDPTRAIN_STATIC=ON -DCMAKE_LIBRARY_PATH="$parts/lib" -DDPTRAIN_LINK_OPTIONS="$link"
  say "Package"
  name=dptrain-$(project_version)-linux-x86_64
  tree=$work/$name
  install_stage "$work/stage" /usr
  mv "$work/stage/usr" "$tree"
  share=$tree/share
  copy_libraries "$tree/lib/dptrain" "$parts"
  mv "$share/doc/dptrain/LICENSE" "$tree/"
  mkdir "$tree/LICENSES"
  for file in $(compiled_in "$build") libgomp1; do cp "/usr/share/doc/$file/copyright" "$tree/LICENSES/$file.txt"; done
  for file in "$tree"/lib/dptrain/*.so.*; do
    file=$(package_of "$(basename "$file")") && cp "/usr/share/doc/$file/copyright" "$tree/LICENSES/$file.txt"
  done
  if [ $cuda = ON ]; then cuda_notice >"$tree/LICENSES/cuda-runtime.txt"; fi
  unmet=$(unmet_by_old_glibc "$parts" "$tree"/bin/dptrain "$tree"/lib/dptrain/*) || fail "cannot list the glibc functions that it needs"
  [ -z "$unmet" ] || fail "functions missing in glibc $old_glibc: $(paste -sd , <<<"$unmet" | sed 's/,/, /g')"
  (cd / && env -i "$tree/bin/dptrain" --version && env -i "$tree/bin/dptrain" devices >/dev/null &&
    env -i "$tree/bin/dptrain" export "$share/dptrain/configs/fashion_mnist.yaml" "$work/model.onnx" >/dev/null) ||
    fail "it does not work in an empty environment"
  chmod -R u=rwX,go=rX "$tree"
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" |
    gzip --best --no-name >"$output/$name.tar.gz"
  printf '\n%s: %d bytes, %d unpacked, %s\n' "$output/$name.tar.gz" "$(stat -c %s "$output/$name.tar.gz")" \
    "$(find "$tree" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')" \
    "$([ $cuda = ON ] && echo "for GPUs $(built_for "$build")" || echo "no GPU backend in it")"
  for file in "$tree"/bin/dptrain "$tree"/lib/dptrain/*; do echo "  glibc $(newest_glibc "$file")  $(basename "$file")"; done
}

# examine_deb FILE: lintian, where it is.
examine_deb() {
  if ! command -v lintian >/dev/null; then echo "package: no lintian here, not examined"; return; fi
  (cd / && lintian --fail-on error --tag-display-limit 0 --allow-root "$(realpath "$1")") || fail "lintian finds errors in $1"
  echo "lintian: no errors"
}

if [ -n "$suite" ]; then
  build_in_root
  exit
fi
if [ -z "$build" ]; then
  build=build/package
  if [ "$kind" = tar ]; then build+=-tar; fi
fi
mkdir -p "$output"
output=$(realpath "$output")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say "Build"
"package_$kind"
