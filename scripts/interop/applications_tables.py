#!/usr/bin/env python3
"""The tables that the bundled networks are held to, written from keras.applications: tests/golden/keras_apps.

    applications_tables.py --out DIR [--tables NAME,...] [--variants LINES.txt]

--tables: <Network>.csv for each, with top and at the default size: i,name,class,inputs,config,out_shape,weights, in the order of
model.layers. --variants: a file with lines NETWORK;{arguments in YAML}, each of which becomes a line of variants.csv with layers,
parameters, output, and a digest (FNV-1a, 64 bits) of the lines name|class|output shape|shapes of the weights.

A model inside of the model is written as its layers, an operation on a number as the Rescaling that dptrain makes of it. No
weights are drawn: shapes are all that counts here.
"""

import argparse
import os
import pathlib
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
from keras import applications
from keras.src.backend import random as draws

for method in ("normal", "uniform", "truncated_normal"):
    setattr(draws, method, lambda shape, *_, dtype="float32", **__: np.zeros(shape, dtype or "float32"))

KEYS = {
    "Conv2D": "filters kernel_size strides padding groups use_bias activation",
    "DepthwiseConv2D": "kernel_size strides padding depth_multiplier use_bias activation",
    "SeparableConv2D": "filters kernel_size strides padding depth_multiplier use_bias activation",
    "Dense": "units use_bias activation",
    "BatchNormalization": "axis momentum epsilon scale center",
    "LayerNormalization": "epsilon scale center",
    "Activation": "activation", "ReLU": "max_value", "Reshape": "target_shape", "LayerScale": "init_values projection_dim",
    "MaxPooling2D": "pool_size strides padding", "AveragePooling2D": "pool_size strides padding", "CustomScaleLayer": "scale",
    "GlobalAveragePooling2D": "keepdims", "ZeroPadding2D": "padding", "Cropping2D": "cropping", "Concatenate": "axis",
}


def text_of(value):
    if isinstance(value, (list, tuple)):
        return "(" + ",".join(map(text_of, value)) + (",)" if len(value) == 1 else ")")
    return str(value)


def shape_of(shape):
    return "x".join(map(str, shape)) or "scalar"


def operations(model):
    """(layer, its class, its name, names of what it reads), models inside opened."""
    numbers = sorted((op for op in model.operations if not isinstance(op, keras.layers.Layer) and
                      any(isinstance(a, (int, float)) for a in op._inbound_nodes[0].arguments.args)),
                     key=lambda op: (int((re.findall(r"_(\d+)$", op.name) or ["0"])[0]), type(op).__name__))
    before = sum(isinstance(layer, keras.layers.Rescaling) for layer in model.layers)
    rescaling = {op: f"rescaling_{i}" if i else "rescaling" for i, op in enumerate(numbers, before)}
    last = {}   # of a model inside: the name of its last layer
    name = lambda op: rescaling.get(op, last.get(op, op.name))
    for op in model.layers if all(isinstance(op, keras.layers.Layer) for op in model.operations) else model.operations:
        reads = [name(tensor._keras_history.operation) for tensor in op._inbound_nodes[0].input_tensors]
        if isinstance(op, keras.Model):
            for layer in op.layers:
                yield layer, type(layer).__name__, layer.name, reads
                reads = [layer.name]
            last[op] = reads[0]
            continue
        yield op, "Rescaling" if op in rescaling else type(op).__name__, name(op), reads


def rows(model):
    for op, kind, name, reads in operations(model):
        config = op.get_config() if isinstance(op, keras.layers.Layer) else {}
        keys = [key for key in KEYS.get(kind, "").split() if config.get(key) is not None]
        said = " ".join(f"{key}={text_of(config[key])}" for key in keys if not (key == "keepdims" and not config[key]))
        weights = [("gamma" if kind == "LayerScale" else w.name, shape_of(w.shape)) for w in getattr(op, "weights", [])]
        yield name, kind, ";".join(reads), said, shape_of(op.output.shape[1:]), weights


def built(name, **arguments):
    keras.backend.clear_session()
    if name.startswith("MobileNetV3"):   # which by default leaves its size open
        arguments.setdefault("input_shape", (224, 224, 3))
    return getattr(applications, name)(weights=None, **arguments)


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def write_table(name, out):
    lines = ["i,name,class,inputs,config,out_shape,weights"]
    for i, (layer, kind, reads, said, shape, weights) in enumerate(rows(built(name))):
        said = f'"{said}"' if "," in said else said
        lines.append(f"{i},{layer},{kind},{reads},{said},{shape}," + " ".join(f"{w}:{s}" for w, s in weights))
    (out / f"{name}.csv").write_text("\n".join(lines) + "\n")


def python_value(text):
    text = text.strip()
    if text.startswith("["):
        return tuple(int(part) for part in text[1:-1].split(","))
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return {"linear": None, "none": None}.get(text, text)


def variant(line):
    name, arguments = line.split(";")[:2]
    pairs = re.findall(r"(\w+): (\[[^]]*\]|[^,}]+)", arguments)
    model = built(name, **{key: python_value(value) for key, value in pairs})
    lines = "".join(f"{layer}|{kind}|{shape}|{' '.join(s for _, s in weights)}\n" for layer, kind, _, _, shape, weights in rows(model))
    count = lines.count("\n")
    return f"{name};{arguments};{count};{model.count_params()};{shape_of(model.output.shape[1:])};{fnv(lines)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--tables", default="")
    parser.add_argument("--variants", type=pathlib.Path)
    arguments = parser.parse_args()
    for name in filter(None, arguments.tables.split(",")):
        write_table(name, arguments.out)
        print(name, flush=True)
    if arguments.variants:
        lines = [variant(line) for line in arguments.variants.read_text().splitlines() if line and not line.startswith("network;")]
        (arguments.out / "variants.csv").write_text("network;arguments;layers;parameters;output;digest\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
