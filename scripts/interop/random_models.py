#!/usr/bin/env python3
"""Random small models of recurrent, attention, 1D and 3D layers: dptrain and the Keras of this environment compute the same.

    random_models.py --dptrain PROGRAM [--count 500] [--first 0] [--only SEED] [--keep DIR] [--devices "--cpus 1"]

For each seed draw_models.py draws a model with random weights and inputs, some with masked steps. Keras writes it, as .keras or
.h5; dptrain opens the file and predicts. Then both take one step of SGD from these weights on these samples, with random labels,
and the file that dptrain writes is opened with Keras. Outputs before and after the step, weights after the step,
and gradients are compared: the largest difference over the largest value of each array, at most --tolerance for outputs
and weights, --gradient-tolerance for gradients (or twice as much as Keras is off from itself in double). Models with
several inputs, which `dptrain predict` does not take, are compared by the loss of each sample alone in place of outputs. Models with
dropout take no step; `dptrain ckpt convert` writes them. A model may be refused because of a mask that the file has and no layer of
the model makes. Exit 1 if any model fails; it is printed, and --only repeats it.
"""

import argparse
import collections
import csv
import functools
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from draw_models import FAMILIES, KERAS2, L, NoModel, draw

ATTEMPTS = 200
LOSSES = {"mse": keras.losses.MeanSquaredError, "mae": keras.losses.MeanAbsoluteError,
          "categorical_crossentropy": lambda: keras.losses.CategoricalCrossentropy(from_logits=True)}
LOSS_KEYS = {"mse": "mse", "mae": "mae", "categorical_crossentropy": {"CategoricalCrossentropy": {"from_logits": True}}}
REFUSED = "its mask is not made by a layer of the model"  # the layer that made it is not in the model
ROUNDING = 2.0 ** -22  # of a weight near 1, before and after the step


class Different(Exception):
    pass


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def outputs_of(model, feeds, training=False):
    return listed(model(feeds if len(feeds) > 1 else feeds[0], training=training))


def numbers(tensors):
    return [np.asarray(tensor) for tensor in tensors]


