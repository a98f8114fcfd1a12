#!/usr/bin/env bash
# Installs the missing dependencies of dptrain on Debian 12 and Ubuntu 24.04.
#
#   scripts/install_deps.sh [--no-install] GROUP...
#
# Groups:
#   product    compiler, CMake and the libraries of the executable
#   build      the same, a faster linker, and the libraries of the tests and of `bench --kernels`
#   check      python3 and clang-format, for the tests that read the source
#   mpi        Open MPI and MPICH, for runs of several processes
#   package    tools with which scripts/package.sh makes and tests a .deb; lintian checks it if installed
#   fuzz       clang with libFuzzer
#   neon       cross compiler, emulator and libraries for AArch64; adds arm64 as an architecture of dpkg
#   download   curl, to download a data set
#   data       the package with Fashion-MNIST; skipped with a message if the distribution has none
#
# --no-install only lists missing packages, and exits with 2 if there are any, else with 0.

set -euo pipefail

# shellcheck disable=SC2034  # the groups are read by name, ${!argument}
{
  product="g++ cmake ninja-build ccache git
    libdnnl-dev libhwy-dev libyaml-cpp-dev libhdf5-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
    zlib1g-dev libfast-float-dev libfarmhash-dev libjpeg-dev libpng-dev libstb-dev libavformat-dev libavcodec-dev
    libswscale-dev libonnx-dev libprotobuf-dev protobuf-compiler"
  mpi="libopenmpi-dev openmpi-bin libmpich-dev mpich"
  # procps: pgrep, by which the test of several processes finds them
  build="$product $mpi procps mold libgtest-dev libgmock-dev libbenchmark-dev"
  check="python3 clang-format-14"
  package="dpkg-dev mmdebstrap curl ca-certificates"
  fuzz="clang libclang-rt-dev"
  neon="cmake ninja-build nlohmann-json3-dev g++-aarch64-linux-gnu qemu-user
    libhwy-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64"
  download="curl ca-certificates"
}
data="dataset-fashion-mnist"

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }

installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { [[ $(apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[^\(]* ]]; }

install=yes
wanted=()
optional=()
for argument in "$@"; do
  case $argument in
    --no-install) install=no ;;
    product | build | mpi | check | package | fuzz | neon | download) read -r -d '' -a names <<<"${!argument}" || true; wanted+=("${names[@]}") ;;
    data) optional+=("$data") ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install_deps: unknown argument '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install_deps: this machine has no apt; made for Debian 12 and Ubuntu 24.04. Needed, by their Debian names:" >&2
  printf '  %s\n' "${wanted[@]}" >&2
  exit 2
fi

missing=()
for package in "${wanted[@]}" "${optional[@]}"; do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

if [ $install = no ]; then
  echo "install_deps: --no-install, and these packages are missing:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  if [[ "${missing[*]}" == *:arm64* ]]; then echo "first: dpkg --add-architecture arm64 && apt-get update" >&2; fi
  echo "install them with: apt-get install ${missing[*]}" >&2
  exit 2
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_deps: neither root nor sudo here; as root: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi

echo "install_deps: installing with apt: ${missing[*]}"
quiet_apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
if [[ "${missing[*]}" == *:arm64* ]]; then "${as_root[@]}" dpkg --add-architecture arm64; fi
"${quiet_apt[@]}" update
chosen=()
for package in "${missing[@]}"; do
  if [[ " ${optional[*]} " == *" $package "* ]] && ! available "$package"; then
    echo "install_deps: this distribution has no package $package, going on without it"
  else
    chosen+=("$package")
  fi
done
if [ ${#chosen[@]} -gt 0 ]; then
  "${quiet_apt[@]}" install --yes --no-install-recommends "${chosen[@]}" >/dev/null
fi
