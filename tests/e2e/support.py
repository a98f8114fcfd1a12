#!/usr/bin/env python3
"""Helpers of the end-to-end tests: make data files, check JSON files.

    support.py idx FOLDER TRAIN TEST SIDE     IDX files that a small network can learn, the same everywhere
    support.py series FILE STEPS [WINDOW]     a .npy file [STEPS, 3], hourly: a value, and sine and cosine of the time of day;
                                              with WINDOW [STEPS / WINDOW, WINDOW, 3]
    support.py photos FOLDER COUNT            class folders light/ and dark/ of COUNT small gray JPEGs each
    support.py photo FILE WIDTH HEIGHT LEVEL [ORIENTATION]   one such JPEG, with EXIF if it has an orientation
    support.py flip FILE OFFSET               turns the bits of one byte
    support.py json FILE EXPRESSION...        each a Python expression over `j`, the file's content; all must hold
    support.py jsonl FILE EXPRESSION...       the same over a list of the file's lines
    support.py xml FILE                       the file is well-formed XML

Some tests start this ten times, so what takes long to import is imported where it is needed.
"""

import math
import os
import struct
import sys


def images_of(count, side, seed):
    """Gratings of ten directions and eight phases, with noise."""
    import random
    generator = random.Random(seed)
    noise = bytes(60 * i // 256 for i in range(256))
    images, labels, gratings = [], bytearray(), {}
    for _ in range(count):
        label, phase = generator.randrange(10), generator.randrange(8)
        if (label, phase) not in gratings:
            across, down, start = math.cos(math.pi * label / 10), math.sin(math.pi * label / 10), math.pi * phase / 4
            gratings[label, phase] = [int(98 + 90 * math.sin(1.3 * (x * across + y * down) + start))
                                      for y in range(side) for x in range(side)]
        drawn = generator.getrandbits(8 * side * side).to_bytes(side * side, "little").translate(noise)
        images.append(bytes(map(int.__add__, gratings[label, phase], drawn)))
        labels.append(label)
    return b"".join(images), labels


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_idx(path, extents, data):
    write(path, struct.pack(">BBBB", 0, 0, 8, len(extents)) + struct.pack(f">{len(extents)}I", *extents) + data)


def make_idx(folder, train, test, side):
    os.makedirs(folder, exist_ok=True)
    for prefix, count, seed in (("train", train, 1), ("t10k", test, 2)):
        images, labels = images_of(count, side, seed)
        write_idx(f"{folder}/{prefix}-images-idx3-ubyte", (count, side, side), images)
        write_idx(f"{folder}/{prefix}-labels-idx1-ubyte", (count,), labels)


def write_npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    write(path, b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + data)


def make_series(path, steps, window=0):
    """Days and weeks around 20, and noise."""
    import random
    generator = random.Random(3)
    rows = []
    for t in range(steps):
        day = 2 * math.pi * t / 24
        rows += [20 + 6 * math.sin(day) + 3 * math.sin(day / 7) + generator.gauss(0, 0.7), math.sin(day), math.cos(day)]
    shape = (steps // window, window, 3) if window else (steps, 3)
    write_npy(path, "<f4", shape, struct.pack(f"<{len(rows)}f", *rows))


def huffman_table(kind, counts, symbols):
    return marker(0xC4, bytes([kind, *counts, *symbols]))


def marker(code, body):
    return struct.pack(">BBH", 0xFF, code, len(body) + 2) + body


DC_CODES = ["00", "010", "011", "100", "101", "110", "1110", "11110"]  # of the number of bits of a difference
END_OF_BLOCK = "0000"


def gray_jpeg(width, height, level, orientation=0):
    """A baseline JPEG of one gray: the first block encodes the level, all others encode no change."""
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
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        for i in range(count):
            write(f"{folder}/{name}/{i:03}.jpg", gray_jpeg(16 + i % 5, 16 + i % 3, first + step * i // count))


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0xFF]))


def judge(content, expressions, name):
    good = True
    for expression in expressions:
        try:
            held = eval(expression, {"math": math}, {"j": content})  # the expressions are part of the test
        except Exception as error:  # a missing key is a failure like any other
            held, expression = False, f"{expression} ({type(error).__name__}: {error})"
        if not held:
            print(f"{name}: does not hold: {expression}")
            good = False
    return good


def judge_json(action, path, expressions):
    import json
    assert expressions, "what is to hold?"
    with open(path, encoding="utf-8") as file:
        content = json.load(file) if action == "json" else [json.loads(line) for line in file]
    return judge(content, expressions, path)


def parse_xml(path):
    import xml.etree.ElementTree
    xml.etree.ElementTree.parse(path)


def main():
    action, path, *words = sys.argv[1:]
    if action in ("json", "jsonl"):
        return 0 if judge_json(action, path, words) else 1
    makers = {"idx": make_idx, "series": make_series, "photos": make_photos, "photo": lambda path, *numbers: write(path, gray_jpeg(*numbers)),
              "flip": flip, "xml": parse_xml}
    makers[action](path, *map(int, words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