def difference(a, b):
    """The largest, as a part of the largest value."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape:
        raise Different(f"{a.shape} and {b.shape}")
    if not np.all(np.isfinite(a)) or not np.all(np.isfinite(b)):
        raise Different("not finite")
    largest = np.abs(b).max(initial=0.0)
    return float(np.abs(a - b).max(initial=0.0) / largest) if largest > 0 else float(np.abs(a).max(initial=0.0))


def in_double(model):
    """The same model and weights, computing in float64."""
    def doubled(value):
        if isinstance(value, dict):
            return {key: "float64" if key == "dtype" and item != "int32" else doubled(item) for key, item in value.items()}
        return [doubled(item) for item in value] if isinstance(value, list) else value

    keras.backend.set_floatx("float64")
    try:
        double = type(model).from_config(doubled(model.get_config()))
    finally:
        keras.backend.set_floatx("float32")
    double.set_weights(model.get_weights())
    return double


def gradients(model, feeds, labels, losses):
    """The gradient of each trainable weight; the model then has the moving statistics after the step."""
    kind = model.outputs[0].dtype if isinstance(model.outputs[0].dtype, str) else model.outputs[0].dtype.name
    feeds = [feed.astype(kind) if feed.dtype == np.float32 else feed for feed in feeds]
    with tf.GradientTape() as tape:
        outputs = outputs_of(model, feeds, training=True)
        loss = tf.add_n([tf.cast(LOSSES[name]()(label.astype(kind), output), kind)
                         for name, label, output in zip(losses, labels, outputs)])
    variables = [weight if KERAS2 else weight.value for weight in model.trainable_weights]
    found = tape.gradient(loss, variables, unconnected_gradients="zero")
    return [np.asarray(tf.convert_to_tensor(gradient)) for gradient in found]  # an Embedding's has indices


class Check:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.worst = collections.defaultdict(lambda: (0.0, -1))
        self.counts = collections.Counter()

    def dptrain(self, *words):
        command = [self.arguments.dptrain, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Different(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def say(self, what, value, limit):
        self.worst[what] = max(self.worst[what], (value, self.seed))
        if self.arguments.only is not None:
            print(f"  {what}: {value:.3g} (at most {limit:g})")
        if not value <= limit:
            raise Different(f"{what}: off by {value:.3g} (at most {limit:g})")

    def say_of_arrays(self, what, ours, theirs, exact, limit):
        """`exact` gives the arrays in double; it is asked for only where the two are far apart."""
        assert len(ours) == len(theirs), f"{what}: {len(ours)} and {len(theirs)} arrays"
        off = max([difference(a, b) for a, b in zip(ours, theirs)], default=0.0)
        if off > limit:
            judge = exact()
            off = max(difference(a, b) for a, b in zip(ours, judge))
            keras_off = max(difference(a, b) for a, b in zip(theirs, judge))
            self.counts["judged in double"] += 1
            limit = max(limit, 2 * keras_off)
        self.say(what, off, limit)

    def predict(self, file, shapes):
        path = self.write("predict.json", {"dptrain": 1, "model": {"from_keras": str(file), "weights": str(file)}})
        text = self.dptrain("predict", path, "--input", self.folder / "x0.npy", *self.arguments.devices.split())
        rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
        values = np.array([[float(field) for field in row[1:]] for row in rows])
        ends = np.cumsum([int(np.prod(shape[1:])) for shape in shapes])
        if values.shape != (shapes[0][0], ends[-1]):
            raise Different(f"predict: {values.shape[0]} rows of {values.shape[1:]}, expected {shapes}")
        return [part.reshape(shape) for part, shape in zip(np.split(values, ends[:-1], axis=1), shapes)]

    def write(self, name, settings):
        path = self.folder / name
        path.write_text(json.dumps(settings))
        return path

    def fit(self, drawn, file, labels, rate, batch):
        """A run of one step, or of one for each sample: its folder."""
        for i, feed in enumerate(drawn.feeds):
            np.save(self.folder / f"x{i}.npy", feed)
        for i, label in enumerate(labels):
            np.save(self.folder / f"y{i}.npy", label)
        names, several = drawn.model.output_names, len(labels) > 1
        inputs = {layer.name.split(":")[0]: f"x{i}.npy" for i, layer in enumerate(drawn.model.inputs)}
        losses = [LOSS_KEYS[name] for name in drawn.losses]
        settings = {"dptrain": 1, "model": {"from_keras": str(file), "weights": str(file)},
                    "data": {"train": {"Numpy": {
                        "inputs": inputs if len(inputs) > 1 else "x0.npy",
                        "labels": {name: f"y{i}.npy" for i, name in enumerate(names)} if several else "y0.npy"}},
                        "loader": {"shuffle": "none"}},
                    "runtime": {"bn_unbiased_running_var": KERAS2},
                    "train": {"steps": len(labels[0]) // batch, "batch_size": batch, "log_every": "1 steps",
                              "optimizer": {"SGD": {"learning_rate": rate}},
                              "loss": dict(zip(names, losses)) if several else losses[0]}}
        path, run = self.write("fit.json", settings), self.folder / "run"
        self.dptrain("fit", path, "--run-dir", run, "--overwrite", "--progress", "off", *self.arguments.devices.split())
        return run

    def labels(self, drawn, outputs):
        random = np.random.default_rng(self.seed)
        labels = []
        for loss, output in zip(drawn.losses, outputs):
            if loss == "categorical_crossentropy":
                labels.append(np.eye(output.shape[-1], dtype=np.float32)[random.integers(0, output.shape[-1], output.shape[:-1])])
            else:
                labels.append(random.standard_normal(output.shape).astype(np.float32))
        return labels

    def losses_of_samples(self, drawn, file, labels):
        """With a rate of 0 and a batch of 1 the loss of each step is that of a sample."""
        run = self.fit(drawn, file, labels, 0.0, 1)
        with open(run / "steps.csv", encoding="utf-8") as lines:
            found = [float(row["loss"]) for row in csv.DictReader(lines)]

        def losses_in(model):
            losses = []
            for i in range(len(labels[0])):
                outputs = outputs_of(model, [feed[i:i + 1] for feed in drawn.feeds], training=True)
                losses.append(sum(float(LOSSES[name]()(label[i:i + 1].astype(np.asarray(output).dtype), output))
                                  for name, label, output in zip(drawn.losses, labels, outputs)))
            return [losses]

        self.say_of_arrays("losses of samples", [found], losses_in(drawn.model), lambda: losses_in(in_double(drawn.model)),
                           self.arguments.tolerance)

    def open_with_keras(self, drawn, file):
        if not drawn.weights_only:
            return keras.models.load_model(file, compile=False)
        model = keras.models.clone_model(drawn.model)
        model.load_weights(file)
        return model

    def check(self, drawn):
        model, feeds = drawn.model, drawn.feeds
        several = len(feeds) > 1
        expected = numbers(outputs_of(model, feeds))
        file = self.folder / ("model.h5" if self.seed // len(FAMILIES) % 2 else "model.keras")
        model.save(file)
        for i, feed in enumerate(feeds):
            np.save(self.folder / f"x{i}.npy", feed)
        shapes = [output.shape for output in expected]
        exact = lambda: numbers(outputs_of(in_double(model), feeds))
        if not several:
            self.say_of_arrays("outputs", self.predict(file, shapes), expected, exact, self.arguments.tolerance)
            self.counts["predicted"] += 1
        if drawn.draws_noise:
            written = self.folder / "converted.h5"
            written.unlink(missing_ok=True)
            self.dptrain("ckpt", "convert", file, written)
            back = self.open_with_keras(drawn, written)
            for layer in model.layers:
                for a, b in zip(back.get_layer(layer.name).get_weights(), layer.get_weights()):
                    if not np.array_equal(a, b):
                        raise Different(f"weights of '{layer.name}' in converted.h5 are others")
            self.say("outputs of the written file", max(map(difference, numbers(outputs_of(back, feeds)), expected)), 1e-6)
            self.counts["written and opened"] += 1
            return
        labels = self.labels(drawn, expected)
        moving = any("Normalization" in type(layer).__name__ and "Layer" not in type(layer).__name__ for layer in model.layers)
        if several and not moving:
            self.losses_of_samples(drawn, file, labels)
            self.counts["losses of samples"] += 1
        self.step(drawn, file, labels, shapes)

    def step(self, drawn, file, labels, shapes):
        model, feeds = drawn.model, drawn.feeds
        start = [np.array(value) for value in model.get_weights()]
        theirs = gradients(model, feeds, labels, drawn.losses)
        # Half as long a step as the weights are large, so that the weights behind it say as much as the gradients.
        largest = max((np.abs(g).max(initial=0.0) / max(np.abs(np.asarray(w)).max(initial=0.0), 0.1)
                       for g, w in zip(theirs, model.trainable_weights)), default=0.0)
        rate = float(np.float32(0.5 / largest)) if largest > 0 else 1.0
        run = self.fit(drawn, file, labels, rate, len(labels[0]))
        for weight, gradient in zip(model.trainable_weights, theirs):
            weight.assign(np.asarray(weight) - np.float32(rate) * gradient)
        back = self.open_with_keras(drawn, run / "model.h5")

        ours, mine, before = [], [], []
        names = [(layer.name, i) for layer in model.layers for i in range(len(layer.get_weights()))]
        by_id = {id(w): v for w, v in zip(model.weights, start)}
        for layer in model.layers:
            found = back.get_layer(layer.name).get_weights()
            assert len(found) == len(layer.weights), f"'{layer.name}' has {len(found)} weights"
            ours += found
            mine += layer.get_weights()
            before += [by_id[id(w)] for w in layer.weights]

        @functools.cache
        def exact_weights():
            double = in_double(model)
            double.set_weights(start)
            found = gradients(double, feeds, labels, drawn.losses)
            for weight, gradient in zip(double.trainable_weights, found):
                weight.assign(np.asarray(weight) - rate * gradient)
            return [value for layer in model.layers for value in double.get_layer(layer.name).get_weights()]

        self.say_of_arrays("weights behind a step", ours, mine, exact_weights, self.arguments.tolerance)
        self.say_of_steps(names, before, ours, mine, exact_weights)
        self.counts["one step"] += 1
        if len(feeds) == 1:
            found = self.predict(run / "model.h5", shapes)
            written = numbers(outputs_of(back, feeds))
            self.say_of_arrays("outputs of the written file", found, written,
                               lambda: numbers(outputs_of(in_double(back), feeds)), self.arguments.tolerance)
        self.counts["written and opened"] += 1

    def say_of_steps(self, names, before, ours, mine, exact_weights):
        """The differences that weights have behind the step, as a part of the step: what the gradients are off by."""
        off, judge = (0.0, ""), None
        for i, name in enumerate(names):
            length = np.abs(mine[i].astype(np.float64) - before[i]).max(initial=0.0)
            room = ROUNDING * np.abs(before[i]).max(initial=0.0)
            if length <= 1e3 * room:  # the step drowns in the rounding of the weights
                continue
            apart = max(np.abs(ours[i].astype(np.float64) - mine[i]).max() - room, 0.0) / length
            if apart > self.arguments.gradient_tolerance:
                judge = judge or exact_weights()
                keras_off = np.abs(mine[i] - judge[i]).max() / length
                apart = max(np.abs(ours[i] - judge[i]).max() - room, 0.0) / length
                if apart <= 2 * keras_off:
                    apart = min(apart, self.arguments.gradient_tolerance)
                    self.counts["judged in double"] += 1
            off = max(off, (float(apart), f"{name[0]} [{name[1]}]"))
        self.say("gradients", off[0], self.arguments.gradient_tolerance)

    def drawn(self, seed):
        for attempt in range(ATTEMPTS):
            try:
                drawn = draw(seed, attempt)
                outputs = numbers(outputs_of(drawn.model, drawn.feeds))
            except (NoModel, ValueError, NotImplementedError, tf.errors.OpError):
                continue  # a shape that does not fit, or what this Keras does not compute
            if all(np.all(np.isfinite(output)) and 1e-3 < np.abs(output).max(initial=0.0) < 1e3 for output in outputs):
                return drawn
        raise RuntimeError(f"seed {seed}: no model in {ATTEMPTS} attempts")

    def seed_agrees(self, seed):
        self.seed = seed
        drawn = self.drawn(seed)
        if self.arguments.only is not None:
            self.describe(drawn)
        try:
            self.check(drawn)
            self.counts[FAMILIES[seed % len(FAMILIES)]] += 1
            return True
        except Exception as error:  # of Keras, too: each is a model that fails
            known = isinstance(error, Different)
            if known and REFUSED in str(error):
                self.counts["refused"] += 1
                return True
            print(f"seed {seed} ({file_and_line(error)}):\n  {error if known else traceback.format_exc()}")
            if self.arguments.only is None:
                self.describe(drawn)
            return False

    def describe(self, drawn):
        for layer in drawn.model.get_config()["layers"]:
            settings = {key: value for key, value in short(layer["config"]).items() if key not in ("name", "batch_shape")}
            inputs = sources(layer["inbound_nodes"])
            print(f"    {layer['config']['name']}({', '.join(inputs)}): {layer['class_name']} {json.dumps(settings)}")
        print(f"    outputs {drawn.model.output_names}, losses {drawn.losses}, inputs {[feed.shape for feed in drawn.feeds]}",
              flush=True)


def file_and_line(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{pathlib.Path(frame.filename).name}:{frame.lineno}"


def short(value):
    """A layer's config without what says nothing of what it computes."""
    idle = ("initializer", "regularizer", "constraint", "trainable", "dtype", "module", "registered_name", "build_config",
            "data_format", "seed", "quantization", "autocast", "zero_output", "sparse", "ragged", "optional", "implementation")
    if isinstance(value, dict):
        if value.get("class_name") == "function":
            return value["config"]
        return {key: short(item) for key, item in value.items() if not any(word in key for word in idle) and item is not None}
    return [short(item) for item in value] if isinstance(value, (list, tuple)) else value


