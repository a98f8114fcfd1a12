#!/usr/bin/env python3
"""`export --free-steps`: one file for sequences of any length. onnxruntime computes of it what dptrain predicts of a config with
that length.

    onnx_steps.py --dptrain PROGRAM [--opset N]

Needs onnxruntime, onnx, h5py and numpy. For each model it exports 12 steps with --free-steps and compares outputs at 12, 7 and 19 steps;
models that depend on the length must be refused. Exit 1 if any fails.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from onnx_outputs import dptrain, draw_weights
from program import nan_as_infinite

SAMPLES, LIMIT = 3, 1e-5
LENGTHS = [12, 7, 19]
IDS = {"Embedding": {"input_dim": 9, "output_dim": 8}}
MASKED = {"Embedding": {"input_dim": 9, "output_dim": 8, "mask_zero": True}}
PLACES = {"PositionEmbedding": {"sequence_length": 32}}
HEADS = {"MultiHeadAttention": {"num_heads": 2, "key_dim": 4}}
END = {"Dense": {"units": 3, "activation": "softmax"}}
FREE = {
    "LSTM": [IDS, {"LSTM": 5}, END],
    "masked LSTM": [MASKED, {"LSTM": 5}, END],
    "GRU of steps": [{"GRU": {"units": 5, "return_sequences": True}}, {"GRU": {"units": 4, "go_backwards": True}}, END],
    "Bidirectional": [MASKED, {"Bidirectional": {"layer": {"LSTM": {"units": 5, "return_sequences": True}}}},
                      "GlobalAveragePooling1D", END],
    "steps come out": [{"SimpleRNN": {"units": 5, "return_sequences": True}}, END],
    "Conv1D": [IDS, {"Conv1D": {"filters": 6, "kernel_size": 3, "padding": "same", "activation": "relu"}},
               {"Conv1D": {"filters": 6, "kernel_size": 3, "padding": "causal", "dilation_rate": 2}}, "GlobalMaxPooling1D", END],
    "pools": [{"Conv1D": {"filters": 6, "kernel_size": 3}}, {"MaxPooling1D": 2}, "GlobalAveragePooling1D", END],
    "TimeDistributed": [{"TimeDistributed": {"layer": {"Dense": {"units": 6}}}}, {"LSTM": 4}, END],
    "attention": [IDS, PLACES, {"MultiHeadAttention": {"num_heads": 2, "key_dim": 4}}, "LayerNormalization",
                  "GlobalAveragePooling1D", END],
    "masked attention": [MASKED, HEADS, "GlobalAveragePooling1D", END],
}
BOUND = {
    "Flatten": [IDS, "Flatten", END],
    "strides over same": [{"Conv1D": {"filters": 6, "kernel_size": 3, "padding": "same", "strides": 2}}, "GlobalMaxPooling1D", END],
    "causal attention": [{"MultiHeadAttention": {"num_heads": 2, "key_dim": 4}}, END],
}


def config_of(layers, length):
    ids = isinstance(layers[0], dict) and "Embedding" in layers[0]
    first = {"shape": [length], "dtype": "int32"} if ids else {"shape": [length, 4]}
    steps = [{"Input": first}]
    for layer in layers:
        if layer is HEADS or (isinstance(layer, dict) and "MultiHeadAttention" in layer):
            before = f"before_{len(steps)}"
            steps[-1] = named(steps[-1], before)
            layer = {"MultiHeadAttention": {**layer["MultiHeadAttention"], "inputs": [before, before]}}
        steps.append(layer)
    return {"dptrain": 1, "model": {"layers": steps}}, ids


def named(step, name):
    kind, arguments = next(iter(step.items()))
    return {kind: {**arguments, "name": name}}


def check(program, folder, name, layers, opset):
    random = np.random.default_rng(sum(map(ord, name)))
    config, weights, file = folder / "config.json", folder / "model.h5", folder / "model.onnx"
    config.write_text(json.dumps(config_of(layers, LENGTHS[0])[0]))
    dptrain(program, "export", config, weights)
    draw_weights(weights, random, False)
    dptrain(program, "export", config, file, "--weights", weights, "--opset", opset, "--free-steps")
    onnx.checker.check_model(onnx.load(file), full_check=True)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    worst = 0
    for length in LENGTHS:
        other, ids = config_of(layers, length)
        config.write_text(json.dumps(other))
        feed = random.standard_normal((SAMPLES, length, 4)).astype(np.float32)
        if ids:
            feed = random.integers(1, 9, (SAMPLES, length)).astype(np.int32)
            feed[:, 4:][random.random((SAMPLES, length - 4)) < 0.4] = 0
        np.save(folder / "x.npy", feed)
        text = dptrain(program, "predict", config, "--weights", weights, "--input", folder / "x.npy", "--cpus", "1")
        rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
        expected = np.array([[float(field) for field in row[1:]] for row in rows])
        found = session.run(None, {session.get_inputs()[0].name: feed})[0].reshape(SAMPLES, -1)
        if found.shape != expected.shape:
            raise RuntimeError(f"{length} steps: {found.shape[1]} numbers, expected {expected.shape[1]}")
        worst = max(worst, nan_as_infinite(np.abs(found - expected).max() / np.abs(expected).max()))
    if not worst < LIMIT:
        raise RuntimeError(f"off by {worst:.3g}, at most {LIMIT:g}")
    print(f"{name}: {worst:.2g} at {LENGTHS} steps, inputs {session.get_inputs()[0].shape}, outputs {session.get_outputs()[0].shape}")


def check_refused(program, folder, name, layers, opset):
    config = folder / "config.json"
    whole, _ = config_of(layers, LENGTHS[0])
    if name == "causal attention":
        whole["model"]["layers"][1]["MultiHeadAttention"]["use_causal_mask"] = True
    config.write_text(json.dumps(whole))
    try:
        dptrain(program, "export", config, folder / "model.onnx", "--opset", opset, "--free-steps")
    except RuntimeError as error:
        if "--free-steps" not in str(error).splitlines()[-1]:
            raise
        print(f"{name}: {str(error).splitlines()[-1]}")
        return
    raise RuntimeError("was taken")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--opset", type=int, default=17)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for cases, function in ((FREE, check), (BOUND, check_refused)):
            for name, layers in cases.items():
                try:
                    function(arguments.dptrain, pathlib.Path(temporary), name, layers, arguments.opset)
                except Exception as error:  # whatever a library throws: the next case is another one
                    failed += 1
                    print(f"FAILED {name}: {type(error).__name__}: {error}"[:1500])
    print(f"{len(FREE) + len(BOUND) - failed} of {len(FREE) + len(BOUND)} agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
