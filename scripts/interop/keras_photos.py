#!/usr/bin/env python3
"""Photos through the Keras of this environment and through dptrain: networks on the same pixels, and the pixels themselves.

    keras_photos.py --dptrain PROGRAM --photos DIR [--networks VGG16,... | --networks ''] [--no-pixels] [--no-step]

DIR has a folder of JPEGs for each class; --each of each are taken. First the pixels: each side decodes, resizes and
preprocesses by itself, and the differences are printed in units of 0..255; where the decoders are told to work alike
(dct_method INTEGER_ACCURATE) they must be the same photos to --pixel-tolerance. Then the networks, so that no decoder has
a say: the photos decoded, resized and preprocessed once, by TensorFlow, and the same floats handed to both sides, with
random weights that this Keras writes as .h5; outputs before the softmax by name and by topology, and one step of SGD on
all layers, judged as in keras_weights.py. Exit 1 if anything fails.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from keras_weights import RATE, Check, in_double, nan_as_infinite, randomize, relative, run, write_idx  # sets TensorFlow's log level first

import keras
import numpy as np
import tensorflow as tf

SIDE = 224
MODULES = {"VGG16": "vgg16", "VGG19": "vgg19", "ResNet50": "resnet50", "MobileNet": "mobilenet", "MobileNetV2": "mobilenet_v2",
           "Xception": "xception", "DenseNet121": "densenet", "InceptionV3": "inception_v3"}
PIXELS = {"caffe": 1.0, "tf": 127.5}  # of 0..255 in one unit of what the mode makes


def preprocess(name, pixels):
    return np.asarray(getattr(keras.applications, MODULES[name]).preprocess_input(np.array(pixels)), np.float32)


def decode(path, **options):
    return tf.io.decode_jpeg(tf.io.read_file(str(path)), channels=3, **options).numpy()


def resize(image):
    return tf.image.resize(image, (SIDE, SIDE), method="bilinear", antialias=False).numpy()


class Identity:
    """dptrain's own pixels: a network that only copies, written by Keras and run by `dptrain predict` on the files."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, paths, height, width, transforms):
        model_file = self.folder / f"identity-{height}x{width}.h5"
        if not model_file.exists():
            image = keras.Input((height, width, 3))
            copy = keras.layers.Conv2D(3, 1, use_bias=False, name="copy")
            model = keras.Model(image, keras.layers.Flatten()(copy(image)))
            copy.set_weights([np.eye(3, dtype=np.float32).reshape(1, 1, 3, 3)])  # a value and two zeros: exact
            model.save(model_file)
        settings = {"dptrain": 1, "name": "pixels", "model": {"from_keras": str(model_file), "weights": str(model_file)},
                    "data": {"transforms": transforms}}
        config_file = self.folder / "pixels.yaml"
        config_file.write_text(json.dumps(settings))
        command = [self.program, "predict", config_file, "--cpus", "1"]
        for path in paths:
            command += ["--input", path]
        rows = [line.rsplit(",", height * width * 3)[1:] for line in run(command).splitlines()[1:]]
        return np.array(rows, dtype=np.float32).reshape(len(paths), height, width, 3)


class Difference:
    """Mean and largest absolute difference over images of several sizes."""

    def __init__(self):
        self.sum, self.count, self.worst = 0.0, 0, 0.0

    def add(self, a, b):
        distance = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
        self.sum, self.count = self.sum + distance.sum(), self.count + distance.size
        self.worst = max(self.worst, nan_as_infinite(distance.max()))

    def __str__(self):
        return f"mean {self.sum / self.count:.3g}, at most {self.worst:.3g}"


def compare_pixels(check, photos):
    """Each side from the files on its own."""
    pixels = Identity(check.arguments.dptrain, check.folder)
    alike = {"INTEGER_ACCURATE": {"dct_method": "INTEGER_ACCURATE"}, "the default": {}, "INTEGER_FAST": {"dct_method": "INTEGER_FAST"}}
    images = {what: [decode(path, **options) for path in photos] for what, options in alike.items()}
    images["of decode_image"] = [tf.io.decode_image(tf.io.read_file(str(path)), channels=3).numpy() for path in photos]
    sizes = sorted({image.shape[:2] for image in images["the default"]})
    print(f"pixels, 0..255: {len(photos)} photos of {len(sizes)} sizes, {sizes[0]} to {sizes[-1]}")
    differences = {what: Difference() for what in images}
    for size in sizes:
        same = [i for i, image in enumerate(images["the default"]) if image.shape[:2] == size]
        ours = pixels([photos[i] for i in same], *size, [])
        for what, decoded in images.items():
            for k, i in enumerate(same):
                differences[what].add(ours[k], decoded[i])
    for what, difference in differences.items():
        print(f"  decoded, against TensorFlow's dct_method {what}: {difference}")
    check.say("decoded alike, at most", differences["INTEGER_ACCURATE"].worst, 0)

    ours = pixels(photos, SIDE, SIDE, [{"Resizing": {"height": SIDE, "width": SIDE}}])
    layer = keras.layers.Resizing(SIDE, SIDE)
    for what in ("INTEGER_ACCURATE", "the default"):
        theirs = {"tf.image.resize": np.stack([resize(image) for image in images[what]]),
                  "keras Resizing": np.stack([np.asarray(layer(image.astype(np.float32))) for image in images[what]])}
        for who, resized in theirs.items():
            difference = Difference()
            difference.add(ours, resized)
            print(f"  resized, against {who}, dct_method {what}: {difference}")
            if what == "INTEGER_ACCURATE":
                check.say("decoded alike and resized, at most", difference.worst, check.arguments.pixel_tolerance)
        for mode, network in (("caffe", "VGG16"), ("tf", "Xception")):
            made = pixels(photos, SIDE, SIDE, [{"Resizing": {"height": SIDE, "width": SIDE}}, {"PreprocessInput": mode}])
            difference = Difference()
            difference.add(PIXELS[mode] * made.astype(np.float64),
                           PIXELS[mode] * preprocess(network, theirs["tf.image.resize"]).astype(np.float64))
            print(f"  preprocessed ({mode}), dct_method {what}: {difference}")
            if what == "INTEGER_ACCURATE":
                check.say(f"decoded alike and preprocessed ({mode}), at most", difference.worst, check.arguments.pixel_tolerance)