def sources(nodes):
    if isinstance(nodes, dict):
        if "keras_history" in nodes:
            return ["{0}.{2}".format(*nodes["keras_history"])]
        return [name for item in nodes.values() for name in sources(item)]
    if isinstance(nodes, (list, tuple)):
        if len(nodes) >= 3 and isinstance(nodes[0], str):
            return [f"{nodes[0]}.{nodes[2]}"]
        return [name for item in nodes for name in sources(item)]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--only", type=int, help="one seed, with all that is compared")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--gradient-tolerance", type=float, default=1e-4)
    parser.add_argument("--devices", default="--cpus 1", help="of dptrain (--cpus 1)")
    parser.add_argument("--keep", help="folder for the files of the last model (a temporary one)")
    arguments = parser.parse_args()
    arguments.dptrain = str(pathlib.Path(arguments.dptrain).resolve())
    logging.getLogger("absl").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    print(f"Keras {keras.__version__}, TensorFlow {tf.__version__}", flush=True)
    seeds = [arguments.only] if arguments.only is not None else range(arguments.first, arguments.first + arguments.count)
    began, good = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(arguments, folder)
        for seed in seeds:
            good += check.seed_agrees(seed)
    print("\n".join(f"  {what}: largest difference {value:.3g}, seed {seed}" for what, (value, seed) in check.worst.items()))
    print("  " + ", ".join(f"{what} {count}" for what, count in check.counts.items()))
    print(f"{good} of {len(seeds)} models agree or are refused, {time.monotonic() - began:.0f} s")
    return 0 if good == len(seeds) else 1


if __name__ == "__main__":
    sys.exit(main())
