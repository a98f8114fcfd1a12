#!/usr/bin/env python3
"""Trains the network of a config with dptrain and with the Keras of this environment, from the same weights, on the same
photos in the same order, and compares the loss of every step.

    same_losses.py CONFIG --images DIR --dptrain PROGRAM [--steps 50] [--batch 128] [--rate 0.01] [--tolerance 1e-3]

DIR has one folder of photos per class, all as large as the network's input. TensorFlow decodes them; shuffled once, they
are given to both as arrays, scaled to -1..1; the config's data, transforms and optimizer are ignored
(SGD with Nesterov momentum 0.9). --double runs the same steps also in float64, as the reference for both: a network
with ReLU and batch normalization amplifies rounding from step to step. Exit 1 if a loss differs by more than the
tolerance, relative to Keras's, or with --double to those of float64.
"""

import argparse
import csv
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf

from program import nan_as_infinite

SEED = 1
MOMENTUM = 0.9


def read_photos(folder, count):
    """uint8 [count, H, W, 3] and the class of each, drawn from all classes."""
    classes = sorted(path.name for path in pathlib.Path(folder).iterdir() if path.is_dir())
    files = [(path, label) for label, name in enumerate(classes) for path in sorted(pathlib.Path(folder, name).iterdir())]
    if len(files) < count:
        raise SystemExit(f"{folder}: {len(files)} photos, {count} are needed")
    drawn = np.random.default_rng(SEED).permutation(len(files))[:count]
    photos = np.stack([tf.io.decode_image(tf.io.read_file(str(files[i][0])), channels=3, expand_animations=False).numpy()
                       for i in drawn])
    return photos, np.array([files[i][1] for i in drawn], np.uint8), len(classes)


def write_idx(path, array):
    path.write_bytes(struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


def run_dptrain(arguments, work, steps, rate):
    """A run of so many steps: its folder."""
    folder = work / f"run-{steps}-{rate}"
    sets = {
        "data": f"{{train: {{IDX: {{inputs: {work}/photos, labels: {work}/labels}}}}, loader: {{shuffle: none}}, "
                "transforms: [{Rescaling: {scale: 1/127.5, offset: -1}}]}",
        "train.optimizer": f"{{SGD: {{learning_rate: {rate}, momentum: {MOMENTUM}, nesterov: true}}}}",
        "callbacks": "[]",
    }
    command = [arguments.dptrain, "fit", arguments.config, "--steps", str(steps), "--batch-size", str(arguments.batch),
               "--log-every", "1 steps", "--run-dir", str(folder), *arguments.flags.split()]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return folder


def in_double(model):
    """The same model and weights, computing in float64."""
    settings = model.get_config()
    for layer in settings["layers"]:
        layer["config"]["dtype"] = "float64"
    keras.backend.set_floatx("float64")
    try:
        double = type(model).from_config(settings)
    finally:
        keras.backend.set_floatx("float32")
    double.set_weights(model.get_weights())
    return double


def keras_losses(model, photos, labels, classes, arguments):
    kind = np.float64 if "64" in str(model.inputs[0].dtype) else np.float32
    optimizer = keras.optimizers.SGD(arguments.rate, momentum=MOMENTUM, nesterov=True)
    entropy = keras.losses.CategoricalCrossentropy()

    @tf.function
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.cast(entropy(targets, model(inputs, training=True)), kind), *model.losses])
        weights = model.trainable_weights
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    inputs = photos.astype(np.float32) * np.float32(1 / 127.5) - np.float32(1)
    inputs = inputs.astype(kind)
    targets = np.eye(classes, dtype=kind)[labels]
    starts = range(0, arguments.steps * arguments.batch, arguments.batch)
    return [float(step(inputs[i:i + arguments.batch], targets[i:i + arguments.batch])) for i in starts]


def largest_difference(found, expected):
    return max(nan_as_infinite(abs(a - b) / abs(b)) for a, b in zip(found, expected, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--images", required=True)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--flags", default="--cpus 1", help="of fit, e.g. '--cpus 2 --var X=Y'")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--double", action="store_true", help="run the steps in float64, too")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        photos, labels, classes = read_photos(arguments.images, arguments.steps * arguments.batch)
        write_idx(work / "photos", photos)
        write_idx(work / "labels", labels)
        initial = run_dptrain(arguments, work, 1, 0.0) / "model.h5"  # a step of rate 0 moves nothing but moving averages
        model = keras.models.load_model(initial, compile=False)
        exact = keras_losses(in_double(model), photos, labels, classes, arguments) if arguments.double else None
        expected = keras_losses(model, photos, labels, classes, arguments)
        with open(run_dptrain(arguments, work, arguments.steps, arguments.rate) / "steps.csv", encoding="utf-8") as file:
            found = [float(row["loss"]) for row in csv.DictReader(file)]

    print(f"Keras {keras.__version__}, {len(expected)} steps of {arguments.batch}, rate {arguments.rate:g}")
    columns = {"dptrain": found, "Keras": expected} | ({"in double": exact} if exact else {})
    for i in sorted({0, 1, 4, 9, 19, len(expected) - 1} & set(range(len(expected)))):
        print(f"  step {i + 1:3}: " + ", ".join(f"{name} {losses[i]:.6f}" for name, losses in columns.items()))
    if exact:
        print(f"  Keras against double: largest relative difference {largest_difference(expected, exact):.3g}")
    worst = largest_difference(found, exact or expected)
    good = worst <= arguments.tolerance
    print(f"  dptrain against {'double' if exact else 'Keras'}: largest relative difference {worst:.3g} "
          f"(at most {arguments.tolerance:g}){'' if good else '  FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
