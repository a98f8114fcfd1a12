#!/usr/bin/env python3
"""Opens a file of dptrain in this environment's Keras, predicts, compares and continues training.

    check_keras.py MODEL.h5 --input IMAGES [--predictions PREDS.csv] [--labels LABELS] [--scale 1/255] [--samples 256]

IMAGES and LABELS are .npy or IDX files, .gz or not. PREDS.csv is what `dptrain predict --probabilities` wrote for the same
images; every probability must agree within --tolerance. Exit 1 if anything fails.
"""

import argparse
import csv
import fractions
import gzip
import json
import os
import pathlib
import struct
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lrn import LocalResponseNormalization

IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_array(path):
    """An .npy or IDX file, compressed or not."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        if str(path).removesuffix(".gz").endswith(".npy"):
            return np.load(file)
        _, kind, rank = struct.unpack(">HBB", file.read(4))
        shape = struct.unpack(f">{rank}I", file.read(4 * rank))
        return np.frombuffer(file.read(), IDX_TYPES[kind]).reshape(shape)


def read_inputs(path, shape, scale, offset, samples):
    """Samples of the model's input shape, float32; a missing channel axis is added."""
    array = read_array(path)[:samples]
    if array.ndim == len(shape):
        array = array[..., np.newaxis]
    return (array.astype(np.float32) * np.float32(scale) + np.float32(offset)).reshape((-1, *shape))


def read_predictions(path, samples):
    """The columns p_<class> of `dptrain predict --probabilities`, in the order of the file."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    columns = [i for i, name in enumerate(rows[0]) if name.startswith("p_")]
    if not columns:
        raise SystemExit(f"{path}: no columns p_<class>; write it with 'dptrain predict --probabilities'")
    return np.array([[float(row[i]) for i in columns] for row in rows[1:samples + 1]])


def loss_name(path):
    """Loss of the file's training_config in snake case, '' where there is none."""
    with h5py.File(path, "r") as file:
        if "training_config" not in file.attrs:
            return ""
        loss = json.loads(file.attrs["training_config"])["loss"]
    return loss if isinstance(loss, str) else loss["config"]["name"]


def ends_in_logits(model):
    """Whether the last layer leaves the softmax to the loss; dptrain's CSV holds probabilities all the same."""
    return model.layers[-1].get_config().get("activation") == "linear" and model.output_shape[-1] > 1


def labels_for(loss, output_shape, labels, count):
    """Labels of the form that the loss wants: numbers of classes, or rows as wide as the output (one-hot)."""
    width = output_shape[-1]
    numbers = (labels[:count] if labels is not None else np.arange(count)) % width
    if loss.startswith("sparse_"):
        return numbers.astype(np.int32)
    return np.eye(width, dtype=np.float32)[numbers]


def check_training(model, path, inputs, labels, steps, batch):
    """A few more steps of fit with the loss and optimizer of the file: finite losses, weights that move."""
    loss, origin = loss_name(path), "as in the file"
    if not loss:
        classes = model.output_shape[-1] > 1
        loss, origin = "categorical_crossentropy" if classes else "mean_squared_error", "compiled here"
        model.compile(keras.optimizers.SGD(0.01),
                      keras.losses.CategoricalCrossentropy(from_logits=ends_in_logits(model)) if classes else loss)
    count = min(len(inputs), steps * batch)
    before = [np.copy(weight.numpy()) for weight in model.trainable_weights]
    history = model.fit(inputs[:count], labels_for(loss, model.output_shape, labels, count), batch_size=batch, epochs=2,
                        verbose=0, shuffle=False).history
    moved = any(not np.array_equal(old, new.numpy()) for old, new in zip(before, model.trainable_weights))
    good = all(np.isfinite(value) for values in history.values() for value in values) and moved
    shown = {key: [round(float(value), 6) for value in values] for key, values in history.items()}
    print(f"  fit: {type(model.optimizer).__name__}, {loss} ({origin}), {shown}{'' if good else '  FAILED'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--input")
    parser.add_argument("--labels")
    parser.add_argument("--predictions")
    parser.add_argument("--scale", type=lambda text: float(fractions.Fraction(text)), default=fractions.Fraction(1, 255),
                        help="inputs are multiplied by it, as the config's Rescaling does (1/255)")
    parser.add_argument("--offset", type=float, default=0.0)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--steps", type=int, default=4, help="steps of fit per epoch")
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()

    print(f"{arguments.model}: Keras {keras.__version__}, TensorFlow {tf.__version__}, HDF5 {h5py.version.hdf5_version}")
    model = keras.models.load_model(
        arguments.model, custom_objects={"LocalResponseNormalization": LocalResponseNormalization})
    shape = tuple(model.input_shape[1:])
    print(f"  opened: {len(model.layers)} layers, {model.count_params():,} parameters")
    if arguments.input:
        inputs = read_inputs(arguments.input, shape, arguments.scale, arguments.offset, arguments.samples)
    else:
        inputs = np.random.default_rng(1).random((arguments.samples, *shape), dtype=np.float32)
    predicted = np.asarray(model.predict(inputs, verbose=0))
    good = bool(np.isfinite(predicted).all())

    if arguments.predictions:
        expected = read_predictions(arguments.predictions, arguments.samples)
        if expected.shape != predicted.shape:
            print(f"  predict: {predicted.shape} from Keras, {expected.shape} in {arguments.predictions}  FAILED")
            return 1
        if ends_in_logits(model):
            predicted = tf.nn.softmax(predicted).numpy()
        difference = float(np.abs(expected - predicted).max())
        good = good and difference <= arguments.tolerance
        print(f"  predict: {len(predicted)} samples, largest difference {difference:.3g} "
              f"(at most {arguments.tolerance:g}){'' if good else '  FAILED'}")
    else:
        print(f"  predict: {len(predicted)} samples{'' if good else ', not finite  FAILED'}")

    labels = read_array(arguments.labels) if arguments.labels else None
    good = check_training(model, arguments.model, inputs, labels, arguments.steps, arguments.batch) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
