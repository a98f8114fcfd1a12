"""U-Net on MobileNetV2 in PyTorch, with the data, network, initial distributions and augmentation of segmentation.yaml.

    segmentation.py data FLOWERS FASHION OUT      makes OUT/{train,val}/{images,masks}
    segmentation.py torch OUT --seed 0            trains 10 epochs and prints the accuracy and mean IoU of OUT/val
    dptrain fit segmentation.yaml --set 'vars.data=OUT' --seed 0

FLOWERS has train and val with a folder of photos per class, FASHION the four files of Fashion-MNIST. Each picture is a
photo of 128 x 128 pixels with two to five garments, whose classes are 1 to 10. Their borders, 3 % of the pixels, are 255.
Requires numpy and Pillow, for `torch` also PyTorch.
"""

import argparse
import gzip
import math
import pathlib

import numpy as np
from PIL import Image

SIZE, CLASSES, IGNORED, PADDING = 128, 11, 255, 8


def idx(path):
    data = gzip.open(path).read() if str(path).endswith(".gz") else open(path, "rb").read()
    extents = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(extents)).reshape(extents)


def find(folder, stem):
    return next(p for p in sorted(pathlib.Path(folder).iterdir()) if p.name.startswith(stem))


def photo(path):
    image = Image.open(path).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return np.asarray(image.crop((left, top, left + side, top + side)).resize((SIZE, SIZE), Image.BILINEAR)).copy()


