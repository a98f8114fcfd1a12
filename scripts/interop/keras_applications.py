#!/usr/bin/env python3
"""Every network of keras.applications as Keras 3 saves it, opened, computed and trained by dptrain.

    keras_applications.py --dptrain PROGRAM [--networks NAME,...] [--side 64] [--samples 4] [--keep DIR] [--markdown]

Each network is built with random weights (from a seed, nothing is downloaded), random statistics of its normalisations and
numbers in its LayerScale and Normalization that do something, and saved as .keras and .h5. Of both files dptrain computes the
outputs for random inputs: the largest difference from Keras in double over the largest value, at most --tolerance, or twice what
Keras in float is off (a deep network of random weights makes much of a rounding). Then both make one step of SGD
from the same weights, on the same batch, with all rates of dropout 0: the drawn masks are other ones. Judged is every weight
as |a - b| / |b| against the same step of Keras in double: at most --step-tolerance, or twice what Keras in float is off.
Networks run one at a time, each in a process of its own, so that the largest has the memory to itself. Exit 1 if any fails.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

LEAST_SIDE = {"Xception": 71, "InceptionV3": 139, "InceptionResNetV2": 139}  # the last maps of these have 3x3 places
PIXELS = ("EfficientNet", "ConvNeXt", "MobileNetV3")  # preprocess their input themselves: it is 0 to 255
RATES = ("rate", "drop_path_rate", "dropout")
CLASSES = 10


def names():
    from keras import applications
    return sorted(name for name in dir(applications) if name[0].isupper() and callable(getattr(applications, name)))


def without_rates(config):
    """The model's config with every rate of a dropout 0."""
    if isinstance(config, dict):
        return {key: 0.0 if key in RATES and isinstance(value, float) else without_rates(value) for key, value in config.items()}
    return [without_rates(item) for item in config] if isinstance(config, list) else config


def leaves(model):
    """All layers, those of models inside of the model, too."""
    import keras
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from leaves(layer)
        else:
            yield layer


def rebuilt(model, config):
    from applications import LAYERS
    import keras
    with keras.utils.custom_object_scope(LAYERS):
        return type(model).from_config(config)


def take_weights(model, weights):
    """Also updates the values that Normalization derives from its weights, which set_weights() does not."""
    model.set_weights(weights)
    for layer in leaves(model):
        if type(layer).__name__ == "Normalization" and layer.weights:
            layer.finalize_state()


def in_double(config):
    """In place: every layer of it computes in float64."""
    for layer in config["layers"]:
        if "layers" in layer["config"]:
            in_double(layer["config"])
        if layer["class_name"] == "Functional" or "dtype" in layer["config"]:
            layer["config"]["dtype"] = "float64"
    return config


def randomize(model, inputs, seed):
    """Weights of which none is zero or one, and statistics of the batch, slightly off: outputs stay of a sane size."""
    import keras
    import numpy as np
    random = np.random.default_rng(seed)
    norms = []
    for layer in leaves(model):
        kind = type(layer).__name__
        if kind == "Normalization" and layer.weights:
            layer.set_weights([random.uniform(0.3, 0.6, layer.weights[0].shape), random.uniform(0.04, 0.3, layer.weights[1].shape),
                               np.array(7)])
            layer.finalize_state()
            continue
        values = []
        for variable in layer.weights:
            name, value = variable.name, np.asarray(variable)
            if kind == "LayerScale":
                value = random.uniform(0.2, 0.6, value.shape)
            elif kind == "BatchNormalization" and name in ("gamma", "beta"):
                # Most of what a ReLU behind it gets is above zero, as in trained networks. With means of zero each layer
                # would make a fifth more of a rounding: thousands of times as much behind a hundred of them.
                value = random.uniform(0.4, 0.8, value.shape) if name == "gamma" else random.uniform(0.5, 1.5, value.shape)
            elif name in ("gamma", "moving_variance"):
                value = random.uniform(0.7, 1.3, value.shape)
            elif name in ("beta", "moving_mean", "bias"):
                value = random.uniform(-0.1, 0.1, value.shape)
            elif value.ndim > 1:
                fan = np.prod(value.shape[:2]) if "depthwise" in name or kind == "DepthwiseConv2D" else np.prod(value.shape[:-1])
                value = random.standard_normal(value.shape, np.float32) * np.sqrt(2.0 / fan)
            values.append(np.asarray(value, np.float32))
        layer.set_weights(values)
        if isinstance(layer, keras.layers.BatchNormalization):
            norms.append((layer, layer.momentum))
            layer.momentum = 0.0
    model(inputs, training=True)
    for layer, momentum in norms:
        layer.momentum = momentum
        *others, mean, variance = layer.get_weights()
        layer.set_weights([*others, mean + np.sqrt(variance) * random.uniform(-0.01, 0.01, mean.shape),
                           variance * random.uniform(1.0, 1.1, variance.shape) + 1e-3])


