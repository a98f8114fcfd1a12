#!/usr/bin/env python3
"""Mutation test: inserts faults one by one and checks that the tests detect each of them.

    mutate.py SOURCE BUILD                        all faults; exit 1 if one was missed
    mutate.py SOURCE BUILD --only 3,7             some of them
    mutate.py SOURCE BUILD --asan-build BUILD     and those that only AddressSanitizer can see
    mutate.py SOURCE BUILD --tsan-build BUILD     and those that only ThreadSanitizer can see
    mutate.py --list [SOURCE]                     only prints them; exit 1 if a text does not occur exactly once,
                                                  or a test does not exist

SOURCE is a separate clone without changes; each fault is written into it and reverted, even if the script is
interrupted. BUILD is its build folder for Ninja with the tests, configured with the preset release (asan, tsan). First,
the required tests must pass without a fault; then they are rebuilt and run for each fault. A test that crashes or hangs
has detected the fault. The faults are typical mistakes: they compile, and change the program's behaviour.
"""

import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

Fault = collections.namedtuple("Fault", "kind file old new tests preset", defaults=["release"])

# DPTRAIN_SANITIZE of the presets.
SANITIZERS = {"release": "", "asan": "address,undefined", "tsan": "thread"}

# `tests`: folders, for dptrain_test_<folder>, and e2e:<script>. `preset`: of the build that detects the fault.
FAULTS = [
    Fault("a dropped term", "src/core/random.cpp", "static_cast<std::uint32_t>(seed_ >> 32) ^ (purpose_ * 0x9E3779B9u)",
          "purpose_ * 0x9E3779B9u", ["core"]),
    Fault("a rounding", "src/config/units.cpp", "std::ceil(value / static_cast<double>(batch_size))",
          "value / static_cast<double>(batch_size)", ["config"]),
    Fault("an off-by-one", "src/nn/geometry.cpp", "return (kernel - 1) * dilation + 1;", "return kernel * dilation;",
          ["nn"]),
    Fault("a bound on the wrong side", "src/nn/schedules.cpp", "elapsed(progress) <= boundary.steps", "elapsed(progress) < boundary.steps", ["nn"]),
    Fault("a sign", "src/graph/keras_order.cpp", "std::pair(-depth[", "std::pair(depth[", ["graph"]),
    Fault("an interval without its end", "src/plan/memory.cpp", "return a.first <= b.last && b.first <= a.last;",
          "return a.first < b.last && b.first < a.last;", ["plan"]),
    Fault("an unchecked length", "src/data/sources/idx.cpp", "got < word.size())", "got == 0)", ["data"]),
    Fault("a byte order", "src/data/images/image_pnm.cpp", "from[2 * i] * 256 + from[2 * i + 1]",
          "from[2 * i + 1] * 256 + from[2 * i]", ["data"]),
    Fault("an unchecked end", "src/data/loader.cpp", "end = std::min(at.first + batch_size, samples);",
          "end = at.first + batch_size;", ["data"]),
    Fault("a number that forgets what is missing", "src/core/batch_view.h",
          "return position - (std::ranges::lower_bound(missing, position) - missing.begin());", "return position;", ["data", "runtime"]),
    Fault("a share of others' rows", "src/data/loader.cpp", "const std::int64_t position = buffer.share.first + row;",
          "const std::int64_t position = row;", ["data"]),
    Fault("another process's file removed", "src/data/cache_disk.cpp", "out_.lock(F_WRLCK, kPresence, false) && has_name", "has_name", ["data"]),
    Fault("an unchecked key", "src/data/cache_disk.cpp", "|| header.key != key ||", "||", ["data"]),
    Fault("memory allocated by a worker", "src/data/loader.cpp", "    if (reserved > 0)\n", "    if (reserved > 99)\n", ["data"]),
    Fault("memory allocated while ranks wait", "src/data/loader.cpp", "i < ring.size() + reserved", "i < ring.size()", ["distributed"]),
    Fault("a buffer that must grow", "src/data/loader.cpp", "if (positions > 0 && max_share == 0) most", "if (positions > batch_size) most", ["data"]),
    Fault("a wrong order", "src/data/sources/split.cpp", "return remainder[a] > remainder[b];",
          "return remainder[a] < remainder[b];", ["data"]),
    Fault("an off-by-one", "src/data/transforms/cropping.cpp",
          "std::int64_t room) {\n    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1)",
          "std::int64_t room) {\n    return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room))", ["data"]),
    Fault("an off-by-one", "src/data/video/clip_reading.cpp", "stream.below(static_cast<std::uint64_t>(room) + 1)",
          "stream.below(static_cast<std::uint64_t>(room))", ["data"]),
    Fault("an unchecked length", "src/data/video/libav/container.cpp", "packets_ < stream_->nb_frames", "packets_ < 0", ["data"]),
    Fault("an unchecked length", "src/formats/hdf5/hdf5_reader.cpp",
          "const std::uint64_t end = at.u64();\n  if (end > file.size()) "
          'file.throw_damaged(fmt::format("it is cut off, {} bytes of {}", file.size(), end));', "at.skip(8);", ["formats"]),
    Fault("a stale value", "src/formats/checkpoint/writer.cpp", "last_error_ = saved.error;",
          "if (saved.error) last_error_ = saved.error;", ["formats"]),
    Fault("a leak where it fails", "src/core/files.cpp",
          "if (!temporary_.empty()) unlink(temporary_.c_str());", "", ["formats"]),
    Fault("an off-by-one", "src/formats/keras/keras_import.cpp", "if (layer.calls < 2) continue;",
          "if (layer.calls <= 2) continue;", ["formats"]),
    Fault("a wrong stride", "src/backend/cpu/prelu.cpp", "axis->alpha_stride = axis->shared ? 0 : alpha_stride;",
          "axis->alpha_stride = alpha_stride;", ["backend"]),
    Fault("a dropped term", "src/backend/ops/dropout.cpp", "return {amount, seed_, stream_, a.first_row};",
          "return {amount, seed_, stream_, 0};", ["backend"]),
    Fault("a wrong stride", "src/backend/gpu/attention.cpp", ".q_stride = stride_of(kQuery)",
          ".q_stride = shape_.heads * shape_.key_dim", ["backend"]),
    Fault("a missing wait", "src/backend/emu/emu_runtime.cpp", "scheduler().finish(device_);\n    memory_.free(memory);",
          "memory_.free(memory);", ["backend"]),
    Fault("a dropped factor", "kernels/cpu/lrn.cpp", "splat(-2.0F * lrn.alpha * lrn.beta)", "splat(-2.0F * lrn.alpha)",
          ["kernels"]),
    Fault("memory left unwritten", "kernels/cpu/pool.cpp",
          "const int64_t below = out_h + 1 == w.out_h ? w.in_h - 2 * w.out_h : 0;", "const int64_t below = 0;", ["kernels"]),
    Fault("a lost remainder", "kernels/cpu/thread_pool.cpp", "((slot + 1) * pieces + count - 1) / count;",
          "(slot + 1) * (pieces / count);", ["kernels"]),
    Fault("engines compared with the same numbers everywhere", "src/backend/cuda/trial_inputs.h", ".layer = tensor", ".layer = 0", ["cuda"]),
    Fault("results that are not compared", "src/backend/cuda/cudnn_tuner.cpp",
          "if (found.largest <= tolerance * reference.largest) return", "return", ["cuda"]),
    Fault("a fault forgotten in later versions", "src/backend/cuda/cudnn_engines.cpp", "(fault.fixed == 0 || version < fault.fixed)",
          "version <= fault.seen", ["cuda"]),
    Fault("a missing barrier", "kernels/cuda/permute.cu", "  __syncthreads();\n", "", ["kernels_cuda"]),
    Fault("a missing barrier", "kernels/cuda/attention.cu",
          "  __syncthreads();  // the loop may skip all tiles of queries, and their barriers\n", "", ["kernels_cuda"]),
    Fault("a shuffle as a barrier", "kernels/cuda/attention.cu",
          "      __syncwarp();  // all lanes have read most[i]; shuffles do not order memory\n", "", ["kernels_cuda"], preset="tsan"),
    Fault("another order", "kernels/cuda/batch_norm_sums.cu", "add(in[n], ", "add(in[Pass::kAhead - 1 - n], ", ["kernels_cuda"]),
    Fault("an unstable order", "kernels/cuda/embedding.cu", "same & ((1U << lane) - 1)", "same & ~((2U << lane) - 1)", ["kernels_cuda"]),
    Fault("a missing lock", "src/runtime/worker_group.cpp", "const std::lock_guard lock(mutex_);\n  return busy_;",
          "return busy_;", ["runtime"], preset="tsan"),
    Fault("rows of an earlier batch", "src/runtime/step_runner.cpp", "plan_.tensors[at(item.source)].elements(slice.rows)",
          "plan_.tensors[at(item.source)].elements(rows_)", ["runtime"], preset="asan"),
    Fault("peer access in one direction", "src/runtime/secondary_slots.cpp", "back = all[j]->enable_peer_access(*all[i]);", "back = there;", ["distributed"]),
    Fault("a copy per parameter", "src/runtime/weight_mirror.cpp", "if (ranges_.empty() ||", "if (floats >= 0 || ranges_.empty() ||", ["runtime"]),
    Fault("memory allocated while ranks wait", "src/runtime/replica.cpp",
          "r.searches[at(slot.slot())]->run(", "NonFiniteSearch(slot).run(", ["distributed"]),
    Fault("memory allocated while ranks wait", "src/runtime/replica_set.cpp",
          "    if (options.check_every > 0) replica->arenas().hash();", "   ", ["distributed"]),
    Fault("a stale copy", "src/runtime/arenas.cpp", "recording.replay(stream_);\n  ++updates_;", "recording.replay(stream_);",
          ["distributed"]),
    Fault("a stale copy", "src/runtime/arenas.cpp", "  ++pushes_;\n", "", ["distributed"]),
    Fault("a missed update", "src/backend/cpu/row_table.cpp", "for (std::int64_t update = first->made;", "for (std::int64_t update = first->made + 1;",
          ["distributed"]),
    Fault("a missed update", "src/runtime/arenas.cpp", "  catch_up();  // before new weights: pending updates also change the slots\n", "", ["distributed"]),
    Fault("a missing wait", "src/distributed/local_streams.cpp",
          "    for (RankState& rank_state : shared_.rank_states) rank_state.summed->hold(compute);\n", "", ["distributed"]),
    Fault("a part of the state forgotten", "src/train/position.cpp",
          '    position.sums.loss = trainer.at("sums").at("loss").get<double>();\n', "", ["e2e:resume"]),
    Fault("a part of the state forgotten", "src/train/callbacks/early_stopping.cpp",
          '    wait_ = saved_count(state, "wait");\n', "", ["train"]),
    Fault("an off-by-one", "src/train/sinks/run_files.cpp", "leading_number(row) <= steps;",
          "leading_number(row) < steps;", ["train"]),
    Fault("data lost on an error", "src/train/line_file.cpp", 'pending_ += line + "\\n";', 'pending_ = line + "\\n";',
          ["train"]),
    Fault("a union that counts the intersection twice", "src/evaluation/class_scores.cpp", "share(right, predicted + support - right)",
          "share(right, predicted + support)", ["evaluation"]),
    Fault("ignored positions in a sum", "kernels/losses.h", "return !kSkipsNegative<F> || !(target < 0.0);", "return true;", ["distributed"]),
    Fault("a mask of the wrong rows", "kernels/cuda/loss_weights.cu", "labels[i * width] < 0.0F", "labels[i] < 0.0F", ["distributed"]),
    Fault("swapped indices", "src/evaluation/class_scores.cpp",
          "support += confusion.count(c, other);\n      predicted += confusion.count(other, c);",
          "support += confusion.count(other, c);\n      predicted += confusion.count(c, other);", ["evaluation"]),
]



