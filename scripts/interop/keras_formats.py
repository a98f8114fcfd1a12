#!/usr/bin/env python3
"""`.keras`, `.h5`, `.weights.h5` and `.safetensors` between dptrain and the Keras of this environment, both ways.

    keras_formats.py --dptrain PROGRAM [--configs DIR] [--optimizers Adam,SGD,...] [--tolerance 1e-6] [--keep DIR] [--keras2]

Optimizers: Keras trains three steps and saves; dptrain opens the file with its optimizer's state and does the fourth, as
Keras does; dptrain's checkpoint is converted to .keras, and Keras's fifth step is dptrain's. Weights are compared as
|a - b| / |b| over all of them.
Conversions: each format to each other one, with the same weights at the end; the package `safetensors` reads and writes
what dptrain writes and reads.
With --keras2 the files are those of Keras 2 (package tf_keras): optimizers alone, from .h5.
Models: every config of --configs exported as .keras and as .h5 predicts the same in Keras.
Exit 1 if anything fails.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np

if "--keras2" in sys.argv:
    import tf_keras as keras
else:
    import keras

ROWS, CLASSES = 16, 4
OPTIMIZERS = {
    "SGD": {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True},
    "Adam": {"learning_rate": 0.01, "amsgrad": True, "use_ema": True, "ema_momentum": 0.9},
    "AdamW": {"learning_rate": 0.01},
    "RMSprop": {"learning_rate": 0.01, "momentum": 0.5, "centered": True},
    "Adagrad": {"learning_rate": 0.05},
    "Adadelta": {"learning_rate": 1.0},
    "Nadam": {"learning_rate": 0.01},
    "Adamax": {"learning_rate": 0.01},
    "Lion": {"learning_rate": 0.003},
    "Lamb": {"learning_rate": 0.01},
}


def write_idx(path, array):
    kinds = {"uint8": 0x08, "float32": 0x0D}
    head = struct.pack(f">HBB{array.ndim}I", 0, kinds[array.dtype.name], array.ndim, *array.shape)
    path.write_bytes(head + array.astype(array.dtype.newbyteorder(">")).tobytes())


def small_model(biases=True, plain=False):
    """Without biases no weight has a gradient of 0, whose rounding Adam and its like would enlarge to a whole step.
    Plain: layers that an .h5 can say to Keras 2."""
    keras.utils.set_random_seed(3)
    image = keras.Input((8, 8, 3), name="image")
    x = keras.layers.Conv2D(5, 3, padding="same", use_bias=biases, name="conv")(image)
    if "--keras2" not in sys.argv:  # whose moving variance has n - 1 below it
        x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.LeakyReLU(name="leaky")(x)
    x = keras.layers.Reshape((64, 5), name="rows")(x)
    x = keras.layers.LayerNormalization(axis=-1 if plain else [1, 2], name="layer_norm")(x)
    if not plain:
        x = keras.layers.MultiHeadAttention(2, 3, use_bias=biases, name="attention")(x, x)
    x = keras.layers.Bidirectional(keras.layers.GRU(3), name="both_ways")(x)
    x = keras.layers.Dense(6, activation="tanh" if plain else "hard_sigmoid", name="hidden")(x)
    return keras.Model(image, keras.layers.Dense(CLASSES, activation="softmax", name="out")(x))


def write_golden(folder):
    """A file of a tiny trained model for tests/formats/optimizer_state_test.cpp, and what its optimizer holds."""
    keras2 = "--keras2" in sys.argv
    held = {}
    for name, suffix in [("Adam", ".h5")] if keras2 else [("Nadam", ".keras"), ("Adam", ".h5")]:
        keras.utils.set_random_seed(5)
        inputs = keras.Input((3,), name="in")
        hidden = keras.layers.Dense(2, name="first")(inputs)
        model = keras.Model(inputs, keras.layers.Dense(2, name="second")(hidden))
        optimizer = getattr(keras.optimizers.legacy if keras2 else keras.optimizers, name)()
        model.compile(optimizer, "mse")
        x, y = np.random.default_rng(1).standard_normal((2, 4, 3)).astype(np.float32)
        for _ in range(3):
            model.train_on_batch(x, y[:, :2])
        file = f"keras{2 if keras2 else 3}_optimizer{suffix}"
        model.save(pathlib.Path(folder) / file)
        slots = {}
        for i, weight in enumerate(model.trainable_weights):
            path = f"{'first' if i < 2 else 'second'}/{'bias' if i % 2 else 'kernel'}"
            both = [optimizer.get_slot(weight, s) for s in "mv"] if keras2 else [optimizer._momentums[i], optimizer._velocities[i]]
            for slot, values in zip(["momentum", "velocity"], both):
                slots[f"{slot}/{path}"] = [float(v) for v in np.ravel(values.numpy())]
        held[file] = {"optimizer": name, "iterations": 3, "slots": slots}
    path = pathlib.Path(folder) / "keras_optimizers.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **held}, indent=1) + "\n")


def relative(ours, theirs):
    a, b = (np.concatenate([np.ravel(x).astype(np.float64) for x in xs]) for xs in (ours, theirs))
    return np.linalg.norm(a - b) / np.linalg.norm(b)


class Check:
    def __init__(self, arguments, work):
        self.arguments, self.work, self.failures = arguments, work, 0
        random = np.random.default_rng(7)
        self.inputs = random.standard_normal((ROWS, 8, 8, 3)).astype(np.float32)
        self.labels = (np.arange(ROWS) % CLASSES).astype(np.uint8)
        write_idx(work / "inputs", self.inputs)
        write_idx(work / "labels", self.labels)

    def dptrain(self, *words, expect=0):
        done = subprocess.run([self.arguments.dptrain, *map(str, words)], capture_output=True, text=True)
        if done.returncode != expect:
            raise SystemExit(f"dptrain {' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def say(self, what, value, limit=None):
        limit = self.arguments.tolerance if limit is None else limit
        good = value <= limit
        self.failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {value:.2e}", flush=True)

    def config(self, file, optimizer, settings):
        listed = ", ".join(f"{k}: {str(v).lower() if isinstance(v, bool) else v}" for k, v in settings.items())
        path = self.work / "config.yaml"
        path.write_text(f"""dptrain: 1
