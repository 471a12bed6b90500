# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the Python package share: the ranks, numbers, and how a test ends."""
import os
import sys
import unittest

import numpy as np
from mpi4py import MPI

import thinwire

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
COUNTS = (0, 1, 17, 9001)
FORMS = ("blocking", "nonblocking", "plan")
LOSSLESS = {"float32": (None, "fp32", "bitpack:4"), "float64": (None, "bitpack:8")}
LOSSY = {"float32": ("tree8", "int8:block=256", "bf16", "bitpack:2"), "float64": ("bitpack:6",)}


def numbers(shape, dtype="float32", of=rank, seed=1):
    """Normal numbers that every rank can make for every other."""
    return np.random.default_rng([seed, of]).standard_normal(shape).astype(dtype)


def each(dtype, codecs, counts=COUNTS):
    """Without TW_ALL the forms by turns, so that each meets every count."""
    every = [(codec, count, form) for codec in codecs[dtype] for count in counts for form in FORMS]
    return [what for i, what in enumerate(every) if "TW_ALL" in os.environ or (i + i // 3) % 3 == 0]


def call(comm, form, name, *arguments, **named):
    """A collective in one of its three forms; a plan is run twice."""
    if form == "blocking":
        return getattr(comm, name)(*arguments, **named)
    if form == "nonblocking":
        return getattr(comm, "i" + name)(*arguments, **named).wait()
    with getattr(comm, name + "_init")(*arguments, **named) as plan:
        plan.start().wait()
        return plan()


def through(x, codec):
    """What a value is after one encoding."""
    codec = thinwire.Codec(codec or ("fp32" if x.dtype == np.float32 else "bitpack:8"), x.dtype)
    return codec.decode(codec.encode(x), x.size).reshape(x.shape)


def main():
    """Run the tests of the calling script in the same order on all ranks; the first failure ends the job."""
    if size != int(os.environ.get("TW_WANTED", size)):
        sys.exit("%d ranks, not %s" % (size, os.environ["TW_WANTED"]))
    unittest.main(module="__main__", argv=sys.argv[:1], failfast=True, verbosity=0)
