# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/requests.py - operations under way: requests, which end when they are complete, and plans, which are
started again and again.

Arrays, codec and feedback of an operation are held here until it is complete, and the operation itself by its
communicator, so nothing is lost where a program drops a request.
"""
import ctypes
import math
from typing import Any, Optional

from thinwire._context import error
from thinwire._library import lib
from thinwire.errors import Error, InvalidArgumentError, InvalidTypeError

_LONGEST = 2**31 - 1  # milliseconds


def seconds(x: Any, name: str) -> float:
    """An argument called `name` that says how long to wait."""
    try:
        found = float(x)
    except (TypeError, ValueError):
        raise InvalidTypeError("%s is of type %s; accepted: a number of seconds" % (name, type(x).__name__)) from None
    except OverflowError:
        found = math.nan
    if math.isnan(found):
        raise InvalidArgumentError("%s is no number, or none that a float holds; accepted: seconds" % name)
    return found


class _Operation:
    __slots__ = ("result", "_comm", "_pointer", "_address", "_what", "_anchors", "_error", "__weakref__")

    def __init__(self, comm: Any, what: str, pointer: ctypes.c_void_p, anchors: Any, result: Any) -> None:
        self.result: Any = result
        self._comm = comm
        self._pointer = pointer
        self._address = ctypes.addressof(pointer)
        self._what = what
        self._anchors = anchors
        self._error: Optional[Error] = None

    @property
    def running(self) -> bool:
        """Whether it was started, and neither wait() nor test() has said that it is complete."""
        return self in self._comm._running

    def wait(self) -> Any:
        """Wait until it is complete; the result: the array that was given as out, or the new one. None where this
        rank gets nothing. Complete already: at once."""
        if self._error is not None:
            raise self._error
        if self in self._comm._running:
            self._end(lib.tw_wait(self._address))
        return self.result

    def test(self, timeout: float = 0.0) -> bool:
        """Advance it without blocking, or wait so many seconds at most; whether it is complete, and the result there.
        While one thread waits here and Comm.start_progress() was called, others may start operations."""
        if self._error is not None:
            raise self._error
        if self in self._comm._running:
            done, limit = ctypes.c_int(), seconds(timeout, "timeout")
            status = self._wait_for(int(min(1e3 * limit + 1, _LONGEST)) if limit > 0.0 else 0, ctypes.byref(done))
            if status or done.value:
                self._end(status)
            return bool(done.value)
        return True

    def _wait_for(self, milliseconds: int, done: Any) -> int:
        return int(lib.tw_wait_for(self._address, milliseconds, done))

    def _begin(self) -> None:
        self._comm._running.add(self)

    def _end(self, status: int) -> None:
        self._comm._running.discard(self)
        if status:
            self._error = self._comm._lost(status, self._what, self._anchors, True)
            raise self._error


class Request(_Operation):
    """A nonblocking collective, which Comm.iallreduce() and others have started. Complete it by wait() or test();
    until then its arrays must be left alone. `result` is the array that will hold the result."""

    __slots__ = ()

    def _end(self, status: int) -> None:
        super()._end(status)
        self._anchors = None


class Buckets(Request):
    """What tw_buckets_start() has started: several tensors, by one request."""

    __slots__ = ()

    def _wait_for(self, milliseconds: int, done: Any) -> int:
        return int(lib.tw_buckets_wait_for(self._address, milliseconds, done))

    def wait(self) -> Any:
        """As of Request."""
        while not self.test(_LONGEST / 1e3):
            pass
        return self.result


class Plan(_Operation):
    """A collective that is started as often as wanted, with the same arrays, whose contents may change in between:

        plan = comm.allreduce_init(gradient, "onebit", op="average", out=gradient)
        for ...:
            plan.start()
            plan.wait()

    plan() is start() and wait(). All ranks make, start and free the same plans in the same order.
    """

    __slots__ = ()

    def start(self) -> "Plan":
        """Start it; BusyError while it is running. Its arrays must be left alone until it is complete."""
        status = lib.tw_start(self._held())
        if status:
            raise error(status, self._what)
        self._error = None
        self._begin()
        return self

    def __call__(self) -> Any:
        """Start it and wait; the result, as of wait()."""
        return self.start().wait()

    @property
    def algorithm(self) -> str:
        """The algorithm that was chosen: "direct", "two_pass", "node", ..., "mpi" for MPI's own collective."""
        name: bytes = lib.tw_request_algorithm(self._held())
        return name.decode()

    @property
    def codec(self) -> str:
        """The full spec of the codec: what was chosen for "auto"."""
        spec: bytes = lib.tw_request_codec(self._held())
        return spec.decode()

    def free(self) -> None:
        """Release it, which must not be running; a plan that is dropped is released by its communicator later."""
        if self._pointer.value:
            status = lib.tw_request_free(self._address)
            if status:
                raise error(status, self._what)
            self._anchors = None

    def __enter__(self) -> "Plan":
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is None:
            self.free()

    def __del__(self) -> None:
        # Any thread may come here; the communicator releases it in a call of its own.
        if self._pointer.value:
            self._comm._dropped_plans.append((self._pointer, self._anchors))

    def _held(self) -> int:
        if not self._pointer.value:
            raise InvalidArgumentError(self._what + ": the plan was freed")
        return self._pointer.value