def check(arguments, name):
    """One network. Prints a line of JSON."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import keras
    import numpy as np
    from keras_weights import RATE, Weights, config, nan_as_infinite, relative, run, write_idx

    folder = pathlib.Path(arguments.keep or arguments.folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    result = {"name": name}
    side = max(arguments.side, LEAST_SIDE.get(name, 32))
    random = np.random.default_rng(5)
    inputs = random.standard_normal((arguments.samples, side, side, 3)).astype(np.float32)
    if name.startswith(PIXELS):
        inputs = np.clip(127 + 60 * inputs, 0, 255).astype(np.float32)
    labels = (np.arange(len(inputs)) % CLASSES).astype(np.uint8)
    write_idx(folder / "x.idx", inputs)
    write_idx(folder / "y.idx", labels)
    keras.utils.set_random_seed(3)
    model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=CLASSES,
                                              classifier_activation=None)
    result["parameters"], result["side"] = model.count_params(), side
    # Statistics with rates of 0: those of a batch whose blocks are dropped at random let outputs grow without bounds.
    settings = model.get_config()
    still = rebuilt(model, without_rates(settings))
    randomize(still, inputs, 11)
    take_weights(model, still.get_weights())
    expected, double, own = model.predict(inputs, verbose=0), None, 0.0
    if result["parameters"] <= arguments.most_in_double:
        keras.backend.set_floatx("float64")
        double = rebuilt(still, in_double(without_rates(settings)))
        keras.backend.set_floatx("float32")
        take_weights(double, still.get_weights())
        exact_outputs = double.predict(inputs.astype(np.float64), verbose=0)
        own = float(np.abs(expected - exact_outputs).max() / np.abs(exact_outputs).max())
        expected = exact_outputs
    result["keras_outputs"] = own
    spread = relative(expected, np.broadcast_to(expected.mean(axis=0), expected.shape))
    if not spread > 0.01:
        result["error"] = f"outputs hardly depend on the input: {spread:.3g}"
    for form in ("keras", "h5"):
        model.save(folder / f"model.{form}")
    del model
    outputs = []
    for form in ("keras", "h5"):
        predict = folder / "predict.json"
        predict.write_text(json.dumps({"dptrain": 1, "name": "net", "model": {"from_keras": str(folder / f"model.{form}")}}))
        text = run([arguments.dptrain, "predict", predict, "--weights", folder / f"model.{form}", "--input", folder / "x.idx"])
        rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
        found = np.array([[float(field) for field in row[1:]] for row in rows])
        outputs.append(nan_as_infinite(np.abs(found - expected).max() / np.abs(expected).max()))
    result["outputs"] = max(outputs)
    if not result["outputs"] <= max(arguments.tolerance, 2 * own):
        result["error"] = f"outputs off by {outputs}; Keras itself {own:.3g}"

    # The step, with rates of 0.
    start, after = folder / "still.h5", folder / "after.h5"
    still.save(start)
    train = config({"from_keras": str(start)}, {"file": str(start), "expect": ["*"]}, folder, False)
    train["train"]["batch_size"] = len(inputs)
    (folder / "step.json").write_text(json.dumps(train))
    run([arguments.dptrain, "fit", folder / "step.json", "--run-dir", folder / "run", "--overwrite", "--progress", "off"])

    def stepped(network, file):
        network.compile(keras.optimizers.SGD(RATE), keras.losses.CategoricalCrossentropy(from_logits=True))
        kind = keras.backend.standardize_dtype(network.inputs[0].dtype)
        network.train_on_batch(inputs.astype(kind), np.eye(CLASSES, dtype=kind)[labels])
        network.save(file)
        return Weights(file)

    exact = stepped(double, folder / "exact.h5") if double else None
    del double
    theirs, ours, before = stepped(still, after), Weights(folder / "run/model.h5"), Weights(start)
    worst, keras_worst, moved = (0.0, ""), 0.0, 0
    own = list(ours.paths.values())
    position = {path: key for key, path in ours.paths.items()}
    arrays = pairs(ours, theirs)
    for mine, key in arrays:
        judge = np.asarray((exact or theirs)[key], np.float64)
        worst = max(worst, (relative(ours[mine], judge), f"{key[0]} [{key[1]}]"))
        keras_worst = max(keras_worst, relative(theirs[key], judge)) if exact else 0.0
        moved += not np.array_equal(before[key], theirs[key])
    result.update(step=worst[0], where=worst[1], keras_step=keras_worst, moved=moved, arrays=len(arrays))
    if not worst[0] <= max(arguments.step_tolerance, 2 * keras_worst) or np.isinf(worst[0]):
        result.setdefault("error", f"weights behind a step off by {worst[0]:.3g} at {worst[1]}; Keras itself {keras_worst:.3g}")
    if moved < len(arrays) // 2:
        result.setdefault("error", "the step moved too little to show anything")
    print(json.dumps(result))


def pairs(ours, theirs):
    """Keys of arrays that belong together: dptrain writes models inside of the model flat, in the same order of layers."""
    flat = [(key, ours[key].shape) for key in ours.paths]
    other = [(key, theirs[key].shape) for key in theirs.paths]
    if [shape for _, shape in flat] == [shape for _, shape in other]:
        return [(a, b) for (a, _), (b, _) in zip(flat, other)]
    # By the end of the path: of a model inside of the model Keras has the name of the model for the layer.
    ends = {}
    for key in theirs.paths:
        ends.setdefault(tuple(theirs.paths[key].split("/")[-2:]), []).append(key)
    found = []
    for key in ours.paths:
        layer, weight = ours.paths[key].split(":")[0].split("/")[-2:]
        match = [other for (name, end), keys in ends.items() for other in keys
                 if (layer == name or layer.endswith("_" + name)) and weight == end and ours[key].shape == theirs[other].shape]
        if len(match) != 1:
            raise RuntimeError(f"no partner of {ours.paths[key]}: {match}")
        found.append((key, match[0]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--networks", default="", help="all of keras.applications")
    parser.add_argument("--side", type=int, default=64, help="of the inputs, at least what the network takes (64)")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--step-tolerance", type=float, default=1e-4)
    parser.add_argument("--most-in-double", type=int, default=10**9, help="parameters of a network whose step is judged in double")
    parser.add_argument("--keep", help="folder for the files (a temporary one)")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.dptrain = str(pathlib.Path(arguments.dptrain).resolve())
    if arguments.one:
        check(arguments, arguments.one)
        return 0
    networks = arguments.networks.split(",") if arguments.networks else names()
    bars = ("| ", " | ", " |") if arguments.markdown else ("", "  ", "")
    print(bars[0] + bars[1].join(["network", "parameters", "outputs", "Keras's", "one step", "Keras's"]) + bars[2], flush=True)
    good = 0
    for name in networks:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as temporary:
            done = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--one", name, "--folder", temporary],
                                  capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            print(f"{name}: FAILED\n{done.stdout[-500:]}{done.stderr[-1500:]}", flush=True)
            continue
        found = json.loads(lines[-1])
        good += "error" not in found
        cells = [name, f"{found['parameters']:,}", f"{found['outputs']:.1e}", f"{found['keras_outputs']:.1e}", f"{found['step']:.1e}", f"{found['keras_step']:.1e}"]
        print(bars[0] + bars[1].join(cells) + bars[2], end="")
        print("" if arguments.markdown and "error" not in found
              else f"  {time.monotonic() - begun:.0f} s {found.get('error', '')}", flush=True)
    print(f"{good} of {len(networks)} agree")
    return 0 if good == len(networks) else 1


if __name__ == "__main__":
    sys.exit(main())
