#!/usr/bin/env python3
"""Measures dptrain and its peers side by side, in one run: each in turn, forth and back, medians, ratios to the fastest peer.

    scripts/peers/compare.py --dptrain build/release/dptrain --programs PEERS --torch VENV/bin/python [--tf PYTHON] [--tf2 PYTHON]

PEERS is a folder with torch_train.py, tf_train.py, torch_fashion_epoch.py and tf_estimator.py: programs that take --work, --threads,
--batch, --rounds, --seconds (the last two --threads, --epochs) and print one JSON line with img_per_s and cpu_per_wall. All sides get
the same environment (glibc keeps freed memory, huge pages on request), the same threads, batch, layers and optimizer. A round of
dptrain during which other programs used more than a tenth of a core is marked with '!'. A ratio above 1 is in favour of dptrain: the median
over rounds of dptrain's images per second over those of the peer whose median is highest.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = dict(os.environ, MALLOC_MMAP_THRESHOLD_="8000000000", MALLOC_TRIM_THRESHOLD_="16000000000",
                   GLIBC_TUNABLES="glibc.malloc.hugetlb=1", TF_CPP_MIN_LOG_LEVEL="2")
BATCH = {"fashion_cnn": 512, "cifar_towers": 128, "mlp": 512, "resnet50": 8, "vgg16": 8, "lstm_shared": 64, "gru": 64, "bilstm": 32, "embedding": 256, "mlp_table": 256,
         "transformer": 32, "vit_tiny": 64, "conv3d": 8}
STEPS = {"fashion_cnn": 30, "cifar_towers": 12, "mlp": 150, "resnet50": 2, "vgg16": 2, "lstm_shared": 25, "gru": 40, "bilstm": 25, "embedding": 15, "mlp_table": 2000,
         "transformer": 6, "vit_tiny": 10, "conv3d": 6}


def busy_seconds():
    """CPU seconds that all cores together have spent on anything."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system = map(int, file.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def run(command, threads):
    """Standard output of a command, its peak resident bytes, and how many cores others used meanwhile."""
    started, busy = time.monotonic(), busy_seconds()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                                   env=dict(ENVIRONMENT, OMP_NUM_THREADS=str(threads)))
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}\nfailed with {process.returncode}:\n{errors.read()[-2000:]}")
    others = (busy_seconds() - busy - usage.ru_utime - usage.ru_stime) / (time.monotonic() - started)
    return out, usage.ru_maxrss * 1024, others


class Dptrain:
    """What dptrain does in one round. Results: img_per_s, peak bytes, others (cores)."""

    def __init__(self, executable, scale):
        self.executable, self.scale = executable, scale
        self.directory = tempfile.mkdtemp(prefix="compare.")

    def step(self, work, threads, replicas=1):
        steps = max(2, int(self.scale * STEPS[work]))
        _, peak, others = run([self.executable, "bench", f"{ROOT}/configs/bench/{work}.yaml", "--cpus", f"{replicas}x{threads}",
                               "--batch-size", str(BATCH[work]), "--steps", str(steps), "--warmup", "3" if steps > 2 else "1", "--repeats", "1",
                               "--output", self.directory, "--quiet"], threads)
        with open(f"{self.directory}/bench.json", encoding="utf-8") as file:
            row = json.load(file)["rows"][0]
        return {"img_per_s": row["examples_per_second"], "peak": peak, "others": others, "start": row["start_seconds"]}

    def epoch(self, threads, replicas=1, epochs=2):
        """The best of the epochs."""
        folder = f"{self.directory}/epoch"
        _, peak, others = run([self.executable, "fit", f"{ROOT}/configs/fashion_mnist.yaml", "--cpus", f"{replicas}x{threads}",
                               "--batch-size", "512", "--epochs", str(epochs), "--run-dir", folder, "--overwrite", "--quiet"], threads)
        with open(f"{folder}/train.csv", encoding="utf-8") as file:
            column = file.readline().strip().split(",").index("examples_per_second")
            rates = [float(line.split(",")[column]) for line in file]
        return {"img_per_s": max(rates), "peak": peak, "others": others}


class Peers:
    """The peers that have an interpreter, as {name: round()} for each kind of work."""

    def __init__(self, options):
        self.options = options

    def _round(self, python, threads, program, *arguments):
        out, peak, _ = run([python, f"{self.options.programs}/{program}", "--threads", str(threads), *arguments], threads)
        result = json.loads(out.strip().splitlines()[-1])
        # The programs know their own disturbance better: they leave out start and compilation.
        return {"img_per_s": result["img_per_s"], "peak": peak, "others": result.get("others_per_wall", 0)}

    def step(self, work, threads):
        timing = ["--work", work, "--batch", str(BATCH[work]), "--rounds", "1", "--seconds", str(self.options.seconds), "--warmup", "3"]
        peers = {}

        def add(name, python, program, *more):
            if python:
                peers[name] = lambda: self._round(python, threads, program, *timing, *more)

        add("torch", self.options.torch, "torch_train.py")
        if work == "cifar_towers":
            add("torch tuned", self.options.torch, "torch_train.py", "--tuned")
        add("tensorflow", self.options.tf, "tf_train.py", "--onednn", "1")
        if threads > 1 and work == "fashion_cnn":
            add("mirrored", self.options.tf, "tf_train.py", "--onednn", "1", "--strategy", "mirrored", "--replicas", str(threads))
        add("tensorflow 2.15", self.options.tf2, "tf_train.py", "--onednn", "1")
        return peers

    def epoch(self, threads):
        if not self.options.torch:
            return {}
        return {"torch": lambda: self._round(self.options.torch, threads, "torch_fashion_epoch.py", "--epochs", "2", "--feed", "tensor")}

    def estimator(self, threads):
        if not self.options.tf2:
            return {}
        return {"estimator": lambda: self._round(self.options.tf2, threads, "tf_estimator.py", "--epochs", "1", "--images", "20480",
                                                 "--replicas", "2", "--batch", "256")}


