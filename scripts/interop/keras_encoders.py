#!/usr/bin/env python3
"""What Keras's preprocessing layers give: tests/golden/encoders.json, or a large file of lines in six languages.

    scripts/interop/keras_encoders.py tests/golden/encoders.json
    scripts/interop/keras_encoders.py --lines 10000 /tmp/lines.json
    scripts/interop/keras_encoders.py --texts natural.txt /tmp/lines.json     # the lines of a file
    DPTRAIN_GOLDEN_ENCODERS=/tmp/lines.json build/release/tests/dptrain_test_data --gtest_filter='GoldenEncoders.*'

Needs tensorflow and keras 3.
"""
import argparse
import json
import os
import random

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Alphabets whose words are drawn: Latin, Latin with marks, Greek, Cyrillic, Arabic, Devanagari with its marks, Chinese.
ALPHABETS = {
    "en": "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "de": "abcdefghijklmnopqrstuvwxyzäöüßÄÖÜẞé",
    "el": "".join(map(chr, range(0x3B1, 0x3CA))) + "ΆΈΔΣΩ",
    "ru": "".join(map(chr, range(0x430, 0x450))) + "ЁЖЯё",
    "ar": "".join(map(chr, range(0x627, 0x64B))) + "\u064e\u0651",
    "hi": "".join(map(chr, range(0x905, 0x93A))) + "\u093e\u0940\u094d\u0902",
    "zh": "".join(map(chr, range(0x4E00, 0x4E80))),
}
ENDS = ["", "", "", "", ",", ".", "!", "?", "'s", ";", "\u3002", "\uff0c", "\u2019", "\u060c", "-", "_x"]
GAPS = [" ", " ", " ", " ", "  ", "\t", " \n", "\r\n", "\u00a0", "\u3000", "\u2003", "\v", "\f"]


def lines_of(count, seed=7):
    draw = random.Random(seed)
    words = {name: ["".join(draw.choices(letters, k=draw.randint(1, 9 if name != "zh" else 3))) for _ in range(2000)]
             for name, letters in ALPHABETS.items()}
    lines = []
    for k in range(count):
        name = draw.choice(list(ALPHABETS))
        line = ""
        for _ in range(draw.randint(0, 14)):
            other = name if draw.random() < 0.9 else draw.choice(list(ALPHABETS))
            line += words[other][min(int(draw.paretovariate(0.6)) - 1, 1999)] + draw.choice(ENDS) + draw.choice(GAPS)
        lines.append(line)
    return lines


TEXTS = ["The cat sat on the mat.", "the dog, the Cat & the end!", "a b c a b a", "", "  \t ", "don't e-mail x_y",
     "Ünï ÜNÏ ünï", "\u4f60\u597d \u4f60\u597d\u3002 \u0645\u0631\u062d\u0628\u0627", "A\u00a0b\u3000c", "[UNK] [UNK] unk !!! ?",
     "supercalifragilisticexpialidocious supercalifragilisticexpialidociously"] + lines_of(12, 3)
TAUGHT = len(TEXTS)
TEXTS += ["never seen words", "the the the cat", "supercalifragilisticexpialidocious", "x " * 30]


def values(outputs):
    return [[round(value, 7) if value % 1 else int(value) for value in row] for row in outputs.numpy().tolist()]


def text_case(keras, arguments, adapt, inputs):
    made = {k: tuple(v) if k == "ngrams" and isinstance(v, list) else None if v == "none" else v for k, v in arguments.items()}
    layer = keras.layers.TextVectorization(**made)
    if "vocabulary" not in arguments:
        layer.adapt(adapt)
    return {"layer": "TextVectorization", "arguments": arguments, "adapt": len(adapt),
            "vocabulary": layer.get_vocabulary(include_special_tokens=False),
            "outputs": values(layer([[text] for text in inputs]))}


def text_cases(keras, inputs):
    """Texts to learn from are the first of `inputs`."""
    adapt = inputs[:TAUGHT]
    cases = [{}, {"max_tokens": 12}, {"standardize": "lower"}, {"standardize": "strip_punctuation"}, {"standardize": "none"},
             {"split": "character"}, {"split": "character", "standardize": "none", "ngrams": 2}, {"split": "none"},
             {"ngrams": 2}, {"ngrams": [2]}, {"ngrams": [1, 3], "max_tokens": 60}, {"vocabulary": ["cat", "the", "dog"]},
             {"vocabulary": ["", "[UNK]", "cat", "the"]}]
    for case in cases:
        yield text_case(keras, {**case, "output_sequence_length": 7}, adapt, inputs)
    for mode in ("multi_hot", "count", "tf_idf"):
        yield text_case(keras, {"output_mode": mode, "max_tokens": 20}, adapt, inputs)
        yield text_case(keras, {"output_mode": mode, "ngrams": 2, "max_tokens": 30}, adapt, inputs)
        yield text_case(keras, {"output_mode": mode, "split": "none", "max_tokens": 9}, adapt, inputs)
        yield text_case(keras, {"output_mode": mode, "max_tokens": 15, "pad_to_max_tokens": True}, adapt[:2], inputs)
    yield text_case(keras, {"output_mode": "tf_idf", "vocabulary": ["cat", "the"], "idf_weights": [0.5, 2.0]}, adapt, inputs)
    yield text_case(keras, {"output_mode": "tf_idf", "vocabulary": ["cat", "the"], "idf_weights": [0.5, 2.0], "max_tokens": 5,
                            "pad_to_max_tokens": True}, adapt, inputs)
    yield text_case(keras, {"output_mode": "count", "vocabulary": ["[UNK]", "cat", "the"]}, adapt, inputs)