def paste(image, mask, garment, label, rng):
    size = int(rng.integers(28, 64))
    scaled = np.asarray(Image.fromarray(garment).resize((size, size), Image.BILINEAR))
    top, left = (int(v) for v in rng.integers(-size // 4, SIZE - 3 * size // 4, 2))
    rows = slice(max(top, 0), min(top + size, SIZE))
    columns = slice(max(left, 0), min(left + size, SIZE))
    part = scaled[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
    inside = part > 40
    color = rng.uniform(0.4, 1.0, 3)
    image[rows, columns][inside] = (part[inside][:, None] * color).astype(np.uint8)
    mask[rows, columns][inside] = label
    edge = inside.copy()
    edge[1:-1, 1:-1] &= ~(inside[:-2, 1:-1] & inside[2:, 1:-1] & inside[1:-1, :-2] & inside[1:-1, 2:])
    mask[rows, columns][edge] = IGNORED


def make_data(args):
    rng = np.random.default_rng(0)
    for part, prefix in (("train", "train"), ("val", "t10k")):
        garments, labels = (idx(find(args.fashion, f"{prefix}-{kind}")) for kind in ("images", "labels"))
        out = pathlib.Path(args.out) / part
        for folder in ("images", "masks"):
            (out / folder).mkdir(parents=True, exist_ok=True)
        ignored = []
        for number, path in enumerate(sorted((pathlib.Path(args.flowers) / part).glob("*/*.jpg"))):
            image, mask = photo(path), np.zeros((SIZE, SIZE), np.uint8)
            for _ in range(int(rng.integers(2, 6))):
                which = int(rng.integers(len(labels)))
                paste(image, mask, garments[which], labels[which] + 1, rng)
            ignored.append(np.mean(mask == IGNORED))
            Image.fromarray(image).save(out / "images" / f"{number:04}.png")
            Image.fromarray(mask).save(out / "masks" / f"{number:04}.png")
        print(f"{out}: {len(ignored)} pictures, {np.mean(ignored):.1%} of the pixels ignored")


def network():
    import torch
    from torch import nn
    from torch.nn import functional as F

    def normalization(channels, momentum):
        return nn.BatchNorm2d(channels, eps=1e-3, momentum=1 - momentum)

    class Convolution(nn.Module):
        """As padding: same of Keras: a stride of 2 pads below and to the right."""

        def __init__(self, inputs, outputs, size=1, stride=1, groups=1, bias=False, init="glorot"):
            super().__init__()
            self.convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2 if stride == 1 else 0, groups=groups, bias=bias)
            self.stride = stride
            fan_in = size * size * inputs
            fan_out = size * size * (outputs if groups == 1 else 1)
            limit = math.sqrt(6 / fan_in if init == "he" else 6 / (fan_in + fan_out))
            nn.init.uniform_(self.convolution.weight, -limit, limit)
            if bias:
                nn.init.zeros_(self.convolution.bias)

        def forward(self, x):
            return self.convolution(F.pad(x, (0, 1, 0, 1)) if self.stride == 2 else x)

    class Inverted(nn.Module):
        def __init__(self, inputs, outputs, stride, expansion):
            super().__init__()
            wide = inputs * expansion
            self.expand = nn.Sequential() if expansion == 1 else nn.Sequential(
                Convolution(inputs, wide), normalization(wide, 0.999), nn.ReLU6())
            self.rest = nn.Sequential(
                Convolution(wide, wide, 3, stride, wide), normalization(wide, 0.999), nn.ReLU6(),
                Convolution(wide, outputs), normalization(outputs, 0.999))
            self.adds = stride == 1 and inputs == outputs

        def forward(self, x):
            expanded = self.expand(x)
            y = self.rest(expanded)
            return (x + y if self.adds else y), expanded

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(Convolution(3, 32, 3, 2), normalization(32, 0.999), nn.ReLU6())
            blocks, channels = [], 32
            for expansion, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                      (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
                for i in range(count):
                    blocks.append(Inverted(channels, outputs, stride if i == 0 else 1, expansion))
                    channels = outputs
            self.blocks = nn.ModuleList(blocks)
            self.last = nn.Sequential(Convolution(320, 1280), normalization(1280, 0.999), nn.ReLU6())
            stages, channels = [], 1280
            for filters, skip in ((256, 576), (128, 192), (64, 144), (32, 96), (16, 0)):
                stages.append(nn.Sequential(
                    Convolution(channels + skip, filters, 3, init="he"), normalization(filters, 0.99), nn.ReLU(),
                    Convolution(filters, filters, 3, init="he"), normalization(filters, 0.99), nn.ReLU()))
                channels = filters
            self.stages = nn.ModuleList(stages)
            self.final = Convolution(16, CLASSES, 3, bias=True)

        def forward(self, x):
            x = self.first(x)
            skips = []
            for i, block in enumerate(self.blocks):
                x, expanded = block(x)
                if i in (1, 3, 6, 13):
                    skips.append(expanded)
            x = self.last(x)
            for stage in self.stages:
                x = F.interpolate(x, scale_factor=2, mode="nearest")
                x = stage(torch.cat((x, skips.pop()), 1) if skips else x)
            return self.final(x)

    return UNet()


def read(folder):
    images = np.stack([np.asarray(Image.open(p)) for p in sorted((folder / "images").iterdir())])
    masks = np.stack([np.asarray(Image.open(p)) for p in sorted((folder / "masks").iterdir())])
    return images.transpose(0, 3, 1, 2), masks


def augmented(image, mask, rng):
    """A flip, and a crop with PADDING zeros on every side."""
    if rng.random() < 0.5:
        image, mask = image[:, :, ::-1], mask[:, ::-1]
    around = (PADDING, PADDING)
    image = np.pad(image, ((0, 0), around, around))
    mask = np.pad(mask, (around, around), constant_values=IGNORED)
    top, left = (int(v) for v in rng.integers(0, 2 * PADDING + 1, 2))
    return image[:, top : top + SIZE, left : left + SIZE], mask[top : top + SIZE, left : left + SIZE]


def train(args):
    import torch
    from torch.nn import functional as F

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    images, masks = read(pathlib.Path(args.data) / "train")
    model = network()
    print(sum(p.numel() for p in model.parameters()), "trainable parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7)
    scaled = lambda x: torch.from_numpy(x.astype(np.float32) / 127.5 - 1)
    for _ in range(args.epochs):
        model.train()
        order = rng.permutation(len(images))
        for first in range(0, len(order), args.batch):
            pairs = [augmented(images[i], masks[i], rng) for i in order[first : first + args.batch]]
            x = scaled(np.stack([pair[0] for pair in pairs]))
            y = torch.from_numpy(np.stack([pair[1] for pair in pairs]).astype(np.int64))
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y, ignore_index=IGNORED)
            loss.backward()
            optimizer.step()
    model.eval()
    images, masks = read(pathlib.Path(args.data) / "val")
    counts = np.zeros((CLASSES, CLASSES), np.int64)
    with torch.no_grad():
        for first in range(0, len(images), args.batch):
            answers = model(scaled(images[first : first + args.batch])).argmax(1).numpy()
            labels = masks[first : first + args.batch]
            valid = labels != IGNORED
            np.add.at(counts, (labels[valid], answers[valid]), 1)
    right = np.diag(counts)
    iou = right / (counts.sum(0) + counts.sum(1) - right)
    print(f"accuracy {right.sum() / counts.sum():.4f}  mean IoU {iou.mean():.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    data = commands.add_parser("data")
    for name in ("flowers", "fashion", "out"):
        data.add_argument(name)
    data.set_defaults(run=make_data)
    torch = commands.add_parser("torch")
    torch.add_argument("data")
    torch.add_argument("--seed", type=int, default=0)
    torch.add_argument("--epochs", type=int, default=10)
    torch.add_argument("--batch", type=int, default=16)
    torch.set_defaults(run=train)
    args = parser.parse_args()
    args.run(args)


main()
