#!/usr/bin/env bash
# Pictures and masks: training, data scan, stats and preview, masks of colors, a column of a table, files that do not fit.
# Sanitized: reads masks of every kind.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"

# pictures FOLDER COUNT: light squares on dark ground, masks/ with class 1 in the squares and 255 in the last row, and
# colors/ with the same masks in colors.
pictures() {
  python3 - "$@" <<'PY'
import os, random, struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def write_png(path, width, height, color_type, rows, palette=b""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0))
                   + (chunk(b"PLTE", palette) if palette else b"")
                   + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))) + chunk(b"IEND", b""))
folder, count = sys.argv[1], int(sys.argv[2])
draw = random.Random(5)
colors = {0: (10, 20, 30), 1: (200, 100, 50), 255: (0, 0, 0)}
for i in range(count):
    top, left = draw.randrange(8), draw.randrange(8)
    inside = [[4 + top <= y + 4 < 10 + top and left <= x < left + 6 for x in range(16)] for y in range(16)]
    mask = [[255 if y == 15 else int(inside[y][x]) for x in range(16)] for y in range(16)]
    part = "a/" if i % 2 else ""
    write_png(f"{folder}/images/{part}{i}.png", 16, 16, 2, [[200 if v else 40 for v in row for _ in range(3)] for row in inside])
    write_png(f"{folder}/masks/{part}{i}.png", 16, 16, 3, mask, bytes(768))
    write_png(f"{folder}/colors/{part}{i}.png", 16, 16, 2, [[c for v in row for c in colors[v]] for row in mask])
PY
}

pictures street 12
mkdir raw && cp -r street/images street/masks raw
config() {  # config NAME DATA_SET
  cat >"$1.yaml" <<YAML
dptrain: 1
name: $1
seed: 3
model:
  layers:
    - Input: {shape: [16, 16, 3]}
    - Conv2D: {filters: 4, kernel_size: 3, padding: same, activation: relu}
    - Conv2D: {filters: 2, kernel_size: 1, activation: softmax}
data:
  train: {$2}
  validation: {Split: 0.25}
  transforms:
    train: [RandomFlip: horizontal, Rescaling: 1/255]
    eval: [Rescaling: 1/255]
train: {epochs: 6, batch_size: 3, optimizer: {Adam: 0.03}, loss: sparse_categorical_crossentropy, class_weight: balanced}
YAML
}
config masks "ImageMasks: {images: street/images, masks: street/masks, class_names: [ground, square], ignore_class: 255}"
config colors "ImageMasks: {images: street/images, masks: street/colors, ignore_class: 255, ignore_colors: '#000000', classes: {ground: '#0A141E', square: '#C86432'}}"

say "scan and stats, of a folder and of a config"
run 0 data scan raw
says "raw: 12 samples"
says "damaged  0"
run 0 data stats raw
says "raw: 12 masks, 3,072 pixels"
says "class   1"
says "class 255"
run 0 data stats colors.yaml
says "class   0 ground"
says "class   1 square"
says "class 255"

say "masks in a preview follow flips"
run 0 data preview masks.yaml --samples 3 --epochs 4 -o preview.svg
python3 "$support" xml preview.svg || fail "preview.svg is not well-formed"
for word in ground square ignored; do grep -q ">$word</text>" preview.svg || fail "no legend of $word"; done
# Light pixels are squares, dark ones are ground: a mask that does not follow would mix red with dark pixels.
python3 - <<'PY' || fail "the colors of masks are not at their pixels"
import base64, re, struct, zlib
def pixels(png):
    width, height = struct.unpack(">II", png[16:24])
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    data, above, rows = zlib.decompress(data), bytes(3 * width), []
    for y in range(height):
        kind, *line = data[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        for i in range(3 * width):
            a, b, c = line[i - 3] if i > 2 else 0, above[i], above[i - 3] if i > 2 else 0
            paeth = min((a, b, c), key=lambda v: abs(a + b - c - v))
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth)[kind]) % 256
        above = line
        rows.append([tuple(line[i:i + 3]) for i in range(0, 3 * width, 3)])
    return rows
images = [pixels(base64.b64decode(b)) for b in re.findall(r'base64,([^"]+)', open("preview.svg").read())]
found = {pixel for rows in images for row in rows[:-1] for pixel in row}
raise SystemExit(len(images) != 12 or found != {(164, 100, 100), (20, 20, 20)} or len({str(i) for i in images}) < 4)
PY

say "masks and colors train alike; predict reads pictures"
run 0 fit masks.yaml --run-dir by_index --cpus 1
run 0 fit colors.yaml --run-dir by_color --cpus 1
[ "$(grep -o '<image' by_index/worst.svg | wc -l)" -eq 9 ] || fail "worst.svg of 3 samples: picture, label, answer"
python3 "$support" json by_index/eval.json 'j["map"] == [16, 16]' 'j["worst"][0]["positions"] == 240' || fail "eval.json of maps"
grep -q 'class="cards maps"' by_index/report.html || fail "report.html lacks the maps"
losses() { cut -d, -f1,2 "$1/train.csv"; }
[ "$(losses by_index)" = "$(losses by_color)" ] || fail "$(losses by_index; losses by_color)"

say "a column of masks"
{ echo photo,mask; for i in 0 2 4 6; do echo "street/images/$i.png,street/masks/$i.png"; done; } >t.csv
config table "CSV: {file: t.csv, labels: mask, inputs: photo, columns: {photo: Image, mask: Mask}, ignore_class: 255}"
run 0 fit table.yaml --run-dir table --cpus 1
run 0 data stats table.yaml
says "3 masks, 768 pixels"

say "files without a partner"
rm street/masks/2.png && cp street/masks/4.png street/masks/other.png
run 3 fit masks.yaml --run-dir missing --cpus 1
says "images: 1 of 12 pictures have no mask below"
says "street/images/2.png"
says "masks: 1 of 12 masks have no picture below"
says "street/masks/other.png"

say "masks that cannot be read or have another size"
mv street/masks/other.png street/masks/2.png
cp "$DPTRAIN_SOURCE/tests/fuzz/corpus/image/mask_interlaced.png" raw && tail -c +2 raw/mask_interlaced.png >street/masks/2.png
rm raw/mask_interlaced.png
truncate -s 80 street/masks/4.png
run 3 data scan masks.yaml
says "street/masks/2.png: the mask has 1 x 1 pixels, its picture 16 x 16; expected equal sizes"
says "street/masks/4.png: byte 80: truncated"
