#!/usr/bin/env python3
"""Lists the convolutions of Keras models for dptrain_plan_check.

    tests/plans/make_lists.py TABLE.csv ... --out tests/plans

A table has one line per layer: i,name,class,inputs,config,out_shape,weights (tests/golden/keras_apps holds some), written
from Keras by going over model.layers. Conv2D, DepthwiseConv2D, SeparableConv2D and Dense become lines of <model>.txt in
the format that the first lines of each file tell; a layer that comes several times in one shape is listed once.
"""

import argparse
import csv
import pathlib
import re

HEADER = """\
# Convolutions of {model}, without those that repeat; written by make_lists.py.
# layer  input h w c  output h w k  filter r s  strides h w  dilation h w  pads top bottom left right  groups  bias relu data
# bias, relu: part of the forward pass; data: the gradient for the input is wanted (not of the first layer)
"""


def shape_of(text):
    """'56x56x64' -> (56, 56, 64); '1000' -> (1, 1, 1000)."""
    sizes = tuple(int(n) for n in text.split("x"))
    return sizes if len(sizes) == 3 else (1, 1, sizes[-1])


def settings_of(text):
    return dict(part.split("=", 1) for part in re.findall(r"\w+=\S+", text))


def pair(text):
    return tuple(int(n) for n in text.strip("()").split(","))


def pads(padding, size, out, kernel, stride):
    """Zeros before and after one axis, as Keras's 'same' has them: the odd one comes after."""
    total = max((out - 1) * stride + kernel - size, 0) if padding == "same" else 0
    return total // 2, total - total // 2


def window_line(name, inside, out, kernel, strides, padding, groups, bias, relu, data):
    top, bottom = pads(padding, inside[0], out[0], kernel[0], strides[0])
    left, right = pads(padding, inside[1], out[1], kernel[1], strides[1])
    numbers = (*inside, *out, *kernel, *strides, 1, 1, top, bottom, left, right, groups, bias, relu, data)
    return name, " ".join(str(int(n)) for n in numbers)


def lines_of(layer, inside, data):
    """(name, numbers) of each convolution of a layer."""
    kind, settings, out = layer["class"], settings_of(layer["config"]), shape_of(layer["out_shape"])
    bias, relu = settings.get("use_bias") == "True", settings.get("activation") == "relu"
    if kind == "Dense":
        flat = (1, 1, inside[0] * inside[1] * inside[2])
        yield window_line(layer["name"], flat, out, (1, 1), (1, 1), "valid", 1, bias, relu and bias, data)
    if kind not in ("Conv2D", "DepthwiseConv2D", "SeparableConv2D"):
        return
    kernel, strides, padding = pair(settings["kernel_size"]), pair(settings["strides"]), settings["padding"]
    if kind == "Conv2D":
        groups = int(settings["groups"])
        yield window_line(layer["name"], inside, out, kernel, strides, padding, groups, bias, relu and bias, data)
        return
    middle = (*out[:2], inside[2] * int(settings["depth_multiplier"]))
    last = kind == "DepthwiseConv2D"
    yield window_line(layer["name"] + ("" if last else ":depthwise"), inside, middle, kernel, strides, padding, inside[2],
                      bias and last, relu and bias and last, data)
    if not last:
        yield window_line(layer["name"] + ":pointwise", middle, out, (1, 1), (1, 1), "valid", 1, bias, relu and bias, True)


def list_of(table):
    shapes, is_image, lines = {}, {}, {}
    for layer in csv.DictReader(table.open()):
        inputs = [name for name in layer["inputs"].split(";") if name]
        image = layer["class"] == "InputLayer" or (layer["class"] in ("ZeroPadding2D", "Rescaling") and is_image[inputs[0]])
        shapes[layer["name"]], is_image[layer["name"]] = shape_of(layer["out_shape"]), image
        if inputs:
            for name, numbers in lines_of(layer, shapes[inputs[0]], not is_image[inputs[0]]):
                lines.setdefault(numbers, name)
    return "".join(f"{name} {numbers}\n" for numbers, name in lines.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    for table in arguments.tables:
        text = HEADER.format(model=table.stem) + list_of(table)
        (arguments.out / f"{table.stem.lower()}.txt").write_text(text)


if __name__ == "__main__":
    main()
