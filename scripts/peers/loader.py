#!/usr/bin/env python3
"""Measures dptrain's loader against PyTorch's DataLoader and tf.data on the same JPEG files, in one run: A B C C B A ..., medians, ratios.

    scripts/peers/loader.py --dptrain build/release/dptrain --data flowers/train \\
        --torch PEERS/torch_loader.py --torch-python VENV/bin/python --tensorflow PEERS/tf_data_loader.py --tensorflow-python VENV/bin/python

A peer is a program that takes --data, --batch and --rounds, reads every file once in a round (after an untimed round or two), resizes to
224x224 with a bilinear filter, normalises, and prints one JSON line with img_per_s. torch_loader.py takes --decode (pillow, torchvision, uint8)
and --workers, and antialiases; tf_data_loader.py takes --threads, and --antialias. Each is compared with dptrain under the same filter,
on the same number of threads. A ratio above 1 is in favour of dptrain.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 32


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, CUDA_VISIBLE_DEVICES=""), check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def count_files(folder):
    return sum(len(files) for _, _, files in os.walk(folder))


class Sides:
    """What is measured: name, whether it antialiases, and a function that gives images per second."""

    def __init__(self, options):
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="loader.")
        self.steps = math.ceil(count_files(options.data) / BATCH)
        self.all = [("dptrain", True, lambda: self.dptrain(True)), ("dptrain", False, lambda: self.dptrain(False))]
        if options.torch:
            for decode in options.decode.split(","):
                self.all.append((f"DataLoader, {decode}", True, lambda decode=decode: self.torch(decode)))
        if options.tensorflow:
            self.all.append(("tf.data", True, lambda: self.tensorflow(True)))
            self.all.append(("tf.data", False, lambda: self.tensorflow(False)))

    def dptrain(self, antialias):
        o = self.options
        run([o.dptrain, "bench", f"{HERE}/loader.yaml", "--data", "loader-only", "--cpus", "1x1", "--var", f"DATA={os.path.abspath(o.data)}",
             "--var", f"ANTIALIAS={str(antialias).lower()}", "--set", f"data.loader.workers={o.threads}", "--steps", str(self.steps), "--warmup",
             str(self.steps), "--repeats", str(o.epochs), "--output", self.directory, "--quiet"])
        with open(f"{self.directory}/bench.json", encoding="utf-8") as file:
            return json.load(file)["rows"][0]["examples_per_second"]

    def torch(self, decode):
        o = self.options
        return self.peer([o.torch_python, o.torch, "--decode", decode, "--workers", str(o.threads)])

    def tensorflow(self, antialias):
        o = self.options
        return self.peer([o.tensorflow_python, o.tensorflow, "--threads", str(o.threads)] + (["--antialias"] if antialias else []))

    def peer(self, command):
        o = self.options
        out = run(command + ["--data", o.data, "--batch", str(BATCH), "--rounds", str(o.epochs)])
        return json.loads(out.strip().splitlines()[-1])["img_per_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--data", required=True, help="a folder with one folder of JPEG files per class")
    parser.add_argument("--torch", help="torch_loader.py")
    parser.add_argument("--torch-python", default=sys.executable, help="interpreter that has torch and torchvision")
    parser.add_argument("--decode", default="torchvision,uint8,pillow", help="forms of the DataLoader")
    parser.add_argument("--tensorflow", help="tf_data_loader.py")
    parser.add_argument("--tensorflow-python", default=sys.executable, help="interpreter that has tensorflow")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3, help="times that each side runs")
    parser.add_argument("--epochs", type=int, default=3, help="timed passes over the files in a run")
    sides = Sides(parser.parse_args())

    found = [[] for _ in sides.all]
    for i in range(sides.options.rounds):
        order = range(len(sides.all)) if i % 2 == 0 else reversed(range(len(sides.all)))
        for side in order:
            found[side].append(sides.all[side][2]())
    ours = {antialias: rates for (name, antialias, _), rates in zip(sides.all, found) if name == "dptrain"}
    print(f"{count_files(sides.options.data)} files, {sides.options.threads} threads, batch {BATCH}, {sides.options.rounds} runs of {sides.options.epochs} epochs")
    print(f"{'loader':<24} {'antialias':>9} {'img/s':>8} {'lowest':>8} {'highest':>8} {'dptrain':>8}")
    for (name, antialias, _), rates in zip(sides.all, found):
        ratio = statistics.median(a / b for a, b in zip(ours[antialias], rates))
        print(f"{name:<24} {'yes' if antialias else 'no':>9} {statistics.median(rates):>8.0f} {min(rates):>8.0f} {max(rates):>8.0f} {ratio:>7.2f}x")


if __name__ == "__main__":
    main()
