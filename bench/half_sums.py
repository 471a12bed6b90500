#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Errors and bytes of sums of 16-bit floats: additions in the type, one rank after another, beside allreduces.

    mpirun -n 8 python3 bench/half_sums.py [CODEC ...]

Values are N(0, 1), rounded to the type; errors are RMS of the sum's error / RMS of the sum, in percent. bfloat16 needs
the package ml_dtypes. THINWIRE_LIBRARY and PYTHONPATH as in docs/python.md.
"""
import sys

import numpy as np
from mpi4py import MPI

import thinwire

COUNT = 1 << 20
TYPES = [np.dtype(np.float16)]
try:
    from ml_dtypes import bfloat16

    TYPES.insert(0, np.dtype(bfloat16))
except ImportError:
    pass


def measure(comm, dtype, specs):
    parts = [np.random.default_rng(r).standard_normal(COUNT).astype(dtype) for r in range(comm.size)]
    exact = np.sum([part.astype(np.float64) for part in parts], axis=0)

    def show(what, total, size):
        error = np.sqrt(np.mean((total.astype(np.float64) - exact) ** 2) / np.mean(exact**2))
        if comm.rank == 0:
            print("%-9s %-24s %7.3f %%  %.3f bytes per value" % (dtype.name, what, 100 * error, size))

    total = parts[0].copy()
    for part in parts[1:]:
        total = (total.astype(np.float32) + part.astype(np.float32)).astype(dtype)
    show("additions in the type", total, dtype.itemsize)
    for spec in [None] + specs:
        made = thinwire.Codec(spec or ("fp16" if dtype == np.float16 else "bf16"), dtype)
        show(made.spec, comm.allreduce(parts[comm.rank], spec, algorithm="two_pass"), made.size(COUNT) / COUNT)


def main():
    comm = thinwire.Comm(MPI.COMM_WORLD)
    for dtype in TYPES:
        measure(comm, dtype, sys.argv[1:] or ["int8:block=256", "int8", "tree8"])
    comm.free()


main()
