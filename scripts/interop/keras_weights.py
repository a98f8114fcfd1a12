#!/usr/bin/env python3
"""Weights that the Keras of this environment writes, read by dptrain: the same outputs, and the same weights after a step.

    keras_weights.py --dptrain PROGRAM [--networks VGG16,ResNet50,...] [--side 64] [--samples 20] [--keep DIR]

For each network of Keras Applications, with random weights and random statistics of normalisation, without the last
softmax: written as .h5, .weights.h5 and .keras; loaded by dptrain by name and by topology into the graph of the file
(from_keras) and, where dptrain has the network as a layer type, into that; outputs on random inputs compared as
|a - b| / |b| over all outputs (--tolerance); then one step of SGD on both sides from the same weights, and every weight
compared with the same step of Keras in double (--step-tolerance, or twice what Keras in float is off).
Exit 1 if anything fails.
"""

import argparse
import json
import logging
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np

from program import nan_as_infinite

logging.getLogger("absl").setLevel(logging.ERROR)  # that .h5 is "legacy", once per file
CLASSES = 10
RATE = 1e-3
LEAST_SIDE = {"Xception": 71, "InceptionV3": 75}


def write_idx(path, array):
    kinds = {"uint8": 0x08, "float32": 0x0D}
    head = struct.pack(f">HBB{array.ndim}I", 0, kinds[array.dtype.name], array.ndim, *array.shape)
    path.write_bytes(head + array.astype(array.dtype.newbyteorder(">")).tobytes())


