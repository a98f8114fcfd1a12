#!/usr/bin/env python3
"""Trains a small network with dptrain, stops it in the middle, continues, and reads its event files with TensorBoard's
reader: every value must equal that of train.csv and steps.csv.

    tensorboard_events.py --dptrain PROGRAM [--keep DIR]

Needs the package tensorboard alone. --keep leaves the run in DIR, for `tensorboard --logdir DIR`. Exit 1 if anything differs.
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2

CONFIG = """
dptrain: 1
name: events
seed: 3
model:
  layers:
    - Input: {shape: [12, 12, 1]}
    - Conv2D: {name: conv1, filters: 4, kernel_size: 3, activation: relu}
    - GlobalAveragePooling2D
    - Dense: {name: classes, units: 3, activation: softmax}
data:
  train: {Synthetic: {samples: 96, classes: 3}}
  validation: {Synthetic: {samples: 32, classes: 3}}
train:
  epochs: 3
  batch_size: 8
  log_every: 4 steps
  optimizer: {SGD: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.5}}}}
  loss: categorical_crossentropy
  metrics: [accuracy]
callbacks:
  - TensorBoard: {update_freq: 4, histogram_freq: 1, write_grads: true, write_steps_per_second: true}
"""
EPOCHS, STEPS_PER_EPOCH = 3, 12


def fail(words):
    print(f"FAILED: {words}")
    sys.exit(1)


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def load(folder):
    everything = {event_accumulator.SCALARS: 0, event_accumulator.HISTOGRAMS: 0, event_accumulator.IMAGES: 0,
                  event_accumulator.TENSORS: 0}
    events = event_accumulator.EventAccumulator(str(folder), size_guidance=everything)
    events.Reload()
    return events


def check_scalars(events, tag, expected):
    found = [(event.step, event.value) for event in events.Scalars(tag)]
    if [step for step, _ in found] != [step for step, _ in expected]:
        fail(f"{tag}: steps {[step for step, _ in found]}, expected {[step for step, _ in expected]}")
    for (step, value), (_, wanted) in zip(found, expected):
        if not abs(value - wanted) <= 1e-6 * max(1, abs(wanted)):
            fail(f"{tag}, step {step}: {value}, expected {wanted}")
    print(f"{tag}: {len(found)} points as in the table")


def check_histograms(events, tag, values):
    found = events.Histograms(tag)
    if [event.step for event in found] != list(range(EPOCHS)):
        fail(f"{tag}: steps {[event.step for event in found]}")
    for event in found:
        histogram = event.histogram_value
        if histogram.num != values or sum(histogram.bucket) != values:
            fail(f"{tag}: {histogram.num} values, expected {values}")
        if not histogram.min <= histogram.sum / histogram.num <= histogram.max:
            fail(f"{tag}: a mean outside of {histogram.min} to {histogram.max}")
    print(f"{tag}: {len(found)} histograms of {values} values")


def check_graph(events):
    nodes = {node.name: node for node in events.Graph().node}
    if not nodes["classes"].input or nodes["conv1"].op != "Conv2D" or nodes["conv1"].attr["filters"].s != b"4":
        fail(f"graph: {nodes}")
    shape = [dim.size for dim in nodes["conv1"].attr["_output_shapes"].list.shape[0].dim]
    if shape != [-1, 10, 10, 4] or nodes["conv1"].attr["parameters"].i != 40:
        fail(f"graph: conv1 gives {shape}")
    print(f"graph: {len(nodes)} nodes")


def check_hparams(events):
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    if start.hparams["batch_size"].number_value != 8 or start.hparams["seed"].number_value != 3:
        fail(f"hparams: {start}")
    print(f"hparams: {len(start.hparams)} of {start.group_name}")


def run(program, config, folder, *flags):
    subprocess.run([program, "fit", config, "-q", "--cpus", "1", "--run-dir", folder, "--no-report", *flags], check=True,
                   stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        config, place = folder / "events.yaml", folder / "run"
        config.write_text(CONFIG, encoding="utf-8")
        run(arguments.dptrain, config, place, "--overwrite", "--steps", "18", "--epochs", "3")
        run(arguments.dptrain, config, place, "--resume")

        epochs, steps = rows(place / "train.csv"), rows(place / "steps.csv")
        train, validation = load(place / "logs/train"), load(place / "logs/validation")
        for events, prefix in ((train, ""), (validation, "val_")):
            for name in ("loss", "accuracy"):
                check_scalars(events, f"epoch_{name}", [(int(row["epoch"]) - 1, float(row[prefix + name])) for row in epochs])
        check_scalars(train, "epoch_learning_rate", [(int(row["epoch"]) - 1, float(row["lr"])) for row in epochs])
        every = [(int(row["step"]), float(row["lr"])) for row in steps if int(row["step"]) % 4 == 0]
        check_scalars(train, "batch_learning_rate", every)
        batch = [event.step for event in train.Scalars("batch_loss")]
        if batch != list(range(4, EPOCHS * STEPS_PER_EPOCH + 1, 4)):
            fail(f"batch_loss: steps {batch}")
        for tag in ("batch_samples_per_second", "batch_steps_per_second", "epoch_samples_per_second"):
            if not all(np.isfinite(event.value) and event.value > 0 for event in train.Scalars(tag)):
                fail(f"{tag}: {train.Scalars(tag)}")
        for kind in ("", "_grad"):
            check_histograms(train, f"conv1/kernel{kind}/histogram", 36)
            check_histograms(train, f"classes/bias{kind}/histogram", 3)
        check_graph(train)
        check_hparams(load(place / "logs"))
    print("all as expected")


if __name__ == "__main__":
    main()
