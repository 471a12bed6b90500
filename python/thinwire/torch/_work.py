# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_work.py - what collectives and messages of the backend return, and what runs a group's collectives in
the order of the calls: its thread, or the caller, where that waits at once and nothing is before it.
"""
import datetime
import queue
import threading
import time
from typing import Any, Callable, List, Optional, Sequence

import torch
from torch._C._distributed_c10d import Work as _TorchWork

from thinwire.errors import TimeLimitError

_LOOK = 0.3  # seconds between two looks of Python: at signals, and whether the group failed elsewhere
_LATER = 0.2  # seconds after its limit the library, which names the ranks that it waits for, should have given up
_NAP_FIRST, _NAP_MOST = 2e-5, 1e-3  # seconds, of one who waits for a message


def seconds(limit: Any, otherwise: float) -> float:
    """Of a timedelta, where 0 and less mean: as otherwise."""
    found = limit.total_seconds() if isinstance(limit, datetime.timedelta) else 0.0
    return found if found > 0 else otherwise


def failure(error: BaseException) -> RuntimeError:
    """As torch.distributed raises it."""
    if isinstance(error, RuntimeError) and type(error) is RuntimeError:
        return error
    late = "Timed out - " if isinstance(error, TimeLimitError) else ""  # a word that programs look for
    return RuntimeError("thinwire: %s: %s%s" % (type(error).__name__, late, error))


class Work(_TorchWork):  # type: ignore[misc]
    """A collective that waits for its turn or runs."""

    def __init__(self, what: str, tensors: Sequence[Any]) -> None:
        super().__init__()
        self.what, self._tensors = what, list(tensors)
        self._done, self._error = threading.Event(), None  # type: Any, Optional[RuntimeError]
        self._over = False  # the future, if there is one, is complete, or is being completed
        self._by: Any = None  # the thread that completed it, in which what is chained to the future runs
        self.runner: Any = None  # the thread in which it has its turn
        self._future: Any = None  # nobody has asked for it
        self._once = threading.Lock()

    def conclude(self, error: Optional[RuntimeError]) -> None:
        """Complete the future, if somebody has asked for it: what is chained to it runs here. Later nothing changes."""
        with self._once:  # of those that wait, and of the thread that completes the future
            if self._over:
                return
            self._error, self._over, asked = error, True, self._future is not None
            self._by = threading.current_thread()
        if asked:
            self._complete_future()

    def end(self, error: Optional[RuntimeError] = None) -> None:
        """The first time; later nothing changes."""
        self.conclude(error)
        self._done.set()

    def _complete_future(self) -> None:
        if self._error is None:
            self._future.set_result(self._tensors)
        else:
            self._future.set_exception(self._error)

    def wait(self, timeout: Any = None) -> bool:
        limit, here = seconds(timeout, 0.0), threading.current_thread()
        if here is self.runner and not self._over:
            raise RuntimeError(
                "thinwire: %s: waited for in what is chained to one before it; accepted: those that it starts" % self.what
            )
        if here is not self._by and not self._done.wait(limit or None):
            raise RuntimeError("thinwire: %s: Timed out after %d ms" % (self.what, round(1e3 * limit)))
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._done.is_set() or self._by is threading.current_thread()

    def is_success(self) -> bool:
        return self._done.is_set() and self._error is None

    def exception(self) -> Optional[RuntimeError]:
        return self._error

    def get_future(self) -> Any:
        with self._once:
            asked, over = self._future is not None, self._over
            if not asked:
                self._future = torch.futures.Future()
        if over and not asked:
            self._complete_future()
        return self._future

    def result(self) -> List[Any]:
        return self._tensors

    def source_rank(self) -> int:
        return -1

    _source_rank = source_rank


class _Polled(Work):
    """One that somebody has to wait for, or its future is never complete."""

    def get_future(self) -> Any:
        if not self._done.is_set():
            threading.Thread(target=self._complete, daemon=True).start()
        return super().get_future()

    def _complete(self) -> None:
        try:
            self.wait()
        except RuntimeError as error:
            self.end(error)


class All(_Polled):
    """Several that were started together."""

    def __init__(self, works: Sequence[Any]) -> None:
        super().__init__("coalesced", [tensor for work in works for tensor in work.result()])
        self._works = list(works)

    def wait(self, timeout: Any = None) -> bool:
        try:
            for work in self._works:
                work.wait(timeout)
        except RuntimeError as error:
            self.end(error)
            raise
        self.end()
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)


class Message(_Polled):
    """A message between two ranks; `finish` is called once it is there."""

    def __init__(self, group: Any, what: str, tensor: Any, message: Any, finish: Callable[[], None]) -> None:
        super().__init__(what, [tensor])
        self._group, self._message, self._finish, self._peer = group, message, finish, -1
        self._gate = threading.Lock()

    def is_completed(self) -> bool:
        with self._gate:
            if self._done.is_set():
                return True
            self._group.look()
            try:
                peer = self._message.test()
            except Exception as error:
                self.end(failure(error))
                return True
            if peer is None:
                return False
            self._peer = peer
            self._finish()
            self.end()
            return True

    def wait(self, timeout: Any = None) -> bool:
        limit = seconds(timeout, self._group.limit)
        end, nap = time.monotonic() + limit, _NAP_FIRST
        while not self.is_completed():
            if time.monotonic() > end:
                raise RuntimeError("thinwire: %s: Timed out after %d ms" % (self.what, round(1e3 * limit)))
            time.sleep(nap)
            nap = min(2 * nap, _NAP_MOST)
        if self._error is not None:
            raise self._error
        return True

    def source_rank(self) -> int:
        return self._peer

    _source_rank = source_rank


def _destroyed() -> RuntimeError:
    return RuntimeError("thinwire: the process group was destroyed")


class Worker:
    """Runs functions one after another. The first that fails, or lasts too long, is the last: what comes after fails at
    once, since other ranks may be elsewhere. `tell` is called with the limit of the next where it is another one."""

    def __init__(self, limit: float, tell: Callable[[float], None]) -> None:
        self.limit = limit  # seconds
        self.error: Optional[RuntimeError] = None
        self._tell = tell
        self._end, self._limit, self._what = 0.0, 0.0, ""  # of what runs
        self._queue: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._gate, self._left = threading.Lock(), 0  # what has not run to its end, and who changes that
        self._turn = threading.Lock()  # of what runs
        self._closed = False  # nothing is taken any more
        self._thread = threading.Thread(target=self._main, name="thinwire", daemon=True)
        self._thread.start()

    def submit(self, what: str, function: Callable[[], None], tensors: Sequence[Any], limit: float, here: bool) -> Work:
        """here: the caller waits for it at once, and may as well run it. What is chained to the future of a work that has
        just run in the thread comes at once, before all that waits: so on every rank, and it may wait for it."""
        work = Work(what, tensors)
        work.runner = self._thread
        self.look()
        if threading.current_thread() is self._thread:
            self._perform(work, function, limit)
            work.end()
            return work
        with self._gate:
            if self._closed:
                raise _destroyed()
            here = here and self._left == 0
            self._left += 1
            if here:
                self._turn.acquire()
            else:
                self._queue.put((work, function, limit))
        if here:
            self._run(work, function, limit)
        return work

    def look(self) -> None:
        if self.error is not None:
            raise self.error

    def wait(self, request: Any) -> Any:
        """For functions that run here: the result of a request, within the limit."""
        while not request.test(min(_LOOK, max(self._end - time.monotonic(), 0.0))):
            self.look()
            if time.monotonic() >= self._end:
                raise RuntimeError("thinwire: %s: Timed out after %d ms" % (self._what, round(1e3 * self._limit)))
        return request.result

    def stop(self) -> bool:
        """Whether all that was submitted has run."""
        with self._gate:
            self._closed = True
            self._queue.put(None)
        self._thread.join(self.limit)
        well = self.error is None and self._left == 0
        self.error = self.error or _destroyed()
        return well

    def abort(self, error: RuntimeError) -> None:
        self.error = self.error or error

    def _main(self) -> None:
        while True:
            item = self._queue.get()
            if item is None:
                return
            self._turn.acquire()
            self._run(*item)
            del item  # tensors are not kept until the next one comes

    def _run(self, work: Work, function: Callable[[], None], limit: float) -> None:
        """In its turn, which ends with it."""
        try:
            self._perform(work, function, limit)
        finally:
            with self._gate:
                self._left -= 1
            self._turn.release()
            work.end()

    def _perform(self, work: Work, function: Callable[[], None], limit: float) -> None:
        self._what, self._end = work.what, time.monotonic() + limit + _LATER
        error = None
        try:
            self.look()
            if limit != self._limit:
                self._tell(limit)
            self._limit = limit
            function()
        except BaseException as caught:
            error = self.error = self.error or failure(caught)
            if not isinstance(caught, Exception):  # for the program
                raise
        finally:
            work.conclude(error)
