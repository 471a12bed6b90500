# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/errors.py - an exception for each status of the library, and for a library that does not fit.

All are thinwire.Error. Where Python has a class for such an error it is a base as well, so `except ValueError` or
`except OSError` work. The text is one line: the library's own where it logged one, else what the status means.
"""
from typing import Dict, Optional, Type

from thinwire._c import Status


class Error(Exception):
    """Base of all that thinwire raises. `status` is the library's (a negative number), None where there is none."""

    status: Optional[Status] = None


class LibraryError(Error, ImportError):
    """libthinwire is not found, of another version, or of another MPI library than mpi4py."""


class InvalidArgumentError(Error, ValueError):
    """An argument is wrong; nothing was sent."""

    status = Status.ERR_INVALID_ARG


class InvalidTypeError(InvalidArgumentError, TypeError):
    """An argument, or its elements, are of a type that is not accepted; nothing was sent."""


class UnsupportedError(Error, NotImplementedError):
    """Not possible in this library, with this MPI, or on this machine: a codec for another dtype, device memory."""

    status = Status.ERR_UNSUPPORTED


class NoMemoryError(Error, MemoryError):
    """Memory is short, on this rank or another, of the host or a device."""

    status = Status.ERR_NO_MEMORY


class OutOfRangeError(Error, OverflowError):
    """A size or count is out of range: more than the library, or MPI, can count."""

    status = Status.ERR_RANGE


class SpecError(Error, ValueError):
    """The spec of a codec is malformed."""

    status = Status.ERR_SPEC


class SettingError(Error, ValueError):
    """A THINWIRE_ variable of the environment is malformed."""

    status = Status.ERR_SETTING


class MismatchError(Error, RuntimeError):
    """The ranks disagree: on a setting, or (THINWIRE_CHECK=1) on a call."""

    status = Status.ERR_MISMATCH


class MPIError(Error, RuntimeError):
    """An MPI call failed; the communicator is dead."""

    status = Status.ERR_MPI


class TimeLimitError(Error, TimeoutError):
    """Nothing moved for THINWIRE_TIMEOUT; the communicator is dead."""

    status = Status.ERR_TIMEOUT


class DeadError(Error, RuntimeError):
    """The communicator is dead after an earlier error."""

    status = Status.ERR_DEAD


class BusyError(Error, RuntimeError):
    """Something is still in use by an operation that is not complete."""

    status = Status.ERR_BUSY


class InputOutputError(Error, OSError):
    """A file that a setting names cannot be read or written, or a device failed."""

    status = Status.ERR_IO


class FormatError(Error, ValueError):
    """Not a valid file or state of this kind, or damaged."""

    status = Status.ERR_FORMAT


class NetworkError(Error, ConnectionError):
    """A peer cannot be reached."""

    status = Status.ERR_NETWORK


def _classes() -> Dict[int, Type[Error]]:
    found: Dict[int, Type[Error]] = {}
    for kind in Error.__subclasses__():
        if kind.status is not None:
            found[int(kind.status)] = kind
    return found


BY_STATUS = _classes()
