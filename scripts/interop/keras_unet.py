#!/usr/bin/env python3
"""UNets of dptrain against the same networks built in Keras, with weights of the encoder from a file of Keras.

    keras_unet.py --dptrain PROGRAM [--backbones NAME,...] [--tolerance 1e-4]

Keras saves an encoder with random weights. dptrain loads them into a UNet, freezes the encoder, makes one step, and exports
.keras and .onnx. The layers of the export must have the names and parameters of the UNet built here, the encoder's weights must
be those of the file, and on random images four results must agree: of the UNet built here with the exported weights, of the
export in Keras, in onnxruntime (if installed), and of dptrain. Exit 1 if any backbone fails.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

from keras_applications import PIXELS, randomize  # noqa: E402
from program import dptrain  # noqa: E402

SHAPE, CLASSES = (64, 96, 3), 5
FEATURES = {  # at 1/16, 1/8, 1/4 and 1/2 of the size: segmentation_models
    "VGG16": ["block5_conv3", "block4_conv3", "block3_conv3", "block2_conv2"],
    "ResNet50": ["conv4_block6_out", "conv3_block4_out", "conv2_block3_out", "conv1_relu"],
    "DenseNet121": ["pool4_conv", "pool3_conv", "pool2_conv", "conv1_relu"],
    "MobileNet": ["conv_pw_11_relu", "conv_pw_5_relu", "conv_pw_3_relu", "conv_pw_1_relu"],
    "MobileNetV2": ["block_13_expand_relu", "block_6_expand_relu", "block_3_expand_relu", "block_1_expand_relu"],
    "EfficientNetB0": [f"block{n}a_expand_activation" for n in (6, 4, 3, 2)],
}


def convolution(x, filters, name):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return layers.Activation("relu", name=f"{name}_relu")(layers.BatchNormalization(name=f"{name}_bn")(x))


def unet(encoder, features):
    x = encoder.output
    if isinstance(encoder.layers[-1], layers.MaxPooling2D):
        x = convolution(convolution(x, 512, "center_block1"), 512, "center_block2")
    for stage, filters in enumerate((256, 128, 64, 32, 16)):
        x = layers.UpSampling2D(name=f"decoder_stage{stage}_upsampling")(x)
        if stage < len(features):
            x = layers.Concatenate(name=f"decoder_stage{stage}_concat")([x, encoder.get_layer(features[stage]).output])
        x = convolution(x, filters, f"decoder_stage{stage}a")
        x = convolution(x, filters, f"decoder_stage{stage}b")
    x = layers.Conv2D(CLASSES, 3, padding="same", name="final_conv")(x)
    return keras.Model(encoder.input, layers.Activation("softmax", name="predictions")(x))


def weights_of(model):
    return {layer.name: layer.get_weights() for layer in model.layers if layer.weights}


def check(program, name, folder, tolerance):
    """The parameters and the largest difference. Raises RuntimeError if something differs."""
    encoder = getattr(keras.applications, name)(weights=None, include_top=False, input_shape=SHAPE)
    images = np.random.default_rng(5).standard_normal((3, *SHAPE)).astype(np.float32)
    if name.startswith(PIXELS):
        images = np.clip(127 + 60 * images, 0, 255).astype(np.float32)
    randomize(encoder, images, 11)
    stored = weights_of(encoder)
    encoder.save(folder / "encoder.h5")
    np.save(folder / "x.npy", images)
    config = {"dptrain": 1, "name": "unet",
              "model": {"layers": [{"UNet": {"backbone": name, "input_shape": list(SHAPE), "classes": CLASSES}}],
                        "weights": {"file": str(folder / "encoder.h5"), "ignore": ["center_*", "decoder_*", "final_conv"]},
                        "freeze": {"up_to": encoder.layers[-1].name}},
              "data": {"train": {"Synthetic": {"samples": 2}}},
              "train": {"steps": 1, "batch_size": 2, "optimizer": {"SGD": {"learning_rate": 0.01}},
                        "loss": "sparse_categorical_crossentropy"}}
    (folder / "unet.json").write_text(json.dumps(config))
    run = folder / "run"
    dptrain(program, "fit", folder / "unet.json", "--run-dir", run, "--progress", "off")
    for form in ("keras", "onnx"):
        dptrain(program, "export", run, folder / f"model.{form}")
    ours, theirs = keras.models.load_model(folder / "model.keras"), unet(encoder, FEATURES[name])
    if ours.count_params() != theirs.count_params():
        raise RuntimeError(f"{ours.count_params()} parameters, expected {theirs.count_params()}")
    values, expected = weights_of(ours), weights_of(theirs)
    if sorted(values) != sorted(expected):
        raise RuntimeError(f"other layers: {sorted(set(values) ^ set(expected))}")
    for layer in theirs.layers:
        if layer.name in stored and any(not np.array_equal(a, b) for a, b in zip(values[layer.name], stored[layer.name])):
            raise RuntimeError(f"weights of {layer.name} differ from the file")
        if layer.weights:
            layer.set_weights(values[layer.name])
            if type(layer).__name__ == "Normalization":
                layer.finalize_state()
    reference = theirs.predict(images, verbose=0)
    results = {"keras": ours.predict(images, verbose=0)}
    try:
        import onnxruntime
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        results["onnx"] = session.run(None, {session.get_inputs()[0].name: images})[0]
    except ImportError:
        pass
    dptrain(program, "predict", run, "--input", folder / "x.npy", "--probabilities", "--output", folder / "y.npy")
    results["dptrain"] = np.load(folder / "y.npy")
    worst = 0.0
    for what, found in results.items():
        if found.size != reference.size:
            raise RuntimeError(f"{what}: {found.shape} outputs, expected {reference.shape}")
        difference = float(np.abs(found.reshape(reference.shape) - reference).max())
        if not difference <= tolerance:
            raise RuntimeError(f"{what}: outputs off by {difference:.3g}")
        worst = max(worst, difference)
    return ours.count_params(), worst, sorted(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--backbones", default=",".join(FEATURES))
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()
    program, failed = str(pathlib.Path(arguments.dptrain).resolve()), 0
    for name in arguments.backbones.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                parameters, worst, results = check(program, name, pathlib.Path(folder), arguments.tolerance)
                print(f"{name}: {parameters:,} parameters, outputs off by {worst:.2g} ({', '.join(results)})", flush=True)
            except RuntimeError as error:
                failed = 1
                print(f"{name}: {error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