def in_turns(sides, rounds):
    """{name: results}, in the order A B C C B A A B C ..."""
    results = {name: [] for name in sides}
    for i in range(rounds):
        for name in list(sides) if i % 2 == 0 else reversed(list(sides)):
            results[name].append(sides[name]())
    return results


def spread(results):
    rates = [r["img_per_s"] for r in results]
    mark = "!" if any(r["others"] > 0.1 for r in results) else ""
    return f"{statistics.median(rates):.1f} ({min(rates):.1f}-{max(rates):.1f}){mark}"


def median_rate(results):
    return statistics.median(r["img_per_s"] for r in results)


def ratio(a, b):
    return statistics.median(x["img_per_s"] / y["img_per_s"] for x, y in zip(a, b))


def report(title, threads, ours, peers, rounds):
    """One line for dptrain and one for each peer; the ratio stands with the fastest of them."""
    results = in_turns({"dptrain": ours, **peers}, rounds)
    fastest = max((name for name in results if name != "dptrain"), key=lambda name: median_rate(results[name]), default=None)
    for name, rounds_of in results.items():
        against = f"{ratio(results['dptrain'], rounds_of):>7.2f}{' <- fastest' if name == fastest else ''}" if name != "dptrain" else ""
        peak = max(r["peak"] for r in rounds_of) / 2**20
        print(f"{title:<22} {threads:>7} {name:<16} {spread(rounds_of):>30} {peak:>8.0f} {against}".rstrip(), flush=True)
    return results["dptrain"]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name = next((l.split(":", 1)[1].strip() for l in text.splitlines() if l.startswith("model name")), "?")
    return f"{name}, {os.cpu_count()} cores, {'AVX-512' if ' avx512f ' in text else 'AVX2' if ' avx2 ' in text else 'no AVX2'}"


def disturbed(dptrain, rounds):
    """One replica of two threads, alone and with a busy program on the second core."""

    def beside_a_busy_core():
        stranger = subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", "while True: pass"])
        try:
            return dptrain.step("fashion_cnn", 2)
        finally:
            stranger.kill()
            stranger.wait()

    results = in_turns({"alone": lambda: dptrain.step("fashion_cnn", 2), "disturbed": beside_a_busy_core}, rounds)
    print(f"with a busy program on one of two cores: {spread(results['disturbed'])} against {spread(results['alone'])}, "
          f"{ratio(results['disturbed'], results['alone']):.2f} of it", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--programs", required=True, help="folder with the peers' programs")
    parser.add_argument("--torch", help="interpreter that has PyTorch")
    parser.add_argument("--tf", help="interpreter that has a current TensorFlow")
    parser.add_argument("--tf2", help="interpreter that has TensorFlow 2.15, the last with Estimators")
    parser.add_argument("--works", default="fashion_cnn", help=f"of {', '.join(BATCH)}; or none")
    parser.add_argument("--parts", default="step,epoch,estimator,replicas,disturbed", help="what to measure, of these")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--replicas", action="store_true", help="dptrain takes replicas of one thread each instead of one of so many")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round of a peer")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the steps in a round of dptrain")
    options = parser.parse_args()
    dptrain, peers, parts = Dptrain(options.dptrain, options.scale), Peers(options), options.parts.split(",")

    print(processor())
    print(f"{'work':<22} {'threads':>7} {'':<16} {'img/s: median (min-max)':>30} {'peak MiB':>8}   ratio")
    for work in options.works.split(",") if "step" in parts else []:
        for threads in map(int, options.threads.split(",")):
            layout = (1, threads) if options.replicas else (threads, 1)
            ours = report(work, threads, lambda: dptrain.step(work, *layout), peers.step(work, threads), options.rounds)
            print(f"{'':<22} {'':>7} start to first step {statistics.median(r['start'] for r in ours):.3f} s", flush=True)
    threads = int(options.threads.split(",")[-1])
    if "epoch" in parts:
        report("Fashion-MNIST, epochs", threads, lambda: dptrain.epoch(threads), peers.epoch(threads), max(1, options.rounds // 2))
    if "estimator" in parts:
        report("the same, 2 devices", threads, lambda: dptrain.epoch(1, 2), peers.estimator(threads), max(1, options.rounds // 2))
    if "replicas" in parts:
        results = in_turns({"two": lambda: dptrain.step("fashion_cnn", 1, 2), "one": lambda: dptrain.step("fashion_cnn", 1)}, options.rounds)
        print(f"two one-thread replicas against one, batch 512: {ratio(results['two'], results['one']):.2f}", flush=True)
    if "disturbed" in parts:
        disturbed(dptrain, options.rounds)


if __name__ == "__main__":
    main()
