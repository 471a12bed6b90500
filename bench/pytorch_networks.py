# SPDX-License-Identifier: BSD-3-Clause
"""The networks of thinwire-train in PyTorch on the CPU, and steps of training with random images.

What pytorch_models.py, pytorch_ddp.py and pytorch_mlp.py share. Layers, sizes, optimizer and its
numbers are those of the model files in train/model/zoo; the numbers of parameters are checked. Runs
with PyTorch 1.13 and newer.
"""
from __future__ import annotations

import argparse
import inspect
import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


def conv_relu(inputs: int, outputs: int, kernel: int, stride: int = 1, pad: int = 0) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, pad), nn.ReLU(inplace=True)]


def dense_relu(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs), nn.ReLU(inplace=True), nn.Dropout(0.5)]


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(784, 1024), nn.Sigmoid(),
        nn.Dropout(0.5), nn.Linear(1024, 1024), nn.Sigmoid(),
        nn.Dropout(0.5), nn.Linear(1024, 10))


def alexnet_s0() -> nn.Module:
    return nn.Sequential(
        *conv_relu(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2),
        *conv_relu(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2),
        *conv_relu(192, 384, 3, 1, 1), *conv_relu(384, 384, 3, 1, 1),
        *conv_relu(384, 256, 3, 1, 1), nn.MaxPool2d(3, 2), nn.Flatten(),
        *dense_relu(9216, 4096), *dense_relu(4096, 4096), *dense_relu(4096, 4096),
        nn.Linear(4096, 200))


def vgg_a() -> nn.Module:
    layers: list[nn.Module] = []
    inputs = 3
    for channels in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if channels == 0:
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += conv_relu(inputs, channels, 3, 1, 1)
            inputs = channels
    return nn.Sequential(
        *layers, nn.Flatten(), *dense_relu(512 * 7 * 7, 4096), *dense_relu(4096, 4096),
        nn.Linear(4096, 200))


class SmallerZeros(nn.Module):
    """Shortcut A: every second position, new channels are 0; no parameters."""

    def __init__(self, more: int) -> None:
        super().__init__()
        self.more = more

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.more))


class Block(nn.Module):
    """Two convolutions and a shortcut; option "A" or "B" where the block changes the shape."""

    def __init__(self, inputs: int, outputs: int, option: str) -> None:
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride == 2 and option == "A":
            self.shortcut = SmallerZeros(outputs - inputs)
        elif stride == 2:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, 2, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def blocks(stages: list[tuple[int, int]], option: str) -> list[nn.Module]:
    """(channels, number of blocks) per stage; the input has the channels of the first."""
    inputs = stages[0][0]
    layers: list[nn.Module] = []
    for channels, number in stages:
        for _ in range(number):
            layers.append(Block(inputs, channels, option))
            inputs = channels
    return layers


def resnet_20() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
        *blocks([(16, 3), (32, 3), (64, 3)], "A"),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet_34() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        *blocks([(64, 3), (128, 4), (256, 6), (512, 3)], "B"),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 200))


@dataclass(frozen=True)
class Model:
    """A network and how it is trained; rate is that of the batch."""
    build: Callable[[], nn.Module]
    parameters: int
    image: tuple[int, int, int]  # channels, height, width
    classes: int
    batch: int
    rate: float
    decay: float = 0.0
    rmsprop: bool = False


MODELS = {
    "alexnet-s0": Model(alexnet_s0, 75341960, (3, 224, 224), 200, 16, 0.0025, 5e-4),
    "vgg-a": Model(vgg_a, 129585736, (3, 224, 224), 200, 4, 0.01, 5e-4),
    "resnet-20": Model(resnet_20, 269722, (3, 32, 32), 10, 128, 0.1, 1e-4),
    "resnet-34": Model(resnet_34, 21387272, (3, 224, 224), 200, 8, 0.01, 1e-4),
    "mlp": Model(mlp, 1863690, (1, 28, 28), 10, 128, 0.006, rmsprop=True),
}


def use_threads(threads: int) -> None:
    """Threads of all that follows; once per process."""
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)


def build(name: str) -> nn.Module:
    """The network of this name, with weights of a fixed seed; stops if its size is not the right one."""
    torch.manual_seed(1)
    net = MODELS[name].build()
    count = sum(parameter.numel() for parameter in net.parameters())
    if count != MODELS[name].parameters:
        raise SystemExit(f"{name} has {count} parameters, not {MODELS[name].parameters}")
    return net


