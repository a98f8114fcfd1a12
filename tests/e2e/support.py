#!/usr/bin/env python3
"""What the end-to-end tests need beyond the shell: data files, and judgements about JSON files.

    support.py idx FOLDER --train N --test N --side S    IDX files that a small network can learn, the same everywhere
    support.py photos FOLDER --count N                   class folders light/ and dark/ of N small gray JPEGs each
    support.py photo FILE WIDTH HEIGHT LEVEL [ORIENTATION]   one such JPEG, with EXIF if it has an orientation
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


def huffman_table(kind, counts, symbols):
    return marker(0xC4, bytes([kind, *counts, *symbols]))


def marker(code, body):
    return struct.pack(">BBH", 0xFF, code, len(body) + 2) + body


DC_CODES = ["00", "010", "011", "100", "101", "110", "1110", "11110"]  # of the number of bits of a difference
END_OF_BLOCK = "0000"


def gray_jpeg(width, height, level, orientation):
    """A baseline JPEG of one gray: the first block says which, all others that nothing changes."""
    dc = level - 128
    size = abs(dc).bit_length()
    bits = DC_CODES[size] + (format(dc if dc > 0 else dc + (1 << size) - 1, f"0{size}b") if size else "") + END_OF_BLOCK
    bits += (DC_CODES[0] + END_OF_BLOCK) * ((width + 7) // 8 * ((height + 7) // 8) - 1)
    bits += "1" * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00")
    exif = b""
    if orientation:
        exif = marker(0xE1, b"Exif\0\0" + struct.pack("<2sHIHHHIHH", b"II", 42, 8, 1, 0x0112, 3, 1, orientation, 0) + bytes(4))
    return (b"\xff\xd8" + exif + marker(0xDB, bytes([0]) + bytes([8] * 64))
            + marker(0xC0, struct.pack(">BHHBBBB", 8, height, width, 1, 1, 0x11, 0))
            + huffman_table(0x00, [0, 1, 5, 1, 1] + [0] * 11, range(8))
            + huffman_table(0x10, [0, 0, 0, 1] + [0] * 12, [0])
            + marker(0xDA, bytes([1, 1, 0, 0, 63, 0])) + data + b"\xff\xd9")


def make_photos(folder, count):
    """Dark ones of 20 to 80, light ones of 160 to 240; no two of a class are alike."""
    for name, first, step in (("dark", 20, 60), ("light", 160, 80)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            level = first + step * i // count
            (folder / name / f"{i:03}.jpg").write_bytes(gray_jpeg(16 + i % 5, 16 + i % 3, level, 0))


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
    photos = actions.add_parser("photos")
    photos.add_argument("folder", type=pathlib.Path)
    photos.add_argument("--count", type=int, required=True)
    photo = actions.add_parser("photo")
    photo.add_argument("file", type=pathlib.Path)
    for name in ("width", "height", "level"):
        photo.add_argument(name, type=int)
    photo.add_argument("orientation", type=int, nargs="?", default=0)
    for name in ("json", "jsonl"):
        action = actions.add_parser(name)
        action.add_argument("file", type=pathlib.Path)
        action.add_argument("expressions", nargs="+")
    actions.add_parser("xml").add_argument("file", type=pathlib.Path)
    arguments = parser.parse_args()

    if arguments.action == "idx":
        make_idx(arguments.folder, arguments.train, arguments.test, arguments.side)
        return 0
    if arguments.action == "photos":
        make_photos(arguments.folder, arguments.count)
        return 0
    if arguments.action == "photo":
        arguments.file.write_bytes(gray_jpeg(arguments.width, arguments.height, arguments.level, arguments.orientation))
        return 0
    text = arguments.file.read_text(encoding="utf-8")
    if arguments.action == "xml":
        xml.etree.ElementTree.fromstring(text)
        return 0
    content = [json.loads(line) for line in text.splitlines()] if arguments.action == "jsonl" else json.loads(text)
    return judge(content, arguments.expressions, arguments.file)


if __name__ == "__main__":
    sys.exit(main())
