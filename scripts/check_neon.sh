#!/usr/bin/env bash
# Compiles the CPU kernels for AArch64 and runs their tests under QEMU: checks the NEON code of kernels/cpu
# on an x86-64 machine with Debian 12. Emulation does not measure speed.
#
#   scripts/check_neon.sh [--install] [--only FILTER] [--jobs N]
#
#   --install      install missing packages with apt, the libraries for arm64 (added to dpkg as a second architecture);
#                  without this flag, list the missing packages and exit 2
#   --only FILTER  these tests, as GoogleTest names them, e.g. 'Winograd*:FewRows*' (all)
#   --jobs N       parallel compilations and tests (number of cores)
#
# Takes some 12 minutes of one core. Exit 1 if anything failed. On an AArch64 machine the tests run without this:
#   cmake -S . -B build/kernels -DDPTRAIN_KERNELS_ONLY=ON && cmake --build build/kernels && ctest --test-dir build/kernels

set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' scripts/check_neon.sh; }

install_flag=(--no-install)
only='*'
jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --install) install_flag=() ;;
    --only) only=${2:?--only needs a filter}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "check_neon: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

scripts/install_deps.sh "${install_flag[@]}" neon || { echo "check_neon: --install does that" >&2; exit 2; }
cmake --preset neon -Wno-dev | tail -n 4
cmake --build --preset neon -j "$jobs" || exit 1
GTEST_FILTER=$only ctest --preset neon -j "$jobs" --no-tests=error |
  grep -Ev '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ .* Passed )' || exit 1