model: {{from_keras: {file}}}
data:
  train: {{IDX: {{inputs: {self.work}/inputs, labels: {self.work}/labels}}}}
  loader: {{shuffle: none}}
train:
  loss: sparse_categorical_crossentropy
  batch_size: {ROWS}
  epochs: 1
  optimizer: {{{optimizer}: {{{listed}}}}}
callbacks: [{{ModelCheckpoint: {{}}}}]
""")
        return path

    def step(self, model):
        model.train_on_batch(self.inputs, self.labels)  # `fit` would replace the weights by EMA's averages at its end

    def optimizer(self, name, suffix, family=keras.optimizers):
        """Steps one to three by Keras, the fourth by dptrain; and from a .keras the fifth by Keras again."""
        settings = dict(OPTIMIZERS[name])
        if family is not keras.optimizers:  # of Keras before 2.11, which has no averages
            settings = {k: v for k, v in settings.items() if "ema" not in k}
        model = small_model(biases=False, plain=suffix == ".h5")
        model.compile(getattr(family, name)(**settings), "sparse_categorical_crossentropy")
        for _ in range(3):
            self.step(model)
        what = f"{family.__name__.split('.')[-1]} {name} {suffix}"
        file, run = self.work / f"{what.replace(' ', '-')}", self.work / f"run-{what.replace(' ', '-')}"
        model.save(file)
        self.step(model)
        fourth = model.get_weights()
        said = self.dptrain("fit", self.config(file, name, settings), "--cpus", 1, "--run-dir", run, "--init-optimizer", "--no-report")
        assert "after 3 steps" in said, said
        last = run / "checkpoints/last.h5"
        if suffix == ".h5":
            self.say(f"{what}: the fourth step", relative(keras.models.load_model(last).get_weights(), fourth))
            return
        self.dptrain("ckpt", "convert", last, run / "last.keras")
        opened = keras.models.load_model(run / "last.keras")
        self.say(f"{what}: the fourth step", relative(opened.get_weights(), fourth))
        assert int(opened.optimizer.iterations.numpy()) == 4
        self.step(opened)
        self.step(model)
        self.say(f"{what}: Keras's fifth behind dptrain's fourth", relative(opened.get_weights(), model.get_weights()))

    def conversions(self):
        model = small_model()
        model.save(self.work / "start.keras")
        wanted = model.get_weights()
        names = ["m.keras", "m.h5", "m.safetensors"]
        previous = self.work / "start.keras"
        for first in names:
            self.dptrain("ckpt", "convert", previous, self.work / first)
            for second in [*names, "m.weights.h5"]:
                to = self.work / f"from-{first.split('.')[1]}-{second}"
                self.dptrain("ckpt", "convert", self.work / first, to)
                self.say(f"{first} -> {second}", relative(self.weights(to), wanted), 0)
        self.dptrain("ckpt", "diff", self.work / "m.keras", self.work / "m.h5")
        self.dptrain("ckpt", "diff", self.work / "m.safetensors", self.work / "m.keras")
        said = self.dptrain("ckpt", "convert", self.work / "from-keras-m.weights.h5", self.work / "no.h5", expect=8)
        assert "dptrain export CONFIG" in said, said

    def weights(self, file):
        if file.suffix == ".safetensors":
            from safetensors.numpy import load_file, save_file

            arrays = load_file(file)
            save_file(arrays, self.work / "again.safetensors")  # in the package's order, without any text
            self.dptrain("ckpt", "convert", self.work / "start.keras", self.work / "again.yaml")
            self.dptrain("export", self.work / "again.yaml", self.work / "again.keras", "--weights", self.work / "again.safetensors")
            return self.weights(self.work / "again.keras")
        if file.name.endswith(".weights.h5"):
            model = small_model()
            model.set_weights([np.zeros_like(w) for w in model.get_weights()])
            model.load_weights(file)
            return model.get_weights()
        if file.suffix == ".h5":  # Keras drops the list of axes: by dptrain
            self.dptrain("ckpt", "convert", file, self.work / "again.keras")
            file = self.work / "again.keras"
        return keras.models.load_model(file).get_weights()

    def models(self):
        from lrn import LocalResponseNormalization
        from position_embedding import PositionEmbedding

        custom = {"LocalResponseNormalization": LocalResponseNormalization, "keras_hub>PositionEmbedding": PositionEmbedding}
        for config in sorted(pathlib.Path(self.arguments.configs).glob("**/*.yaml")):
            files = [self.work / f"{config.stem}{suffix}" for suffix in (".keras", ".h5")]
            done = [subprocess.run([self.arguments.dptrain, "export", config, f], capture_output=True, text=True) for f in files]
            if any(d.returncode for d in done):
                print(f"     {config}: {done[0].stderr.strip().splitlines()[-1][:150]}")
                continue
            try:
                opened = [keras.models.load_model(f, custom_objects=custom) for f in files]
                random = np.random.default_rng(1)
                feeds = [random.integers(0, 5, [2, *t.shape[1:]]) if "int" in t.dtype or "ids" in t.name
                         else random.standard_normal([2, *t.shape[1:]]).astype(np.float32) for t in opened[0].inputs]
                outputs = [keras.tree.flatten(m.predict(feeds, verbose=0)) for m in opened]
                self.say(f"{config.name} in .keras as in .h5", relative(*outputs))
            except Exception as error:  # the next one is of interest, too
                self.failures += 1
                print(f"FAIL {config.name}: {str(error)[:300]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain")
    parser.add_argument("--configs")
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--keep")
    parser.add_argument("--keras2", action="store_true")
    parser.add_argument("--golden", help="write the files of tests/golden into this folder, and do nothing else")
    arguments = parser.parse_args()
    if arguments.golden:
        return write_golden(arguments.golden)
    if not arguments.dptrain:
        parser.error("--dptrain is missing")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(arguments.keep or folder).absolute()
        work.mkdir(parents=True, exist_ok=True)
        check = Check(arguments, work)
        if not arguments.keras2:
            check.conversions()
        for name in filter(None, arguments.optimizers.split(",")):
            for family in [keras.optimizers, *([keras.optimizers.legacy] if arguments.keras2 else [])]:
                other = arguments.keras2 and name == "Nadam"  # with other momenta
                if hasattr(family, name) and not other:
                    for suffix in [".h5"] if arguments.keras2 else [".keras", ".h5"]:
                        check.optimizer(name, suffix, family)
        if arguments.configs:
            check.models()
    sys.exit(check.failures > 0)


if __name__ == "__main__":
    main()
