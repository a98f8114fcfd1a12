#!/usr/bin/env python3
"""Raw pixels, or raw rows, in: `export --with-transforms` writes files of which onnxruntime computes what `predict` does.

    onnx_photos.py --dptrain PROGRAM --photos FOLDER [--run RUN] [--count N] [--opset N]
    onnx_photos.py --dptrain PROGRAM --rows [--opset N]

Needs onnxruntime, numpy and Pillow. With --photos it takes the first N files (100) of the folder and of those below it,
decodes them with Pillow, and compares the class of each, and the largest difference of a probability, with `predict` of a run
(--run) or of small networks with random weights behind each kind of resizing. With --rows it draws a table of numbers, words and gaps,
trains a network on it for an epoch, and does the same with its rows. Exit 1 where a class differs, or a probability by 1e-4.
"""

import argparse
import csv
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from program import dptrain

SCALE = {"Rescaling": {"scale": 1 / 127.5, "offset": -1}}
RESIZINGS = {
    "bilinear": [{"Resizing": {"height": 48, "width": 40}}, SCALE],
    "enlarged": [{"Resizing": {"height": 400, "width": 700}}, SCALE, {"Resizing": {"height": 64, "width": 64}}],
    "nearest": [{"Resizing": {"height": 48, "width": 40, "interpolation": "nearest"}}, SCALE],
    "antialias": [{"Resizing": {"height": 48, "width": 40, "antialias": True}}, SCALE],
    "aspect ratio": [{"Resizing": {"height": 48, "width": 40, "antialias": True, "crop_to_aspect_ratio": True}}, SCALE],
    "crop": [{"CenterCrop": {"height": 160, "width": 128}}, {"PreprocessInput": "caffe"}],
    "crop of smaller ones": [{"CenterCrop": {"height": 300, "width": 400}}, {"Resizing": {"height": 64, "width": 64}}, SCALE],
    "standardized": [{"Resizing": {"height": 48, "width": 40}}, "PerImageStandardization"],
    "standardized first": ["PerImageStandardization", {"Resizing": {"height": 48, "width": 40}},
                           {"Normalization": {"mean": [0.1, 0.2, 0.3], "variance": [1, 2, 3]}}],
}


def scores_of(text):
    """The probabilities in what `predict --probabilities` prints, [samples, classes]."""
    rows = list(csv.reader(text.splitlines()))
    head = next(i for i, row in enumerate(rows) if any(field.startswith("p_") for field in row))
    columns = [i for i, name in enumerate(rows[head]) if name.startswith("p_")]
    return np.array([[float(row[i]) for i in columns] for row in rows[head + 1:]])


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def compare(name, found, expected):
    """Both [samples, classes]."""
    same = int((found.argmax(1) == expected.argmax(1)).sum())
    off = np.abs(found - expected).max()
    print(f"{name}: the same class for {same} of {len(found)}, probabilities off by {off:.2g} at most")
    return same == len(found) and off < 1e-4


def open_file(file):
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])


def photos(program, source, files, file, opset, *more):
    from PIL import Image, ImageOps
    dptrain(program, "export", source, file, "--with-transforms", "--opset", opset, *more)
    session = open_file(file)
    name = session.get_inputs()[0].name
    found = []
    for path in files:
        pixels = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
        found.append(session.run(None, {name: pixels[None]})[0][0])
    expected = scores_of(dptrain(program, "predict", source, "--cpus", "1", "--probabilities", *more,
                                 *(word for path in files for word in ("--input", path))))
    return np.array(found), expected