def make_optimizer(model: Model, net: nn.Module, tuned: bool) -> torch.optim.Optimizer:
    """That of the model file; tuned: in one pass over the weights, where this PyTorch can."""
    if model.rmsprop:
        return torch.optim.RMSprop(net.parameters(), lr=model.rate, alpha=0.9, eps=1e-8)
    more: dict[str, Any] = {}
    if tuned and "fused" in inspect.signature(torch.optim.SGD.__init__).parameters:
        more["fused"] = True
    return torch.optim.SGD(net.parameters(), lr=model.rate, momentum=0.9, weight_decay=model.decay, **more)


class Training:
    """Steps of one process on its batch of random 8-bit images, a new one for every step."""

    def __init__(self, name: str, batch: int, images: int, tuned: bool = False,
                 wrap: Callable[[nn.Module], nn.Module] | None = None) -> None:
        """wrap(net): the network that is trained, such as a DistributedDataParallel of it."""
        model = MODELS[name]
        net = build(name)
        self.format = torch.contiguous_format
        if tuned and name != "mlp":
            self.format = torch.channels_last
            net = net.to(memory_format=self.format)
        self.net = net if wrap is None else wrap(net)
        self.optimizer = make_optimizer(model, net, tuned)
        self.batch = batch
        self.pixels = torch.randint(0, 256, (images, *model.image), dtype=torch.uint8)
        self.labels = torch.randint(0, model.classes, (images,))
        self.at = 0
        self.net.train()

    def step(self) -> float:
        """One step; its loss."""
        chosen = torch.arange(self.at, self.at + self.batch) % len(self.labels)
        self.at += self.batch
        x = (self.pixels[chosen].float() / 255.0).contiguous(memory_format=self.format)
        self.optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(self.net(x), self.labels[chosen])
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def times(self, warm: int, steps: int) -> list[float]:
        """Seconds of each of so many steps after the first warm ones; stops if the loss is not finite."""
        seconds = []
        for number in range(warm + steps):
            start = time.perf_counter()
            loss = self.step()
            if number >= warm:
                seconds.append(time.perf_counter() - start)
            if not math.isfinite(loss):
                raise SystemExit(f"the loss of step {number + 1} is {loss}")
        return seconds


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that all measurements take."""
    parser.add_argument("--batch", type=int, metavar="N", help="images per step [that of --list]")
    parser.add_argument("--steps", type=int, metavar="N", default=10, help="steps that are timed [10]")
    parser.add_argument("--warm", type=int, metavar="N", default=2, help="steps before them [2]")
    parser.add_argument("--threads", type=int, metavar="N", default=1, help="threads of a process [1]")
    parser.add_argument("--tuned", action="store_true", help="the way that is often faster")
    parser.add_argument("--json", metavar="FILE", help="write the result to FILE")


def check_options(parser: argparse.ArgumentParser, given: argparse.Namespace, ranks: int = 1) -> None:
    """Stop if a number is none that is accepted; the batch of the model if there is none."""
    given.batch = given.batch or MODELS[given.model].batch
    for name, low in (("steps", 1), ("warm", 0), ("threads", 1), ("batch", 2)):
        if getattr(given, name) < low:
            parser.error(f"--{name} is accepted from {low}")
    if ranks < 1 or given.batch < ranks or given.batch % ranks != 0:
        parser.error(f"--batch {given.batch} is no multiple of {ranks} ranks")


def report(name: str, batch: int, seconds: list[float], **more: object) -> dict[str, Any]:
    """What a measurement of steps of so many images gives; the keys of thinwire-train where it has them."""
    return {"model": name, "parameters": MODELS[name].parameters, "batch": batch,
            "images_per_second": batch / statistics.median(seconds), "step_seconds": seconds,
            "torch": torch.__version__, **more}


def write(result: dict[str, Any], path: str | None) -> None:
    """One line for people, and the whole as JSON if there is a path."""
    print(f"{result['model']}: {result['images_per_second']:.2f} images/s, batch {result['batch']}, "
          f"median of {len(result['step_seconds'])} steps, PyTorch {result['torch']}", flush=True)
    if path is not None:
        with open(path, "w", encoding="ascii") as file:
            json.dump(result, file, indent=2)
            file.write("\n")
