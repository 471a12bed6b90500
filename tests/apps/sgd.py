#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sgd.py RANKS [SEED] - data-parallel training of a small network, as many write it with mpi4py.

Classes are clouds of points around random centres, told apart by a network of two layers. Every rank
draws its own examples; the gradient of all weights is one float32 vector, added over the ranks by
MPI_Allreduce. Rank 0 prints the loss every few steps and, at the end, "final loss X error Y" of examples
that nobody trained on, and a digest of all gradients that it received. All numbers are printed with all
their digits, so that runs can be compared byte by byte. Fails if ranks end with different weights.
"""
import hashlib
import sys

import numpy as np
from mpi4py import MPI

INPUTS, HIDDEN, CLASSES = 64, 256, 10
EXAMPLES, BATCH, STEPS, RATE = 2048, 64, 200, 0.2
SPREAD = 2.0  # of a cloud, in distances between centres and origin


def draw(centres, count, rng):
    """Examples and their classes."""
    labels = rng.integers(0, CLASSES, count)
    noise = rng.standard_normal((count, INPUTS), dtype=np.float32)
    return centres[labels] + np.float32(SPREAD / np.sqrt(INPUTS)) * noise, labels


class Network:
    """Weights and gradients are views of one vector each."""

    def __init__(self, rng):
        shapes = [(INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.weights = np.zeros(sum(sizes), dtype=np.float32)
        self.gradient = np.zeros_like(self.weights)
        ends = np.cumsum(sizes)
        self.w, self.g = (
            [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), shapes)]
            for vector in (self.weights, self.gradient)
        )
        for layer in (self.w[0], self.w[2]):
            layer[...] = rng.standard_normal(layer.shape, dtype=np.float32) / np.sqrt(layer.shape[0])

    def forward(self, x):
        """Activations of the hidden layer, and probabilities."""
        hidden = np.maximum(x @ self.w[0] + self.w[1], 0)
        scores = hidden @ self.w[2] + self.w[3]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def backward(self, x, labels):
        """The gradient of the mean loss of a batch."""
        hidden, slope = self.forward(x)
        slope[np.arange(len(labels)), labels] -= 1
        slope /= np.float32(len(labels))
        below = (slope @ self.w[2].T) * (hidden > 0)
        self.g[0][...] = x.T @ below
        self.g[1][...] = below.sum(axis=0)
        self.g[2][...] = hidden.T @ slope
        self.g[3][...] = slope.sum(axis=0)

    def judge(self, x, labels):
        """Mean loss, and part of the examples that are taken for another class."""
        _, probability = self.forward(x)
        right = probability[np.arange(len(labels)), labels]
        return -np.log(right).mean(dtype=np.float64), np.mean(probability.argmax(axis=1) != labels)


def main():
    comm = MPI.COMM_WORLD
    if comm.size != int(sys.argv[1]):
        sys.exit(f"{comm.size} ranks, not {sys.argv[1]}")
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1

    shared = np.random.default_rng(seed)  # the same numbers on all ranks
    centres = shared.standard_normal((CLASSES, INPUTS), dtype=np.float32) / np.float32(np.sqrt(INPUTS))
    network = Network(shared)
    test = draw(centres, 4096, shared)
    own = np.random.default_rng([seed, comm.rank])
    x, labels = draw(centres, EXAMPLES, own)

    total = np.empty_like(network.gradient)
    digest = hashlib.sha1()
    for step in range(STEPS):
        batch = own.integers(0, EXAMPLES, BATCH)
        network.backward(x[batch], labels[batch])
        comm.Allreduce(network.gradient, total, op=MPI.SUM)
        digest.update(total.tobytes())
        network.weights -= np.float32(RATE / comm.size) * total
        if comm.rank == 0 and step % 20 == 0:
            print("step", step, "loss", repr(float(network.judge(*test)[0])))
    everyone = comm.gather(network.weights.tobytes())
    if comm.rank == 0:
        loss, error = network.judge(*test)
        print("final loss", repr(float(loss)), "error", repr(float(error)))
        print("gradients", digest.hexdigest())
        if len(set(everyone)) > 1:
            sys.exit("the ranks have different weights")


main()
