#!/usr/bin/env python3
"""What the end-to-end tests need beyond the shell: data files, and judgements about JSON files.

    support.py idx FOLDER --train N --test N --side S    IDX files that a small network can learn, the same everywhere
    support.py json FILE EXPRESSION...                   each a Python expression over `j`, the file's content; all must hold
    support.py jsonl FILE EXPRESSION...                  the same over a list of the file's lines
    support.py xml FILE                                  the file is well-formed XML
"""

import argparse
import json
import math
import pathlib
import random
import struct
import sys
import xml.etree.ElementTree


def images_of(count, side, seed):
    """Gratings of ten directions with noise."""
    generator = random.Random(seed)
    images, labels = bytearray(), bytearray()
    for _ in range(count):
        label = generator.randrange(10)
        angle, phase = math.pi * label / 10, 2 * math.pi * generator.random()
        for y in range(side):
            for x in range(side):
                wave = math.sin(1.3 * (x * math.cos(angle) + y * math.sin(angle)) + phase)
                images.append(min(255, max(0, int(128 + 90 * wave + 60 * (generator.random() - 0.5)))))
        labels.append(label)
    return images, labels


def write_idx(path, extents, data):
    head = struct.pack(">BBBB", 0, 0, 8, len(extents)) + b"".join(struct.pack(">I", e) for e in extents)
    path.write_bytes(head + bytes(data))


def make_idx(folder, train, test, side):
    folder.mkdir(parents=True, exist_ok=True)
    for prefix, count, seed in (("train", train, 1), ("t10k", test, 2)):
        images, labels = images_of(count, side, seed)
        write_idx(folder / f"{prefix}-images-idx3-ubyte", (count, side, side), images)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte", (count,), labels)


def judge(content, expressions, name):
    good = True
    for expression in expressions:
        try:
            held = eval(expression, {"math": math}, {"j": content})  # the test's own words, no one else's
        except Exception as error:  # a missing key is a failure like any other
            held, expression = False, f"{expression} ({type(error).__name__}: {error})"
        if not held:
            print(f"{name}: does not hold: {expression}")
            good = False
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    idx = actions.add_parser("idx")
    idx.add_argument("folder", type=pathlib.Path)
    for name in ("--train", "--test", "--side"):
        idx.add_argument(name, type=int, required=True)
    for name in ("json", "jsonl"):
        action = actions.add_parser(name)
        action.add_argument("file", type=pathlib.Path)
        action.add_argument("expressions", nargs="+")
    actions.add_parser("xml").add_argument("file", type=pathlib.Path)
    arguments = parser.parse_args()

    if arguments.action == "idx":
        make_idx(arguments.folder, arguments.train, arguments.test, arguments.side)
        return 0
    text = arguments.file.read_text(encoding="utf-8")
    if arguments.action == "xml":
        xml.etree.ElementTree.fromstring(text)
        return 0
    content = [json.loads(line) for line in text.splitlines()] if arguments.action == "jsonl" else json.loads(text)
    return judge(content, arguments.expressions, arguments.file)


if __name__ == "__main__":
    sys.exit(main())
