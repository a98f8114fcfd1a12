#!/usr/bin/env bash
# Installs what is missing, builds dptrain and runs every test.
#
#   scripts/test.sh [--quick | --nightly] [--times] [--no-install] [--fuzz-seconds N] [--jobs N]
#
#   --quick            a release build and those of its tests that a change affects (scripts/affected_tests.py), without
#                      the scripts of tests/e2e, the sanitizers and the package
#   --nightly          more random and slow tests: new random cases, 60 kills at random and one before each call that
#                      changes a run's folder, 10 minutes for each fuzz target; the GPU kernels of every op under
#                      ThreadSanitizer; every source compiled by itself; engines of several versions of cuDNN, which
#                      need 5 GB in build/cudnn
#   --times            list the slowest tests, cases and sources of each phase at the end
#   --no-install       install nothing; list what is missing and exit 2
#   --fuzz-seconds N   time for each libFuzzer target (0: none; their seeds and small changes of them are in every run)
#   --jobs N           parallel compilations and tests (number of cores)
#
# The package is a .deb of this distribution, installed and tried in a bare root. This requires root, mounts and the
# network; without them the phase is skipped with a reason.
#
# A failing phase does not stop the later ones. The last line counts the tests of all phases; exit 1 if anything failed.

set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' scripts/test.sh; }

quick=no
nightly=no
times_wanted=no
install_flag=()
fuzz_seconds=0
jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --nightly) nightly=yes; fuzz_seconds=600; export DPTRAIN_KILLS=60 DPTRAIN_KILL_POINTS=all DPTRAIN_NIGHTLY=$(($(date +%s) / 86400)) ;;
    --times) times_wanted=yes ;;
    --no-install) install_flag=(--no-install) ;;
    --fuzz-seconds) fuzz_seconds=${2:?--fuzz-seconds needs a number}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "test: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

passed=0 failed=0 skipped=0
failed_phases=()
skipped_phases=()
times=()
presets=()

# phase TITLE WARM COLD COMMAND...: runs it, and notes its time next to its budget: WARM seconds with a full compiler cache,
# COLD with an empty one, between them by the share of compilations that were not in the cache. Figures of two cores of an
# AMD EPYC (Zen 3); the COLD ones of builds are estimates from the compile times of single sources. Over the budget is a
# warning: the phase has grown, or the machine is slower.
phase() {
  local title=$1 warm=$2 cold=$3 start=$SECONDS result=ok missed=0 budget took
  shift 3
  printf '\n== %s\n' "$title"
  export CCACHE_STATSLOG=$PWD/build/ccache.log
  mkdir -p build
  rm -f "$CCACHE_STATSLOG"
  "$@" || result=$?
  case $result in
    ok) ;;
    77) result=SKIPPED; skipped=$((skipped + 1)); skipped_phases+=("$title") ;;
    *) result=FAILED; failed_phases+=("$title") ;;
  esac
  took=$((SECONDS - start))
  if [ "$warm" != "$cold" ]; then missed=$(python3 scripts/test_report.py missed "$CCACHE_STATSLOG"); fi
  budget=$(python3 -c "print(round($warm + ($cold - $warm) * $missed))")
  if [ $took -gt "$budget" ] && [ "$result" = ok ]; then result="ok, over its budget"; fi
  times+=("$(printf '%-30s %5d s of %5d s  %s' "$title" $took "$budget" "$result")")
  [ "$result" != FAILED ]
}

# build PRESET TARGET [CMAKE ARGUMENT...]
build() {
  local preset=$1 target=$2
  shift 2
  cmake --preset "$preset" -Wno-dev "$@" | tail -n 4 && cmake --build --preset "$preset" --target "$target" -j "$jobs"
}

