#!/usr/bin/env python3
"""PyTorch on the networks of configs/bench/: training steps on one synthetic batch in device memory.

    python3 torch_side_by_side.py --works resnet50 --precisions bf16,tf32 --modes eager,graph,compile
    python3 torch_side_by_side.py --device cpu --tiny          tries every network on small shapes, without a GPU

One JSON line for each case (work x precision x mode) goes to stdout: milliseconds per step (median and range of the
windows), examples per second, peak memory of the device, losses. A case that fails gives a line with "error"; then the
exit code is 1. Layers and optimizers are those of the configs, with PyTorch's usual
optimizations: channels_last, cuDNN's benchmark mode, in-place ReLU, fused optimizers, gradients set to none, no
gradient scaler.

    eager      a Python loop
    compile    torch.compile, mode reduce-overhead: CUDA graphs of forward and backward
    graph      the whole step, optimizer included, captured once as a CUDA graph and replayed

    bf16       autocast to bfloat16, parameters and optimizer in float32
    tf32       float32, products rounded to TF32
    fp32       float32 without TF32
"""
import argparse
import contextlib
import gc
import json
import statistics
import sys
import time
from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn

MODES = ("eager", "compile", "graph")
PRECISIONS = ("bf16", "tf32", "fp32")


class Flatten(nn.Module):
    """In the order height, width, channels: that of Keras, and free in channels_last."""

    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)


class LocalResponseNormalization(nn.Module):
    """y = x / (1 + alpha * sum of squares over 2 * radius + 1 channels) ^ 0.75, the sums as a product with a banded matrix:
    several times faster than nn.LocalResponseNorm, which pools in three dimensions."""

    def __init__(self, channels, radius=4, alpha=0.001 / 9):
        super().__init__()
        i = torch.arange(channels)
        self.register_buffer("band", ((i[:, None] - i[None, :]).abs() <= radius).float() * alpha, persistent=False)

    def forward(self, x):
        sums = 1 + F.linear(x.square().permute(0, 2, 3, 1), self.band).permute(0, 3, 1, 2)
        return x * torch.rsqrt(sums * sums.sqrt())  # s^-0.75 = (s * s^0.5)^-0.5


def fashion_cnn(_):
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(True),
                         nn.MaxPool2d(2), nn.Conv2d(64, 64, 3), nn.ReLU(True), Flatten(), nn.Linear(576, 64),
                         nn.ReLU(True), nn.Linear(64, 10))


def cifar_towers(_):
    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)  # Keras's "same" on an even size
    return nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(True), pool(), LocalResponseNormalization(64),
                         nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(True), LocalResponseNormalization(64), pool(), Flatten(),
                         nn.Linear(2304, 384), nn.ReLU(True), nn.Linear(384, 192), nn.ReLU(True), nn.Linear(192, 10))


def mlp(_):
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(True), nn.Linear(512, 512), nn.ReLU(True), nn.Linear(512, 10))


