#!/usr/bin/env python3
"""Compares `dptrain bench --predict` with measured steps of 1, 2 and 4 processes on this machine.

    scripts/check_prediction.py [--dptrain build/release/dptrain] [--rounds 3] [--quiet 0.05] [--patience 600]
                                [--within 0.15] [--steps 20] [--json FILE] [CONFIG ...]

A round predicts and measures once for a config; the medians of the rounds are compared. A round in which other
programs used more than --quiet of the machine's cores is repeated, for up to --patience seconds in total; then the
script exits with 2. Prints a row per number of processes, with the load of other programs, and exits with 7 if a
prediction is off by more than --within. It needs mpirun, or a launcher in DPTRAIN_MPIRUN. Not a test of the suite: it
measures.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ["configs/bench/fashion_cnn.yaml", "configs/bench/mlp.yaml", "configs/resnet_small.yaml"]
PROCESSES = [1, 2, 4]


def measure(dptrain, config, steps):
    """The rows of one prediction.json: {processes: (predicted ms, measured ms)}."""
    with tempfile.TemporaryDirectory() as folder:
        counts = ",".join(map(str, PROCESSES))
        command = [dptrain, "bench", config, "--sweep", f"processes={counts}", "--predict", f"processes={PROCESSES[-1]}",
                   "--cpus", "1x1", "--steps", str(steps), "--warmup", str(max(2, steps // 4)), "--output", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        rows = json.loads((pathlib.Path(folder) / "prediction.json").read_text())["rows"]
        return {row["processes"]: (row["predicted_step_ms"], row["measured_step_ms"]) for row in rows}


class Others:
    """What others take of the cores: all that is busy without the processes that this script has started."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle = ticks[3] + ticks[4]
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(ticks), sum(ticks) - idle, (own.ru_utime + own.ru_stime) * os.sysconf("SC_CLK_TCK")

    def share(self):
        all_ticks, busy, own = (now - before for now, before in zip(self.now(), self.before))
        return max(0.0, busy - own) / max(1, all_ticks)


def wait_until_quiet(most, until):
    """False when that was not so in time."""
    while time.monotonic() < until:
        others = Others()
        time.sleep(1)
        if others.share() <= most:
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("configs", nargs="*", default=CONFIGS)
    parser.add_argument("--dptrain", default=str(ROOT / "build/release/dptrain"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quiet", type=float, default=0.05)
    parser.add_argument("--patience", type=float, default=600)
    parser.add_argument("--within", type=float, default=0.15)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", help="write all rounds there, those that did not count too")
    arguments = parser.parse_args()

    os.chdir(ROOT)
    rounds = {config: [] for config in arguments.configs}
    kept = {config: [] for config in arguments.configs}
    until = time.monotonic() + arguments.patience
    while any(len(of_config) < arguments.rounds for of_config in kept.values()):
        config = min(arguments.configs, key=lambda name: len(kept[name]))
        if not wait_until_quiet(arguments.quiet, until):
            break
        others = Others()
        rows = measure(arguments.dptrain, config, arguments.steps)
        rounds[config].append({"others": others.share(), "rows": rows})
        if rounds[config][-1]["others"] <= arguments.quiet:
            kept[config].append(rounds[config][-1])
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(rounds, indent=1) + "\n")

    print(f"{len(os.sched_getaffinity(0))} cores, medians of {arguments.rounds} rounds")
    print(f"{'config':<32} {'processes':>9} {'predicted ms':>13} {'measured ms':>12} {'ratio':>7} {'others':>7}")
    off = 0
    for config, of_config in kept.items():
        for processes in PROCESSES if of_config else []:
            predicted = statistics.median(one["rows"][processes][0] for one in of_config)
            found = statistics.median(one["rows"][processes][1] for one in of_config)
            others = max(one["others"] for one in of_config)
            bad = not abs(predicted / found - 1) <= arguments.within
            off += bad
            print(f"{config:<32} {processes:>9} {predicted:>13.2f} {found:>12.2f} {predicted / found:>7.3f} {others:>7.1%}"
                  f"{'  OFF' if bad else ''}")
    if any(len(of_config) < arguments.rounds for of_config in kept.values()):
        print("others took too much of the machine: " +
              ", ".join(f"{config} {len(of_config)} of {arguments.rounds} rounds" for config, of_config in kept.items()))
        sys.exit(2)
    if off:
        print(f"{off} rows are further off than {arguments.within:.0%}")
        sys.exit(7)


if __name__ == "__main__":
    main()