# Runs the tests of a preset and adds up what they report.
run_tests() {
  local preset=$1 report=$PWD/build/$1/reports/ctest.xml result=0
  presets+=("$preset")
  mkdir -p "$(dirname "$report")"
  rm -f "$(dirname "$report")"/*.xml
  # The sanitizers' shadow memory needs addresses that newer kernels randomize.
  local runner=()
  if setarch -R true 2>/dev/null; then runner=(setarch -R); fi
  local chosen=()
  if [ $quick = yes ]; then chosen=(-E "$(python3 scripts/affected_tests.py exclude "build/$preset")"); fi
  "${runner[@]}" ctest --preset "$preset" -j "$jobs" "${chosen[@]}" --no-tests=error --output-junit "$report" \
    2>&1 | grep -Ev '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ .* Passed )' || result=${PIPESTATUS[0]}
  local ran bad left_out
  read -r ran bad left_out < <(python3 scripts/test_report.py count "build/$preset")
  if [ "$preset" = release ]; then python3 scripts/affected_tests.py record "build/$preset"; fi
  passed=$((passed + ran)) failed=$((failed + bad)) skipped=$((skipped + left_out))
  return "$result"
}

# test_build TITLE PRESET TARGET WARM COLD TESTS [CMAKE ARGUMENT...]: a phase that builds, and one that runs the tests.
test_build() {
  local title=$1 preset=$2 target=$3 warm=$4 cold=$5 tests=$6
  shift 6
  if phase "$title: build" "$warm" "$cold" build "$preset" "$target" "$@"; then
    phase "$title: tests" "$tests" "$tests" run_tests "$preset" || true
  fi
}

# The .deb as scripts/package.sh makes it, from objects that the release build has left in the compiler's cache; 77: skipped.
package() {
  case $(. /etc/os-release 2>/dev/null; echo "${VERSION_CODENAME:-}") in
    bookworm | noble) ;;
    *) echo "SKIPPED: packages are made for Debian 12 and Ubuntu 24.04"; return 77 ;;
  esac
  if ! command -v dpkg-shlibdeps >/dev/null; then echo "SKIPPED: dpkg-dev is missing"; return 77; fi
  local result=0 packages=build/packages-test
  rm -rf "$packages"
  scripts/package.sh deb --without-cuda --build-dir build/package-test --output "$packages" --jobs "$jobs" || return 1
  scripts/package/try_deb.sh "$packages"/dptrain_*.deb || result=$?
  if [ $result -eq 0 ]; then passed=$((passed + 1)); fi
  return $result
}

# Engines that several versions of cuDNN have for the networks of tests/plans; 77: skipped.
cudnn_versions() {
  local check=build/release/tests/plans/dptrain_plan_check folders
  if [ ! -x $check ]; then echo "SKIPPED: built without CUDA"; return 77; fi
  folders=$(python3 scripts/gpu/cudnn_versions.py --download build/cudnn) || return
  # shellcheck disable=SC2086  # a word for each version
  python3 scripts/gpu/cudnn_versions.py $check $folders || return
  passed=$((passed + 1))
}

dependencies() {
  local groups=(build check)
  if [ "$fuzz_seconds" -gt 0 ]; then groups+=(fuzz); fi
  scripts/install_deps.sh "${install_flag[@]}" "${groups[@]}" || exit
  if [ $quick = no ]; then scripts/install_deps.sh "${install_flag[@]}" package || echo "test: the package will not be tried"; fi
}

phase "Dependencies" 5 60 dependencies
# For one kind of GPU: the tests need compiled kernels, and none runs here.
test_build "Release" release all 70 1300 330 -DCMAKE_CUDA_ARCHITECTURES=90-real
if [ $quick = no ]; then
  test_build "AddressSanitizer, UBSan" asan all 80 1000 1150
  test_build "ThreadSanitizer" tsan dptrain_tests_threads 70 500 560 \
    -DDPTRAIN_TEST_ALL_OPS=$([ $nightly = yes ] && echo ON || echo OFF)
  phase "Package, in a bare root" 100 240 package || true
fi
if [ "$fuzz_seconds" -gt 0 ]; then
  test_build "Fuzzing, $fuzz_seconds s a target" fuzz all 60 300 $((fuzz_seconds * 8)) -DDPTRAIN_FUZZ_SECONDS="$fuzz_seconds"
fi
if [ $nightly = yes ]; then
  phase "Every source by itself" 60 1500 build debug all || true
  phase "Versions of cuDNN" 300 300 cudnn_versions || true
fi

printf '\n== Summary\n'
if [ $times_wanted = yes ]; then
  for preset in "${presets[@]}"; do python3 scripts/test_report.py times "build/$preset"; done
  echo
fi
printf '%s\n' "${times[@]}"
if [ $failed -gt 0 ]; then
  for preset in "${presets[@]}"; do python3 scripts/test_report.py failed "build/$preset"; done | sed '/^$/d'
fi
for title in "${skipped_phases[@]}"; do echo "skipped: $title (reason above)"; done
for title in "${failed_phases[@]}"; do echo "failed: $title"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#failed_phases[@]} -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
