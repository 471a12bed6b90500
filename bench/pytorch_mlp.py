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

import pytorch_networks as networks

BATCH = 128
IMAGES = 12000


def pytorch_speed(training):
    """Images per second over one epoch."""
    start = time.perf_counter()
    for _ in range(0, IMAGES, BATCH):
        training.step()
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
    networks.use_threads(1)
    training = networks.Training("mlp", BATCH, IMAGES)
    pytorch_speed(training)  # warm
    ours, theirs = [], []
    print("round  thinwire-train  PyTorch %s  (images/s)" % torch.__version__)
    for number in range(rounds):
        ours.append(thinwire_speed(program))
        theirs.append(pytorch_speed(training))
        print("%5d  %14.0f  %14.0f" % (number + 1, ours[-1], theirs[-1]))
    print("median %14.0f  %14.0f  ratio %.2f" % (
        statistics.median(ours), statistics.median(theirs),
        statistics.median(ours) / statistics.median(theirs)))


if __name__ == "__main__":
    main()
