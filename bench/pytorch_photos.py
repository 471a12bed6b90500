#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Test errors of ResNet-20 trained on photographs by PyTorch and torchvision: what bench/photos.sh compares with.

    python3 bench/pytorch_photos.py TRAIN.txt TEST.txt [--epochs N] [--seeds N...] [--json FILE]

A list has a line "PATH LABEL" per image. The recipe is that of bench/photos.sh: shorter side to 37, a random crop of 32
and mirror (tests: the crop in the centre), (pixel - 120.7) * 0.0156; batch 32, SGD with momentum 0.9, decay 1e-4 of
weights, rate 0.05, divided by 10 after 2/3 of the epochs; first weights as the model file's, "he" and "glorot".
"""
import argparse
import json

import numpy
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

import pytorch_networks as networks

SIDE, CROP, MEAN, SCALE, BATCH = 37, 32, 120.7, 0.0156, 32


def read(path: str) -> tuple[list[numpy.ndarray], torch.Tensor]:
    """Images whose shorter side is SIDE, and labels."""
    images, labels = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, label = line.rsplit(maxsplit=1)
            image = Image.open(name).convert("RGB")
            w, h = image.size
            size = (SIDE * w // h, SIDE) if h <= w else (SIDE, SIDE * h // w)
            images.append(numpy.asarray(image.resize(size, Image.BILINEAR)))
            labels.append(int(label))
    return images, torch.tensor(labels)


def crop(image: numpy.ndarray, random: numpy.random.Generator | None) -> torch.Tensor:
    down, across = image.shape[0] - CROP, image.shape[1] - CROP
    top, left = (down // 2, across // 2) if random is None else (random.integers(down + 1), random.integers(across + 1))
    part = image[top:top + CROP, left:left + CROP]
    if random is not None and random.integers(2):
        part = part[:, ::-1]
    return (torch.tensor(part.copy()).permute(2, 0, 1).float() - MEAN) * SCALE


def first_weights(net: nn.Module) -> None:
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)


def error(net: nn.Module, images: list[numpy.ndarray], labels: torch.Tensor) -> float:
    net.eval()
    with torch.no_grad():
        wrong = sum(int((net(torch.stack([crop(image, None) for image in images[i:i + BATCH]])).argmax(1) !=
                         labels[i:i + BATCH]).sum()) for i in range(0, len(images), BATCH))
    net.train()
    return wrong / len(images)


def train(seed: int, epochs: int, sets: list[tuple[list[numpy.ndarray], torch.Tensor]], classes: int) -> float:
    torch.manual_seed(seed)
    random = numpy.random.default_rng(seed)
    images, labels = sets[0]
    net = networks.resnet_20()
    net[-1] = nn.Linear(64, classes)
    first_weights(net)
    decayed = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() <= 1]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 1e-4}, {"params": others}], lr=0.05, momentum=0.9)
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 if epoch < 2 * epochs // 3 else 0.005
        order = random.permutation(len(images))
        for begin in range(0, len(order), BATCH):
            batch = order[begin:begin + BATCH]
            optimizer.zero_grad()
            loss = functional.cross_entropy(net(torch.stack([crop(images[i], random) for i in batch])), labels[batch])
            loss.backward()
            optimizer.step()
    return error(net, *sets[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--json")
    given = parser.parse_args()
    torch.set_num_threads(1)
    sets = [read(given.train), read(given.test)]
    classes = int(sets[0][1].max()) + 1
    errors = []
    for seed in given.seeds:
        errors.append(train(seed, given.epochs, sets, classes))
        print(f"seed {seed}: test error {100 * errors[-1]:.2f} %", flush=True)
    print(f"mean {100 * numpy.mean(errors):.2f} %")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"command": "pytorch_photos", "torch": torch.__version__, "test_error": errors}, file)


if __name__ == "__main__":
    main()
