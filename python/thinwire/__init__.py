# SPDX-License-Identifier: BSD-3-Clause
"""thinwire - compressed MPI collectives for float32 traffic: Python over libthinwire.

    import thinwire

    comm = thinwire.Comm()                                   # or thinwire.Comm(MPI.COMM_WORLD) of mpi4py
    total = comm.allreduce(gradient, "tree8")                # 8 bits per value on the wire
    comm.allreduce(gradient, "tree8", op="average", out=gradient)

docs/python.md of the source explains; Comm, Codec and Feedback have the details.
"""
from typing import Any

from thinwire._library import lib as _lib
from thinwire._version import __version__
from thinwire.codec import Codec, Traits
from thinwire.comm import Comm, Stats
from thinwire.errors import (
    BusyError,
    DeadError,
    Error,
    FormatError,
    InputOutputError,
    InvalidArgumentError,
    InvalidTypeError,
    LibraryError,
    MismatchError,
    MPIError,
    NetworkError,
    NoMemoryError,
    OutOfRangeError,
    SettingError,
    SpecError,
    TimeLimitError,
    UnsupportedError,
)
from thinwire.feedback import Feedback
from thinwire.requests import Plan, Request

__all__ = [
    "BusyError",
    "Codec",
    "Comm",
    "DeadError",
    "Error",
    "Feedback",
    "FormatError",
    "InputOutputError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "LibraryError",
    "MPIError",
    "MismatchError",
    "NetworkError",
    "NoMemoryError",
    "OutOfRangeError",
    "Plan",
    "Request",
    "SettingError",
    "SpecError",
    "Stats",
    "TimeLimitError",
    "Traits",
    "UnsupportedError",
    "__version__",
    "build",
    "library",
]


def __getattr__(name: str) -> Any:
    if name == "build":
        return _lib.BUILD
    if name == "library":
        return _lib.PATH
    raise AttributeError("module 'thinwire' has no attribute %r" % name)