def check_photos(program, folder, run, count, opset, scratch):
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    files = files[:: max(1, len(files) // count)][:count]
    if run:
        return [compare(str(run), *photos(program, run, files, scratch / "run.onnx", opset))]
    good = []
    for name, transforms in RESIZINGS.items():
        config = scratch / "photos.json"
        sizes = [next(iter(step.values())) for step in transforms if isinstance(step, dict)]
        size = next(s for s in reversed(sizes) if isinstance(s, dict) and "height" in s)
        layers = [{"Input": {"shape": [size["height"], size["width"], 3]}},
                  {"Conv2D": {"filters": 8, "kernel_size": 5, "strides": 3, "activation": "relu"}},
                  {"Conv2D": {"filters": 16, "kernel_size": 3, "strides": 2, "activation": "relu"}},
                  "Flatten", {"Dense": {"units": 5, "activation": "softmax"}}]
        config.write_text(json.dumps({"dptrain": 1, "model": {"layers": layers},
                                      "data": {"train": {"ImageFolder": {"directory": str(folder)}},
                                               "transforms": transforms},
                                      "train": {"epochs": 1, "batch_size": 32, "loss": "categorical_crossentropy"}}))
        weights = scratch / "photos.h5"
        dptrain(program, "export", config, weights)
        good.append(compare(name, *photos(program, config, files, scratch / "photos.onnx", opset, "--weights", weights)))
    return good


WORDS = ["Adelie", "Chinstrap", "Gentoo"]


def draw_rows(random, count):
    for _ in range(count):
        kind = random.integers(3)
        length = "" if random.random() < 0.1 else f"{random.normal(190 + 10 * kind, 8):.1f}"
        mass = "NA" if random.random() < 0.1 else f"{random.normal(3500 + 500 * kind, 300):.0f}"
        island = ["Biscoe", "Dream", "Torgersen", "", "Elsewhere"][random.choice(5, p=[0.4, 0.3, 0.2, 0.05, 0.05])]
        yield [length, mass, island, str(random.integers(2007, 2010)), str(random.integers(4)),
               f"{random.normal(17, 2):.2f}", f"{random.random():.4f}", WORDS[kind]]


def check_rows(program, opset, scratch):
    random = np.random.default_rng(7)
    names = ["flipper", "mass", "island", "year", "nest", "bill", "part", "species"]
    table, new = scratch / "train.csv", scratch / "new.csv"
    for path, count in ((table, 300), (new, 100)):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(draw_rows(random, count))
    config = scratch / "rows.json"
    columns = {"year": "IntegerLookup", "nest": {"CategoryEncoding": 4}, "bill": {"Discretization": {"num_bins": 5}},
               "part": {"Rescaling": {"scale": 2, "offset": -1}}, "island": {"StringLookup": {"max_tokens": 4}}}
    config.write_text(json.dumps({
        "dptrain": 1, "name": "rows", "seed": 3,
        "model": {"layers": [{"Input": {"shape": [20]}}, {"Dense": {"units": 3, "activation": "softmax"}}]},
        "data": {"train": {"CSV": {"file": str(table), "labels": "species", "columns": columns}}},
        "train": {"epochs": 3, "batch_size": 16, "loss": "categorical_crossentropy"}}))
    run = scratch / "run"
    dptrain(program, "fit", config, "--cpus", "1", "--run-dir", run)
    file = scratch / "rows.onnx"
    dptrain(program, "export", run, file, "--with-transforms", "--opset", opset)
    expected = scores_of(dptrain(program, "predict", run, "--cpus", "1", "--probabilities", "--input", new))
    session = open_file(file)
    rows = list(csv.DictReader(open(new, newline="", encoding="utf-8")))
    feed = {}
    for one in session.get_inputs():
        cells = [row[one.name] for row in rows]
        if one.type == "tensor(string)":
            feed[one.name] = np.array(cells, object)
        else:
            feed[one.name] = np.array([float(cell) if is_number(cell) else np.nan for cell in cells], np.float32)
    return [compare("rows", session.run(None, feed)[0], expected)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--photos", type=pathlib.Path)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--run", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--opset", type=int, default=17)
    arguments = parser.parse_args()
    good = []
    with tempfile.TemporaryDirectory() as temporary:
        scratch = pathlib.Path(temporary)
        if arguments.photos:
            good += check_photos(arguments.dptrain, arguments.photos.resolve(), arguments.run, arguments.count, arguments.opset,
                                 scratch)
        if arguments.rows:
            good += check_rows(arguments.dptrain, arguments.opset, scratch)
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
