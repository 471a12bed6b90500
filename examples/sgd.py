# SPDX-License-Identifier: BSD-3-Clause
"""sgd.py [SPEC] - data-parallel training with mpi4py: gradients are averaged as SPEC says, with error feedback.

    mpirun -n 4 python3 -m mpi4py sgd.py onebit

Every rank draws its own examples of a line that nobody knows; all ranks find the same weights. Ends with status 1 if
these are not near the line's, or not the same everywhere.
"""
import sys

import numpy as np
from mpi4py import MPI

import thinwire

INPUTS, BATCH, STEPS = 1000, 50, 300


def main(spec):
    comm = thinwire.Comm(MPI.COMM_WORLD)
    truth = np.random.default_rng(0).standard_normal(INPUTS, dtype=np.float32)
    rng = np.random.default_rng([1, comm.rank])
    weights, gradient = np.zeros_like(truth), np.zeros_like(truth)
    residual = comm.feedback("gradient", INPUTS)
    average = comm.allreduce_init(gradient, spec, op="average", out=gradient, feedback=residual)
    for step in range(STEPS):
        x = rng.standard_normal((BATCH, INPUTS), dtype=np.float32) / np.float32(np.sqrt(INPUTS))
        gradient[:] = x.T @ (x @ (weights - truth)) * np.float32(INPUTS / BATCH)
        average()
        weights -= np.float32(0.02) * gradient
    left = float(np.linalg.norm(weights - truth) / np.linalg.norm(truth))
    stats = comm.stats()
    if comm.rank == 0:
        print("%s: %.2g of the distance is left; %d bytes were sent in each step, %d as float32"
              % (average.codec, left, stats.bytes_sent / STEPS, stats.bytes_uncompressed / STEPS))
    same = len(set(MPI.COMM_WORLD.allgather(weights.tobytes()))) == 1
    comm.free()
    return 0 if same and left < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or ["tree8"]))
