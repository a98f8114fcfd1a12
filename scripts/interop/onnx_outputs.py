#!/usr/bin/env python3
"""The files that `dptrain export` writes for ONNX: onnxruntime computes of them what dptrain predicts.

    onnx_outputs.py --dptrain PROGRAM [--configs FOLDER] [--only WORDS] [--opset N] [--keep DIR]

Needs onnxruntime, onnx, h5py and numpy. For each case of onnx_cases.py, and for each bundled network at a small size, it draws
weights (biases and statistics, too), exports, has onnx check the file with its inferred shapes, and compares the outputs for a
few random samples: the largest difference over the largest value, at most 1e-5, for the networks 1e-4. Exit 1 if any fails.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

import h5py
import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from onnx_cases import CASES
from program import dptrain

SAMPLES = 3
SMALL = {"densenet121": 64, "inception_v3": 96, "mobilenet": 64, "mobilenet_v2": 64, "resnet50": 64, "vgg16": 64, "vgg19": 64,
         "vit": 32, "xception": 80, "inception_resnet_v2": 96}   # sides of the images; all others 64


def draw_weights(file, random, deep):
    """Weights that are none of zeros or ones; kernels of a deep network such that its numbers stay in bounds."""
    with h5py.File(file, "r+") as model:
        def change(name, item):
            if not isinstance(item, h5py.Dataset):
                return
            item.attrs.pop("crc32", None)
            values = item[()]
            small = 0.05 if deep else 0.3
            if "variance" in name:
                values = values * random.uniform(0.7, 1.4, values.shape)
            elif deep and "kernel" in name:
                fan = np.prod(values.shape[:2] if "depthwise" in name else values.shape[:-1])
                values = random.standard_normal(values.shape, np.float32) * np.sqrt(1.5 / fan)
            elif deep and name.rsplit("/", 1)[-1] in ("gamma:0", "beta:0"):
                # As in trained networks: with means of zero a hundred layers would make a thousandfold of a rounding.
                values = values * random.uniform(0.4, 0.8, values.shape) if "gamma" in name else random.uniform(0.1, 0.5, values.shape)
            else:
                values = values + small * random.standard_normal(values.shape)
            item[()] = values.astype(np.float32)
        model["model_weights"].visititems(change)


def inputs_for(shape, dtype, random):
    if dtype == "int32":
        ids = random.integers(1, 7, (SAMPLES, *shape)).astype(np.int32)
        ids[random.random(ids.shape) < 0.3] = 0   # padding, anywhere; one step at least is none
        ids[:, 0] = 1
        return ids
    values = random.standard_normal((SAMPLES, *shape)).astype(np.float32)
    if len(shape) == 2:
        values[:, 1] = 0                          # what Masking leaves out
    return values


def compare(program, folder, model, shape, dtype, opset, deep):
    random = np.random.default_rng(sum(map(ord, json.dumps(model))))
    config, weights, file = folder / "config.json", folder / "model.h5", folder / "model.onnx"
    config.write_text(json.dumps({"dptrain": 1, "model": model}))
    dptrain(program, "export", config, weights)
    draw_weights(weights, random, deep)
    dptrain(program, "export", config, file, "--weights", weights, "--opset", opset)
    feed = inputs_for(shape, dtype, random)
    np.save(folder / "x.npy", feed)
    text = dptrain(program, "predict", config, "--weights", weights, "--input", folder / "x.npy", "--cpus", "1")
    rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
    expected = np.array([[float(field) for field in row[1:]] for row in rows])

    checked = onnx.load(file)
    onnx.checker.check_model(checked, full_check=True)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    outputs = session.run(None, {session.get_inputs()[0].name: feed})
    found = np.concatenate([output.reshape(SAMPLES, -1) for output in outputs], axis=1)
    if found.shape != expected.shape:
        raise RuntimeError(f"{found.shape[1]} numbers, expected {expected.shape[1]}")
    transposes = sum(node.op_type == "Transpose" for node in checked.graph.node)
    off = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    if not np.isfinite(off):
        raise RuntimeError("not finite")
    return off, transposes, len(checked.graph.node)


def networks(folder):
    """name, model, input shape. The outputs are logits: a softmax could hide what is wrong before it."""
    for path in sorted(folder.glob("*.yaml")):
        name = re.search(r"^network: *(\S+)", path.read_text(), re.M).group(1)
        shape = [24, 32] if name == "Transformer" else [SMALL.get(path.stem, 64)] * 2 + [3]
        variants = re.search(r"^variants:\n((?:  .*\n)+)", path.read_text(), re.M)
        for each in [name, *(re.findall(r"^  (\w+):", variants.group(1), re.M) if variants else [])]:
            yield each, {"layers": [{"Input": shape}, {each: {"input_shape": shape, "classes": 10, "include_top": True,
                                                                         "classifier_activation": "linear"}}]}, shape


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--configs", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "configs/networks")
    parser.add_argument("--only", default="", help="cases with these words in their name")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()

    jobs = []
    for name, (shape, layers, dtype) in CASES.items():
        first = layers[0] if isinstance(layers[0], dict) else {}
        model = {"layers": layers if "Input" in first else [{"Input": {"shape": shape, "dtype": dtype}}, *layers]}
        jobs.append((name, model, shape, dtype, 1e-5, False))
    jobs += [(name, model, shape, "float32", 1e-4, True) for name, model, shape in networks(arguments.configs)]
    jobs = [job for job in jobs if arguments.only in job[0]]
    worst, failed = {False: (0.0, ""), True: (0.0, "")}, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, model, shape, dtype, limit, deep in jobs:
            try:
                off, transposes, nodes = compare(arguments.dptrain, folder, model, shape, dtype, arguments.opset, deep)
                worst[deep] = max(worst[deep], (off, name))
                if off > limit:
                    raise RuntimeError(f"off by {off:.3g}, at most {limit:g}")
                if deep or arguments.only:
                    print(f"{name}: {off:.2g}, {nodes} nodes, {transposes} Transposes")
            except Exception as error:  # whatever a library throws: the next case is another one
                failed += 1
                print(f"FAILED {name}: {type(error).__name__}: {error}"[:1500])
    for deep, what in ((False, "layers"), (True, "networks")):
        count = sum(job[5] == deep for job in jobs)
        print(f"{what}: {count} models, largest difference {worst[deep][0]:.3g} ({worst[deep][1]})")
    print(f"{len(jobs) - failed} of {len(jobs)} agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