def lookup_case(layer, arguments, learned, words):
    """Of words as a column of a table has them: text."""
    return {"layer": type(layer).__name__, "arguments": arguments, "column": list(map(str, learned)), "inputs": list(map(str, words)),
            "vocabulary": [] if learned == [] else [w if isinstance(w, str) else int(w) for w in
                                                    layer.get_vocabulary(include_special_tokens=False)],
            "ids": np.asarray(layer(np.array(words))).tolist()}


def word_cases(keras):
    words = ["b", "a", "c", "a", "", "ünï", "[UNK]", "[UNK]", "[UNK]", "b", "x y", "long words of more than thirty-two bytes, twice: " * 2]
    asked = words + ["never", "seen", "z" * 17, "\u4f60\u597d"]
    for arguments in ({}, {"num_oov_indices": 3}, {"num_oov_indices": 1000, "max_tokens": 1003}):
        layer = keras.layers.StringLookup(**arguments)
        layer.adapt(words)
        yield lookup_case(layer, arguments, words, asked)
    for arguments in ({"num_bins": 7}, {"num_bins": 1000003}, {"num_bins": 1000, "salt": 133}, {"num_bins": 1000, "salt": [5, -9]}):
        yield lookup_case(keras.layers.Hashing(**arguments), arguments, [], asked + ["s" * k for k in range(0, 70, 7)])
    numbers = [5, 3, 3, -7, 5, -1, -1, -1, 1234567890123, 0, 8, 9]
    for arguments in ({}, {"num_oov_indices": 4}, {"max_tokens": 4}, {"num_oov_indices": 2, "vocabulary": [8, -3]}):
        layer = keras.layers.IntegerLookup(**arguments)
        if "vocabulary" not in arguments:
            layer.adapt(np.array(numbers))
        yield lookup_case(layer, arguments, numbers, numbers + [77, -5, -6, 1, 2, 4])


def number_case(layer, arguments, column, inputs, **more):
    return {"layer": type(layer).__name__, "arguments": arguments, "column": column, "inputs": inputs,
            "outputs": np.asarray(layer(np.array(inputs, "float32")), "float64").tolist(), **more}


def number_cases(keras):
    draw = np.random.default_rng(5)
    few = [3.0, -1.5, 8.0, 0.0, 2.25, 2.25, 100.0]
    many = [round(float(v), 3) for v in draw.lognormal(0, 2, 777)]
    asked = few + many[:40] + [-1e30, 1e30]
    for column, arguments in ((few, {"num_bins": 3}), (many, {"num_bins": 5}), (many, {"num_bins": 17, "epsilon": 0.002}),
                              (many, {"num_bins": 4, "epsilon": 0.3}), (few, {"num_bins": 40}), (few, {"bin_boundaries": [-1.5, 0, 2.25]})):
        layer = keras.layers.Discretization(**arguments)
        if "num_bins" in arguments:
            layer.adapt(np.array(column))
        yield number_case(layer, arguments, column, asked, bin_boundaries=layer.bin_boundaries)
    yield number_case(keras.layers.Rescaling(scale=1 / 255, offset=-0.5), {"scale": 1 / 255, "offset": -0.5}, few, asked[:47])
    layer = keras.layers.CategoryEncoding(num_tokens=4, output_mode="one_hot")
    yield number_case(layer, {"num_tokens": 4}, few, [0, 3, 2, 2, 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--lines", type=int, help="one case of so many lines, in place of the small ones")
    parser.add_argument("--texts", help="the same of the lines of a file")
    args = parser.parse_args()
    import keras
    if args.lines or args.texts:
        lines = open(args.texts, encoding="utf-8").read().split("\n") if args.texts else lines_of(args.lines)
        texts = lines
        cases = [text_case(keras, {"max_tokens": 5000, "output_sequence_length": 12}, lines, lines),
                 text_case(keras, {"output_sequence_length": 12, "ngrams": 2}, lines, lines)]
    else:
        texts = TEXTS
        cases = [*text_cases(keras, texts), *word_cases(keras), *number_cases(keras)]
    with open(args.file, "w", encoding="utf-8") as file:
        line = lambda value: json.dumps(value, separators=(",", ":"))
        file.write('{"texts": ' + line(texts) + ',\n"cases": [\n' + ",\n".join(map(line, cases)) + "\n]}\n")


if __name__ == "__main__":
    main()
