#!/usr/bin/env python3
"""Measures dptrain's reader of clips against decord's and PyAV's on the same files, in one run: A B C C B A ..., medians, ratios, memory.

    scripts/peers/video.py --dptrain build/release/dptrain --data clips --python VENV/bin/python --threads 1

VENV has decord, av (PyAV) and numpy. Every side reads each clip once in a round: 16 frames, 2 apart, from a random place, resized to
112x112, as floats. Clips that a side cannot read are left out by it. A ratio above 1 is in favour of dptrain. Threads are loader threads
there; here processes for PyAV and decord, as DataLoader has them. cpu ms is
the processor time that a clip takes, start and imports aside; MiB the peak of one process. (torchvision has no reader of its own any more.)
"""
import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMES, STRIDE, SIZE = 16, 2, 112
SPAN = (FRAMES - 1) * STRIDE + 1


def files_of(folder):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)


def picks(count):
    start = random.randint(0, max(0, count - SPAN))
    return [min(start + i * STRIDE, count - 1) for i in range(FRAMES)]


def read_decord(path):
    import decord
    reader = decord.VideoReader(path, width=SIZE, height=SIZE, num_threads=1)
    return reader.get_batch(picks(len(reader))).asnumpy()


def read_av(path):
    import av
    import numpy
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        count = stream.frames or int(container.duration * stream.average_rate / av.time_base)
        wanted = picks(count)
        rate, base = stream.average_rate, stream.time_base
        origin = stream.start_time or 0
        if wanted[0] > 0:
            container.seek(int(wanted[0] / rate / base) + origin, stream=stream)
        found = {}
        for place, frame in enumerate(container.decode(stream)):
            number = round((frame.pts - origin) * base * rate) if frame.pts is not None else place
            if number in wanted:
                found[number] = frame.to_ndarray(format="rgb24", width=SIZE, height=SIZE, interpolation="BILINEAR")
            if number >= wanted[-1]:
                break
        return numpy.stack([found[number] for number in wanted])


def work(read, paths):
    """Reads all: how many it could read, how many it could not, and seconds of the processor."""
    import numpy
    good = bad = 0
    before = time.process_time()
    for path in paths:
        try:
            clip = read(path).astype(numpy.float32) / 127.5 - 1
            good += clip.shape == (FRAMES, SIZE, SIZE, 3)
        except Exception:  # whatever a reader throws
            bad += 1
    return good, bad, time.process_time() - before


def serve(name, folder, rounds, threads):
    """One side in a process of its own, with so many workers; the first round is not timed."""
    import multiprocessing
    read = {"decord": read_decord, "PyAV": read_av}[name]
    paths = files_of(folder)
    parts = [paths[i::threads] for i in range(threads)]
    with multiprocessing.Pool(threads) as pool:
        for round_ in range(rounds + 1):
            if round_ == 1:
                start = time.perf_counter()
            found = pool.starmap(work, [(read, part) for part in parts])
        seconds = time.perf_counter() - start
    good = sum(g for g, _, _ in found)
    cpu = sum(c for _, _, c in found)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"clips_per_s": rounds * good / seconds, "good": good, "bad": len(paths) - good, "cpu_ms": 1000 * cpu / len(paths), "mib": memory}))


def dptrain(o, directory, clips):
    steps = math.ceil(clips / 8)
    command = [o.dptrain, "bench", f"{HERE}/video.yaml", "--data", "loader-only", "--cpus", "1x1", "--var", f"DATA={os.path.abspath(o.data)}",
               "--set", f"data.loader.workers={o.threads}", "--steps", str(steps), "--warmup", str(steps), "--repeats", str(o.epochs),
               "--output", directory, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}\n{words.decode()}")
    with open(f"{directory}/bench.json", encoding="utf-8") as file:
        return {"clips_per_s": json.load(file)["rows"][0]["examples_per_second"], "mib": used.ru_maxrss / 1024,
                "cpu_ms": 1000 * (used.ru_utime + used.ru_stime) / ((1 + o.epochs) * clips)}


def peer(o, name):
    command = [o.python, os.path.abspath(__file__), "--serve", name, "--data", o.data, "--epochs", str(o.epochs), "--threads", str(o.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain")
    parser.add_argument("--data", required=True, help="a folder with one folder of clips per class")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has decord, av and numpy")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="times that each side runs")
    parser.add_argument("--epochs", type=int, default=2, help="timed passes over the files in a run")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.serve:
        return serve(o.serve, o.data, o.epochs, o.threads)
    clips = len(files_of(o.data))
    with tempfile.TemporaryDirectory(prefix="video.") as directory:
        sides = [("dptrain", lambda: dptrain(o, directory, clips)), ("decord", lambda: peer(o, "decord")), ("PyAV", lambda: peer(o, "PyAV"))]
        found = {name: [] for name, _ in sides}
        for i in range(o.rounds):
            for name, measure in sides if i % 2 == 0 else reversed(sides):
                found[name].append(measure())
    print(f"{clips} files, {o.threads} threads, {o.rounds} runs of {o.epochs} epochs")
    print(f"{'reader':<10} {'clips/s':>8} {'lowest':>8} {'highest':>8} {'dptrain':>8} {'cpu ms':>7} {'MiB':>7}")
    ours = [one["clips_per_s"] for one in found["dptrain"]]
    for name, _ in sides:
        rates = [one["clips_per_s"] for one in found[name]]
        ratio = statistics.median(a / b for a, b in zip(ours, rates))
        cpu = statistics.median(one["cpu_ms"] for one in found[name])
        memory = max(one["mib"] for one in found[name])
        bad = found[name][0].get("bad")
        print(f"{name:<10} {statistics.median(rates):>8.1f} {min(rates):>8.1f} {max(rates):>8.1f} {ratio:>7.2f}x {cpu:>7.1f} {memory:>7.0f}" + (f"  {bad} not read" if bad else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
