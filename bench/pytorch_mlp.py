#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pytorch_mlp.py PROGRAM [ROUNDS] - the network of thinwire-train in PyTorch on the CPU, and the ratio.

One process, one thread, batch 128, random images: 784x1024x1024x10, logistic units, dropout 0.2,
0.5, 0.5, cross-entropy, RMSprop (lr 0.006, alpha 0.9, eps 1e-8). PROGRAM is bin/thinwire-train of a
build; it and PyTorch take turns, ROUNDS times (5), so that a slow moment of the machine hits both.
Prints images per second of each round, medians and the ratio of medians (above 1: thinwire-train is
faster). Needs torch; measured with 1.13.1.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

BATCH = 128
IMAGES = 12000


def make_step():
    """A function that trains on the next batch of random images."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Dropout(0.2), torch.nn.Linear(784, 1024), torch.nn.Sigmoid(),
        torch.nn.Dropout(0.5), torch.nn.Linear(1024, 1024), torch.nn.Sigmoid(),
        torch.nn.Dropout(0.5), torch.nn.Linear(1024, 10))
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.006, alpha=0.9, eps=1e-8)
    pixels = torch.randint(0, 256, (IMAGES, 784), dtype=torch.uint8)
    labels = torch.randint(0, 10, (IMAGES,))

    def step(at):
        chosen = torch.arange(at, at + BATCH) % IMAGES
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(net(pixels[chosen].float() / 255.0), labels[chosen])
        loss.backward()
        optimizer.step()

    return step


def pytorch_speed(step):
    """Images per second over one epoch."""
    start = time.perf_counter()
    for at in range(0, IMAGES, BATCH):
        step(at)
    return IMAGES / (time.perf_counter() - start)


def thinwire_speed(program):
    """Images per second of thinwire-train over one epoch of the same size."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        subprocess.run([program, "--data", "digits", "--epochs", "1", "--batch", str(BATCH),
                        "--threads", "1", "--json", report], check=True,
                       stdout=subprocess.DEVNULL,
                       env=dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"))
        with open(report, encoding="ascii") as file:
            return json.load(file)["images_per_second"]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: pytorch_mlp.py PROGRAM [ROUNDS]")
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 5
    torch.set_num_threads(1)
    step = make_step()
    pytorch_speed(step)  # warm
    ours, theirs = [], []
    print("round  thinwire-train  PyTorch %s  (images/s)" % torch.__version__)
    for number in range(rounds):
        ours.append(thinwire_speed(program))
        theirs.append(pytorch_speed(step))
        print("%5d  %14.0f  %14.0f" % (number + 1, ours[-1], theirs[-1]))
    print("median %14.0f  %14.0f  ratio %.2f" % (
        statistics.median(ours), statistics.median(theirs),
        statistics.median(ours) / statistics.median(theirs)))


if __name__ == "__main__":
    main()