def randomize(model, inputs, seed):
    """Random weights, and statistics that are neither 0 and 1 nor far from what the layers see."""
    random = np.random.default_rng(seed)
    for layer in model.layers:
        weights = []
        for value, variable in zip(layer.get_weights(), layer.weights):
            name = variable.name.split("/")[-1]
            if "gamma" in name or "moving_variance" in name:
                value = random.uniform(0.7, 1.3, value.shape)
            elif "beta" in name or "moving_mean" in name or "bias" in name:
                value = random.uniform(-0.1, 0.1, value.shape)
            else:
                fan = np.prod(value.shape[:-1]) if "depthwise" not in name else np.prod(value.shape[:2])
                value = random.standard_normal(value.shape) * np.sqrt(2.0 / fan)
            weights.append(value.astype(np.float32))
        layer.set_weights(weights)
    # Statistics of the batch, slightly off: outputs stay of a sane size through a hundred layers.
    momentum = {layer.name: layer.momentum for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)}
    for name in momentum:
        model.get_layer(name).momentum = 0.0
    model(inputs, training=True)
    for layer in model.layers:
        if layer.name in momentum:
            layer.momentum = momentum[layer.name]
            gamma, beta, mean, variance = layer.get_weights() if layer.scale else [None, *layer.get_weights()]
            mean = mean * random.uniform(0.9, 1.1, mean.shape)
            variance = variance * random.uniform(0.8, 1.2, variance.shape) + 1e-3
            layer.set_weights([w for w in (gamma, beta, mean, variance) if w is not None])


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def relative(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return nan_as_infinite(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


class Weights:
    """Arrays of a legacy file by layer and position, each read when it is asked for."""

    def __init__(self, path):
        self.root = h5py.File(path, "r")["model_weights"]
        self.paths = {}
        for layer in self.root.attrs["layer_names"]:
            layer = layer.decode() if isinstance(layer, bytes) else layer
            for i, name in enumerate(self.root[layer].attrs["weight_names"]):
                self.paths[layer, i] = name

    def __getitem__(self, key):
        return np.asarray(self.root[key[0]][self.paths[key]])


def in_double(model):
    """The same model, computing in float64."""
    settings = model.get_config()
    for layer in settings["layers"]:
        layer["config"]["dtype"] = "float64"
    keras.backend.set_floatx("float64")
    try:
        return type(model).from_config(settings)
    finally:
        keras.backend.set_floatx("float32")


def config(model, weights, folder, unbiased):
    """A dptrain config for prediction and for the one step."""
    return {"dptrain": 1, "name": "net", "model": {**model, **({"weights": weights} if weights else {})},
            "data": {"train": {"IDX": {"inputs": str(folder / "x.idx"), "labels": str(folder / "y.idx")}},
                     "loader": {"shuffle": "none"}},
            "runtime": {"bn_unbiased_running_var": unbiased},
            "train": {"steps": 1, "batch_size": 20, "optimizer": {"SGD": {"learning_rate": RATE}},
                      "loss": {"CategoricalCrossentropy": {"from_logits": True}}}}


class Check:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.good = arguments, folder, True

    def say(self, what, value, limit):
        good = value <= limit and value < float("inf")  # Keras's own error may be infinite, and the limit with it
        self.good = self.good and good
        print(f"  {what}: {value:.3g} (at most {limit:g}){'' if good else '  FAILED'}", flush=True)

    def outputs(self, settings):
        """dptrain's raw outputs: without a loss there is nothing to make probabilities of."""
        path = self.folder / "predict.yaml"
        path.write_text(json.dumps({key: value for key, value in settings.items() if key in ("dptrain", "name", "model")}))
        text = run([self.arguments.dptrain, "predict", path, "--input", self.folder / "x.idx", "--cpus", "1"])
        rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
        return np.array([[float(field) for field in row[1:]] for row in rows])

    def network(self, name):
        side = max(self.arguments.side, LEAST_SIDE.get(name, 32))
        random = np.random.default_rng(5)
        inputs = random.standard_normal((self.arguments.samples, side, side, 3)).astype(np.float32)
        labels = (np.arange(len(inputs)) % CLASSES).astype(np.uint8)
        write_idx(self.folder / "x.idx", inputs)
        write_idx(self.folder / "y.idx", labels)
        keras.utils.set_random_seed(3)
        model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=CLASSES,
                                                  classifier_activation=None)
        randomize(model, inputs, 11)
        print(f"{name}: {side}x{side}, {len(model.layers)} layers, {model.count_params():,} parameters", flush=True)
        expected = model.predict(inputs, verbose=0)
        spread = relative(expected, np.broadcast_to(expected.mean(axis=0), expected.shape))
        print(f"  outputs differ between samples by {spread:.3g} of their size")
        if not spread > 0.01:  # dead units: agreement would show nothing
            self.good = False
            print("  they hardly depend on the input  FAILED")
        files = {form: self.folder / f"{name}{form}" for form in (".h5", ".keras", ".weights.h5")}
        model.save(files[".h5"])
        model.save(files[".keras"])
        model.save_weights(files[".weights.h5"])
        unbiased = keras.__version__.startswith("2.")

        layers = {"from_keras": str(files[".h5"])}
        self.forms(name, layers, files, expected, unbiased, "from_keras")
        bundled = {"layers": [{"Input": [side, side, 3]},
                              {name: {"include_top": True, "classes": CLASSES, "classifier_activation": "linear"}}]}
        probe = self.folder / "probe.yaml"
        probe.write_text(json.dumps({"dptrain": 1, "model": bundled}))
        known = subprocess.run([self.arguments.dptrain, "check", probe], capture_output=True, text=True, check=False)
        if known.returncode == 0:
            self.forms(name, bundled, files, expected, unbiased, "bundled")
        else:
            print(f"  bundled: not taken: {known.stderr.splitlines()[0] if known.stderr else known.returncode}")
        self.step(model, layers, files, inputs, labels, unbiased)

    def forms(self, name, layers, files, expected, unbiased, what):
        for form, file in files.items():
            for match in ("name", "topology"):
                if form == ".weights.h5" and match == "name" and keras.__version__.startswith("2."):
                    continue  # that version stores no names there
                settings = config(layers, {"file": str(file), "match": match, "expect": ["*"]}, self.folder, unbiased)
                try:
                    self.say(f"{what} {form} by {match}: outputs", relative(self.outputs(settings), expected),
                             self.arguments.tolerance)
                except RuntimeError as error:
                    self.good = False
                    print(f"  {what} {form} by {match}  FAILED\n{error}")

    def step(self, model, layers, files, inputs, labels, unbiased):
        settings = config(layers, {"file": str(files[".h5"]), "expect": ["*"]}, self.folder, unbiased)
        settings["train"]["batch_size"] = len(inputs)
        path = self.folder / "step.yaml"
        path.write_text(json.dumps(settings))
        out = self.folder / "run"
        run([self.arguments.dptrain, "fit", path, "--cpus", "1", "--run-dir", out, "--overwrite", "--progress", "off"])
        ours, before = Weights(out / "model.h5"), Weights(files[".h5"])
        theirs = self.keras_step(model, files, inputs, labels, "after.h5")
        assert ours.paths.keys() == theirs.paths.keys(), "the files have different layers"
        # Which of the two rounds worse: the same step in double is the judge of both.
        exact = self.keras_step(in_double(model), files, inputs, labels, "exact.h5")
        pair, keras_error, error = ((0.0, None) for _ in range(3))  # of the weights
        steps, moved = {"Keras": (0.0, None), "dptrain": (0.0, None)}, 0
        for key in exact.paths:
            a, b, judge, start = ours[key], theirs[key], exact[key].astype(np.float64), before[key]
            pair = max(pair, (relative(a, b), key))
            keras_error = max(keras_error, (relative(b, judge), key))
            error = max(error, (relative(a, judge), key))
            moved += not np.array_equal(start, b)
            length = np.linalg.norm(judge - start)
            if length > 1e-5 * np.linalg.norm(start):  # a smaller step drowns in the rounding of the weights
                for who, array in (("Keras", b), ("dptrain", a)):
                    steps[who] = max(steps[who], (nan_as_infinite(np.linalg.norm(array - judge) / length), key))
        print(f"  after one step of SGD, dptrain against Keras: worst {place(pair)}: {pair[0]:.3g}")
        print(f"  Keras against the same step in double: worst {place(keras_error)}: {keras_error[0]:.3g}")
        print("  as a part of the step (where it is above 1e-5 of the array): " + "; ".join(
            f"{who} at most {worst[0]:.3g} off, {place(worst)}" for who, worst in steps.items()))
        self.say(f"dptrain against it, {moved} of {len(theirs.paths)} arrays moved; worst {place(error)}", error[0],
                 max(self.arguments.step_tolerance, 2 * keras_error[0]))
        if moved < len(theirs.paths) // 2:
            self.good = False
            print("  the step moved too little to show anything  FAILED")

    def keras_step(self, model, files, inputs, labels, file):
        model.load_weights(files[".h5"])
        model.compile(keras.optimizers.SGD(RATE), keras.losses.CategoricalCrossentropy(from_logits=True))
        kind = keras.backend.standardize_dtype(model.inputs[0].dtype) if hasattr(keras.backend, "standardize_dtype") else model.inputs[0].dtype.name
        model.train_on_batch(inputs.astype(kind), np.eye(model.outputs[0].shape[-1], dtype=kind)[labels])
        after = self.folder / file
        model.save(after)
        return Weights(after)


def place(worst):
    return f"'{worst[1][0]}' [{worst[1][1]}]" if worst[1] else "nowhere"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--networks", default="VGG16,ResNet50,MobileNetV2,Xception")
    parser.add_argument("--side", type=int, default=64, help="of the inputs, at least what the network takes (64)")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--step-tolerance", type=float, default=1e-4)
    parser.add_argument("--keep", help="folder for the files (a temporary one)")
    arguments = parser.parse_args()
    arguments.dptrain = str(pathlib.Path(arguments.dptrain).resolve())
    print(f"Keras {keras.__version__}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(arguments, folder)
        for name in arguments.networks.split(","):
            check.network(name)
    return 0 if check.good else 1


if __name__ == "__main__":
    sys.exit(main())