def refuse(message):
    print(f"mutate.py: {message}", file=sys.stderr)
    sys.exit(2)


def stop(child):
    """Ends a process and all that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):  # the first lets scripts remove their folders
        try:
            os.killpg(child.pid, number)
            child.wait(timeout=10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def run(command, folder, seconds=None, **variables):
    """(output, exit status); the status is None where it did not end in time."""
    child = subprocess.Popen(command, cwd=folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
    try:
        return child.communicate(timeout=seconds)[0], child.returncode
    except BaseException as error:
        stop(child)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return "", None


def compile_error(build, tests):
    """Builds the executables of these tests; returns the first line of the error, or None."""
    targets = {"dptrain" if test.startswith("e2e:") else f"dptrain_test_{test}" for test in tests}
    output, status = run(["ninja", "-C", str(build), *sorted(targets)], build)
    return None if status == 0 else next((line for line in output.splitlines() if "error:" in line), output[-200:])


def failure(source, build, test, seconds):
    """Runs the tests of a folder or a script; the name of the first that fails, or what else went wrong, or None."""
    if test.startswith("e2e:"):
        output, status = run(["bash", str(source / "tests" / place_of(test))], build, seconds,
                             DPTRAIN=str(build / "dptrain"), DPTRAIN_SOURCE=str(source))
    else:
        output, status = run([str(build / "tests" / f"dptrain_test_{test}"), "--gtest_brief=1", "--gtest_fail_fast=1"],
                             build / "tests", seconds, TSAN_OPTIONS="halt_on_error=1")
    if status == 0:
        return None
    if status is None:
        return f"{test} did not end within {seconds} s"
    told = re.search(r"^(?:\[  FAILED  \] (?=\D)|FAILED: |SUMMARY: )([^(,\n]*[^(,\s])", output, re.MULTILINE)
    if told:
        return f"{test}: {told[1]}"
    return f"{test} crashed: {signal.Signals(-status).name}" if status < 0 else f"{test}: exit code {status}"


def judge(source, build, fault, seconds):
    """("found", by what), ("MISSED", "") or ("does not compile", why)."""
    path = source / fault.file
    whole = path.read_bytes()
    try:
        path.write_bytes(whole.replace(fault.old.encode(), fault.new.encode()))
        if (error := compile_error(build, fault.tests)) is not None:
            return "does not compile", error
        names = (failure(source, build, test, seconds) for test in fault.tests)
        name = next((name for name in names if name is not None), None)
        return ("found", name) if name is not None else ("MISSED", "")
    finally:
        path.write_bytes(whole)


def place_of(test):
    """The folder or script of a test, in tests/."""
    return f"e2e/{test[4:]}.sh" if test.startswith("e2e:") else test


def list_faults():
    for number, fault in enumerate(FAULTS, 1):
        print(f"{number:2} {fault.kind}, {fault.file}: {', '.join(fault.tests)}"
              f"{'' if fault.preset == 'release' else f' with --{fault.preset}-build'}")
        for sign, text in (("-", fault.old), ("+", fault.new)):
            print("".join(f"   {sign} {line.strip()}\n" for line in text.splitlines()), end="")


def check_without_faults(source, build, preset, tests, seconds):
    cache = (build / "CMakeCache.txt").read_text()
    home = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", cache, re.MULTILINE)
    if not home or pathlib.Path(home[1]).resolve() != source or not (build / "build.ninja").exists():
        refuse(f"{build} is no build folder of {source} for Ninja")
    found = re.search(r"^DPTRAIN_SANITIZE:\w+=(.*)$", cache, re.MULTILINE)
    if (found[1] if found else "") != SANITIZERS[preset]:
        refuse(f"{build} is not configured with the preset {preset}")
    if (error := compile_error(build, tests)) is not None:
        refuse(f"{build} does not compile without a fault: {error}")
    for test in tests:
        if (name := failure(source, build, test, seconds)) is not None:
            refuse(f"{build} fails without a fault: {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", metavar="N,N", type=lambda text: set(map(int, text.split(","))))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--asan-build", metavar="BUILD", type=pathlib.Path)
    parser.add_argument("--tsan-build", metavar="BUILD", type=pathlib.Path)
    parser.add_argument("--timeout", metavar="SECONDS", type=int, default=300, help="of an executable or script (300)")
    given = parser.parse_args()
    source = given.source.resolve()
    if given.list:
        list_faults()
    if lost := [fault.file for fault in FAULTS if (source / fault.file).read_text().count(fault.old) != 1]:
        sys.exit("mutate.py: the text to replace is not there exactly once in " + ", ".join(lost))
    tests = sorted({test for fault in FAULTS for test in fault.tests})
    if lost := [test for test in tests if not (source / "tests" / place_of(test)).exists()]:
        sys.exit("mutate.py: there are no tests " + ", ".join(lost))
    if given.list:
        return
    if given.build is None:
        parser.error("BUILD is missing")
    if run(["git", "status", "--porcelain", "--untracked-files=no"], source) != ("", 0):
        refuse(f"{source} is no clone without changes")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the file is restored
    chosen = {number: fault for number, fault in enumerate(FAULTS, 1) if given.only is None or number in given.only}
    folders = {"release": given.build, "asan": given.asan_build, "tsan": given.tsan_build}
    builds = {preset: folder and folder.resolve() for preset, folder in folders.items()}
    for preset, build in builds.items():
        tests = {test for fault in chosen.values() if fault.preset == preset for test in fault.tests}
        if build and tests:
            check_without_faults(source, build, preset, sorted(tests), given.timeout)
    counts = collections.Counter()
    for number, fault in chosen.items():
        build = builds[fault.preset]
        verdict, by = judge(source, build, fault, given.timeout) if build else ("not run", f"needs --{fault.preset}-build")
        counts[verdict] += 1
        print(f"{number:2} {verdict:8} {fault.kind}, {fault.file}{by and ': ' + by}", flush=True)
    left = f", {counts['not run']} not run" if counts["not run"] else ""
    print(f"{counts['found']} of {len(chosen)} found{left}")
    sys.exit(0 if counts["found"] + counts["not run"] == len(chosen) else 1)


if __name__ == "__main__":
    main()
