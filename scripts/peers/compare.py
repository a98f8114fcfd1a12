#!/usr/bin/env python3
"""Measures dptrain and PyTorch side by side, in one run: A B B A ..., medians, ratios.

    scripts/peers/compare.py --dptrain build/release/dptrain --programs PEERS --python VENV/bin/python

PEERS is a folder with torch_train.py and torch_fashion_epoch.py: programs that take --work, --threads, --batch, --rounds, --seconds and
print one JSON line with img_per_s and cpu_per_wall. Both sides get the same environment (glibc keeps freed memory, huge pages on request), the same threads, batch,
layers and optimizer. The table says which processor and instruction set it was measured on. A ratio above 1 is in favour of dptrain.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = dict(os.environ, MALLOC_MMAP_THRESHOLD_="8000000000", MALLOC_TRIM_THRESHOLD_="16000000000",
                   GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
BATCH = {"fashion_cnn": 512, "cifar_towers": 128, "mlp": 512, "resnet50": 8, "vgg16": 8}


def run(command, threads):
    """Standard output and the peak resident bytes of a command."""
    environment = dict(ENVIRONMENT, OMP_NUM_THREADS=str(threads))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with {process.returncode}:\n{err[-2000:]}")
    return out, usage.ru_maxrss * 1024


class Sides:
    def __init__(self, options):
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="compare.")

    def torch_step(self, work, threads):
        out, peak = run([self.options.python, f"{self.options.programs}/torch_train.py", "--work", work, "--threads", str(threads), "--batch",
                         str(BATCH[work]), "--rounds", "1", "--seconds", str(self.options.seconds), "--warmup", "3"], threads)
        result = json.loads(out.strip().splitlines()[-1])
        return {"img_per_s": result["img_per_s"], "peak": peak}

    def dptrain_step(self, work, threads, replicas=1):
        steps = max(2, int(self.options.steps * (512 if work == "fashion_cnn" else BATCH[work]) / 512)) if work != "mlp" else 5 * self.options.steps
        if work in ("resnet50", "vgg16"):
            steps = 2
        _, peak = run([self.options.dptrain, "bench", f"{ROOT}/configs/bench/{work}.yaml", "--cpus", f"{replicas}x{threads}", "--batch-size",
                       str(BATCH[work]), "--steps", str(steps), "--warmup", "3", "--repeats", "1", "--output", self.directory, "--quiet"], threads)
        with open(f"{self.directory}/bench.json", encoding="utf-8") as file:
            row = json.load(file)["rows"][0]
        return {"img_per_s": row["examples_per_second"], "peak": peak, "start": row["start_seconds"]}

    def torch_epoch(self, threads):
        out, peak = run([self.options.python, f"{self.options.programs}/torch_fashion_epoch.py", "--threads", str(threads), "--epochs", "2",
                         "--feed", "tensor"], threads)
        result = json.loads(out.strip().splitlines()[-1])
        return {"img_per_s": result["img_per_s"], "peak": peak}

    def dptrain_epoch(self, threads):
        run_dir = f"{self.directory}/epoch"
        _, peak = run([self.options.dptrain, "fit", f"{ROOT}/configs/fashion_mnist.yaml", "--cpus", f"1x{threads}", "--batch-size", "512", "--epochs",
                       "2", "--run-dir", run_dir, "--overwrite", "--quiet"], threads)
        with open(f"{run_dir}/train.csv", encoding="utf-8") as file:
            header = file.readline().strip().split(",")
            rates = [float(line.split(",")[header.index("examples_per_second")]) for line in file]
        return {"img_per_s": max(rates), "peak": peak}


def interleaved(a, b, rounds):
    """Results of both, in the order A B B A A B B A ..."""
    results = ([], [])
    for i in range(rounds):
        for side in ((0, 1) if i % 2 == 0 else (1, 0)):
            results[side].append((a, b)[side]())
    return results


def line(name, threads, ours, theirs):
    a = [r["img_per_s"] for r in ours]
    b = [r["img_per_s"] for r in theirs]
    pairs = statistics.median(x / y for x, y in zip(a, b))
    print(f"{name:<24} {threads:>7} {statistics.median(a):>10.1f} ({min(a):.0f}-{max(a):.0f}) {statistics.median(b):>10.1f} "
          f"({min(b):.0f}-{max(b):.0f}) {pairs:>7.2f} {max(r['peak'] for r in ours) / 2**20:>8.0f} {max(r['peak'] for r in theirs) / 2**20:>8.0f}", flush=True)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name = next((l.split(":", 1)[1].strip() for l in text.splitlines() if l.startswith("model name")), "?")
    return f"{name}, {os.cpu_count()} cores, {'AVX-512' if ' avx512f ' in text else 'AVX2' if ' avx2 ' in text else 'no AVX2'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--programs", required=True, help="folder with torch_train.py and torch_fashion_epoch.py")
    parser.add_argument("--python", required=True, help="interpreter that has torch")
    parser.add_argument("--works", default="fashion_cnn")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round of the peer")
    parser.add_argument("--steps", type=int, default=30, help="steps of a round of dptrain at batch 512")
    parser.add_argument("--no-epoch", action="store_true")
    parser.add_argument("--no-replicas", action="store_true")
    options = parser.parse_args()
    sides = Sides(options)

    print(processor())
    print(f"{'work':<24} {'threads':>7} {'dptrain img/s':>18} {'torch img/s':>18} {'ratio':>7} {'MiB':>8} {'MiB':>8}")
    for work in options.works.split(","):
        for threads in map(int, options.threads.split(",")):
            ours, theirs = interleaved(lambda: sides.dptrain_step(work, threads), lambda: sides.torch_step(work, threads), options.rounds)
            line(work, threads, ours, theirs)
            print(f"{'':<24} start to first step {statistics.median(r['start'] for r in ours):.3f} s", flush=True)
    if not options.no_epoch:
        threads = int(options.threads.split(",")[-1])
        ours, theirs = interleaved(lambda: sides.dptrain_epoch(threads), lambda: sides.torch_epoch(threads), max(1, options.rounds // 2))
        line("fashion_mnist, epochs", threads, ours, theirs)
    if not options.no_replicas:
        two, one = interleaved(lambda: sides.dptrain_step("fashion_cnn", 1, 2), lambda: sides.dptrain_step("fashion_cnn", 1, 1), options.rounds)
        ratio = statistics.median(x["img_per_s"] / y["img_per_s"] for x, y in zip(two, one))
        print(f"two one-thread replicas against one, batch 512: {ratio:.2f}")


if __name__ == "__main__":
    main()