def vgg16(side):
    layers, channels = [], 3
    for filters, convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(True)]
            channels = filters
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, Flatten(), nn.Linear(512 * (side // 32) ** 2, 4096), nn.ReLU(True),
                         nn.Linear(4096, 4096), nn.ReLU(True), nn.Linear(4096, 1000))


def conv_bn(inputs, outputs, size=1, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
                         nn.BatchNorm2d(outputs, eps=1e-5, momentum=0.1))  # momentum 0.9 in Keras's words


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.reduce = conv_bn(inputs, width)
        self.middle = conv_bn(width, width, 3, stride)  # version 1.5: the stride sits here
        self.expand = conv_bn(width, 4 * width)
        self.shortcut = conv_bn(inputs, 4 * width, 1, stride) if inputs != 4 * width else nn.Identity()

    def forward(self, x):
        y = F.relu(self.reduce(x), inplace=True)
        y = F.relu(self.middle(y), inplace=True)
        y = self.expand(y)
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


def resnet50(_):
    layers, channels = [conv_bn(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def sgd(learning_rate, momentum=0.0):
    return lambda parameters, _: torch.optim.SGD(parameters, lr=learning_rate, momentum=momentum, fused=True)


def adam(learning_rate):
    return lambda parameters, capturable: torch.optim.Adam(parameters, lr=learning_rate, eps=1e-7, fused=True,
                                                           capturable=capturable)


# parameters: trainable ones, as the first lines of configs/bench/*.yaml count them.
Work = namedtuple("Work", "build channels side batch classes optimizer parameters")
WORKS = {
    "resnet50": Work(resnet50, 3, 224, 256, 1000, sgd(0.01, 0.9), 25_557_032),
    "fashion_cnn": Work(fashion_cnn, 1, 28, 512, 10, adam(1e-3), 93_322),
    "vgg16": Work(vgg16, 3, 224, 128, 1000, sgd(0.01), 138_357_544),
    "cifar_towers": Work(cifar_towers, 3, 24, 128, 10, sgd(0.1), 1_068_298),
    "mlp": Work(mlp, 784, 0, 512, 10, adam(1e-3), 669_706),
}


def set_precision(precision):
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"


def make_batch(work, batch, side, device):
    """Noise around one mean per class, so that the loss falls: a step that does nothing is seen."""
    random = torch.Generator().manual_seed(1)
    shape = (work.channels, side, side) if side else (work.channels,)
    labels = torch.randint(work.classes, (batch,), generator=random)
    inputs = 0.3 * torch.randn((batch, *shape), generator=random)
    inputs += torch.randn((work.classes, *shape), generator=random)[labels]
    inputs = inputs.to(device)
    if side:
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    return inputs, labels.to(device)


def make_step(model, optimizer, inputs, labels, precision, mode):
    """A function that does one training step and returns its loss, a tensor of the device."""
    kind = inputs.device.type

    def loss_of(x):
        if precision != "bf16":
            return F.cross_entropy(model(x), labels)
        with torch.autocast(kind, torch.bfloat16, cache_enabled=mode != "graph"):
            return F.cross_entropy(model(x).float(), labels)

    forward = loss_of
    if mode == "compile":
        forward = torch.compile(loss_of, mode="reduce-overhead" if kind == "cuda" else "default")

    def step():
        if mode == "compile" and kind == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        loss = forward(inputs)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return capture(step, optimizer) if mode == "graph" else step


def capture(step, optimizer):
    """The whole step as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # cuDNN's benchmark and the optimizer's state settle outside the capture
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss
    return replay


def window(step, count, synchronize):
    """Seconds for so many steps, and the last one's loss."""
    start = time.perf_counter()
    for _ in range(count):
        loss = step()
    synchronize()
    return time.perf_counter() - start, loss.item()


def measure(name, precision, mode, options):
    """One case as a dictionary."""
    work = WORKS[name]
    device = torch.device(options.device)
    on_gpu = device.type == "cuda"
    synchronize = torch.cuda.synchronize if on_gpu else lambda: None
    batch = options.batch or (4 if options.tiny else work.batch)
    side = min(work.side, 32) if options.tiny else work.side
    if side and name in ("fashion_cnn", "cifar_towers"):
        side = work.side  # their dense layers know it

    torch.manual_seed(0)
    set_precision(precision)
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    model = work.build(side).to(device=device, memory_format=torch.channels_last).train()
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if parameters != work.parameters and not options.tiny:
        raise RuntimeError(f"{name} has {parameters} trainable parameters, the config {work.parameters}")
    inputs, labels = make_batch(work, batch, side, device)
    optimizer = work.optimizer(model.parameters(), mode == "graph")

    started = time.perf_counter()
    step = make_step(model, optimizer, inputs, labels, precision, mode)
    first = step().item()
    start_seconds = time.perf_counter() - started
    for _ in range(options.warmup - 1):
        step()
    synchronize()
    seconds, _ = window(step, 3, synchronize)
    count = max(options.steps, round(options.window_seconds * 3 / seconds))
    windows = [window(step, count, synchronize) for _ in range(options.windows)]
    last = windows[-1][1]
    if not last < first:
        raise RuntimeError(f"the loss went from {first} to {last}: this is no training")

    times = sorted(1e3 * seconds / count for seconds, _ in windows)
    median = statistics.median(times)
    return {"batch": batch, "ms_per_step": median, "ms_per_step_min": times[0], "ms_per_step_max": times[-1],
            "examples_per_second": 1e3 * batch / median, "steps": count * options.windows, "parameters": parameters,
            "first_loss": first, "last_loss": last, "start_seconds": start_seconds,
            "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else 0}


def free_memory(on_gpu):
    torch.compiler.reset()
    gc.collect()
    if on_gpu:
        torch.cuda.empty_cache()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--precisions", help="default: bf16,tf32,fp32; on a CPU bf16,fp32")
    parser.add_argument("--modes", help="default: eager,compile,graph; on a CPU eager,compile")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu")
    parser.add_argument("--batch", type=int, default=0, help="default: the work's own")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--window-seconds", type=float, default=0.5, help="length of a window")
    parser.add_argument("--steps", type=int, default=10, help="steps of a window at least")
    parser.add_argument("--tiny", action="store_true", help="batch 4, small images, short windows: shows that it runs")
    options = parser.parse_args()
    on_gpu = options.device.startswith("cuda")
    options.works = options.works.split(",")
    options.precisions = (options.precisions or ("bf16,tf32,fp32" if on_gpu else "bf16,fp32")).split(",")
    options.modes = (options.modes or ("eager,compile,graph" if on_gpu else "eager,compile")).split(",")
    for key, known in (("works", WORKS), ("precisions", PRECISIONS), ("modes", MODES)):
        for value in getattr(options, key):
            if value not in known:
                parser.error(f"--{key}: unknown '{value}'; there are {', '.join(known)}")
    if not on_gpu and ("graph" in options.modes or "tf32" in options.precisions):
        parser.error("mode graph and precision tf32 need --device cuda")
    if options.tiny:
        options.warmup, options.windows, options.window_seconds, options.steps = 2, 2, 0.0, 2
    return options


def main():
    options = parse_arguments()
    on_gpu = options.device.startswith("cuda")
    about = {"program": "PyTorch " + torch.__version__, "device": "cpu"}
    if on_gpu:
        torch.cuda.set_device(torch.device(options.device))
        about.update(device=torch.cuda.get_device_name(), cudnn=torch.backends.cudnn.version())
    failed = False
    for name in options.works:
        for precision in options.precisions:
            for mode in options.modes:
                case = {"work": name, "precision": precision, "mode": mode, **about}
                try:
                    case.update(measure(name, precision, mode, options))
                except Exception as error:  # pylint: disable=broad-except  # the next case may work
                    case["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
                    failed = True
                print(json.dumps(case), flush=True)
                with contextlib.suppress(RuntimeError):
                    free_memory(on_gpu)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