def compare_network(check, name, images, labels):
    """Both sides from the same floats."""
    inputs = preprocess(name, images)
    classes = int(labels.max()) + 1
    write_idx(check.folder / "x.idx", inputs)
    write_idx(check.folder / "y.idx", labels)
    keras.utils.set_random_seed(3)
    model = getattr(keras.applications, name)(weights=None, input_shape=(SIDE, SIDE, 3), classes=classes,
                                              classifier_activation=None)
    randomize(model, inputs, 11)
    last = model.layers[-1]  # outputs of about 1: a softmax that has gone to 0 and 1 would hide what the step makes of them
    size = model.predict(inputs, verbose=0).std()
    last.set_weights([last.get_weights()[0] / size, *last.get_weights()[1:]])
    expected = model.predict(inputs, verbose=0)
    print(f"{name}: {SIDE}x{SIDE}, {len(model.layers)} layers, {model.count_params():,} parameters", flush=True)
    spread = relative(expected, np.broadcast_to(expected.mean(axis=0), expected.shape))
    print(f"  outputs differ between photos by {spread:.3g} of their size")
    if not spread > 0.01:
        check.good = False
        print("  they hardly depend on the photo  FAILED")
    files = {".h5": check.folder / f"{name}.h5"}
    model.save(files[".h5"])
    unbiased = keras.__version__.startswith("2.")
    bundled = {"layers": [{"Input": [SIDE, SIDE, 3]},
                          {name: {"include_top": True, "classes": classes, "classifier_activation": "linear"}}]}
    check.forms(name, bundled, files, expected, unbiased, "bundled")
    exact = in_double(model)
    exact.load_weights(files[".h5"])
    judge = exact.predict(inputs.astype(np.float64), verbose=0)
    print(f"  Keras against its own outputs in double: {relative(expected, judge):.3g}", flush=True)
    if check.arguments.step:
        check.step(model, bundled, files, inputs, labels, unbiased)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dptrain", required=True)
    parser.add_argument("--photos", required=True, help="folder of class folders of JPEGs")
    parser.add_argument("--each", type=int, default=4, help="photos of a class (4)")
    parser.add_argument("--networks", default="VGG16,ResNet50,MobileNetV2,Xception")
    parser.add_argument("--no-pixels", dest="pixels", action="store_false", help="networks only")
    parser.add_argument("--no-step", dest="step", action="store_false", help="outputs only")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of outputs, |a - b| / |b|")
    parser.add_argument("--step-tolerance", type=float, default=1e-4)
    parser.add_argument("--pixel-tolerance", type=float, default=2e-4, help="of resized pixels in 0..255")
    parser.add_argument("--keep", help="folder for the files (a temporary one)")
    arguments = parser.parse_args()
    arguments.dptrain = str(pathlib.Path(arguments.dptrain).resolve())
    classes = sorted(path for path in pathlib.Path(arguments.photos).resolve().iterdir() if path.is_dir())
    taken = [(path, k) for k, folder in enumerate(classes) for path in sorted(folder.glob("*.jpg"))[:arguments.each]]
    photos, labels = [path for path, _ in taken], np.array([k for _, k in taken], np.uint8)
    sys.stdout.reconfigure(line_buffering=True)  # minutes pass between lines
    print(f"Keras {keras.__version__}, TensorFlow {tf.__version__}, SGD at {RATE}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(arguments, folder)
        if arguments.pixels:
            compare_pixels(check, photos)
        images = np.stack([resize(decode(path)) for path in photos])
        for name in filter(None, arguments.networks.split(",")):
            keras.backend.clear_session()
            compare_network(check, name, images, labels)
    return 0 if check.good else 1


if __name__ == "__main__":
    sys.exit(main())
