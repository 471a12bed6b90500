#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Training of the networks of thinwire-train in PyTorch on the CPU, in one process: images per second.

    python3 bench/pytorch_models.py MODEL [--batch N] [--steps N] [--warm N] [--threads N] [--tuned]
                                    [--json FILE]
    python3 bench/pytorch_models.py --check | --list

Random images; forward, backward and update in float32, eager. The figure is the batch over the median
of the steps after the warm ones. --tuned: channels-last tensors and the fused SGD, where this PyTorch
has it; which of the two ways is faster depends on network and version. --check builds every network,
compares its number of parameters with what it should be and runs one step of a small batch. --list:
names, batches and the data sets of thinwire-train that have their shape.
Needs torch, 1.13 or newer; bench/training-speed.sh lets it take turns with thinwire-train.
"""
import argparse

import pytorch_networks as networks


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="images per second of training with PyTorch on the CPU")
    parser.add_argument("model", nargs="?", choices=sorted(networks.MODELS))
    networks.add_options(parser)
    parser.add_argument("--check", action="store_true", help="check the networks, measure nothing")
    parser.add_argument("--list", action="store_true", help="name the networks, measure nothing")
    given = parser.parse_args()
    if given.check + given.list + (given.model is not None) != 1:
        parser.error("give a model, --check or --list")
    if given.model is not None:
        networks.check_options(parser, given)
    return given


def check() -> None:
    for name, model in networks.MODELS.items():
        networks.Training(name, 2, 2).times(0, 1)
        print(f"{name}: {model.parameters} parameters", flush=True)


def list_models() -> None:
    for name, model in networks.MODELS.items():
        channels, height, width = model.image
        print(f"{name} {model.batch} random:{height}x{width}x{channels},{model.classes}")


def measure(given: argparse.Namespace) -> None:
    images = given.batch * min(given.warm + given.steps, 16)
    seconds = networks.Training(given.model, given.batch, images, given.tuned).times(given.warm, given.steps)
    networks.write(networks.report(given.model, given.batch, seconds, ranks=1, threads=given.threads,
                                   tuned=given.tuned), given.json)


def main() -> None:
    given = arguments()
    networks.use_threads(given.threads)
    if given.list:
        list_models()
    elif given.check:
        check()
    else:
        measure(given)


if __name__ == "__main__":
    main()
