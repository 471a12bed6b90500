# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_messages.py - messages between two ranks of the backend "thinwire", and the barrier that they make,
whose first rank names those that are missing.
"""
import datetime
import functools
import time
from typing import Any

import torch

from thinwire.messages import ANY_RANK, TAGS
from thinwire.torch._bytes import compact, store
from thinwire.torch._work import Message

_BARRIER_TAG = TAGS - 1  # of monitored_barrier()
_SHORT = 0.05  # seconds


class Messages:
    """Of Methods (_collectives.py), whose attributes it uses."""

    _rank: int
    _size: int
    _comm: Any
    _worker: Any

    def send(self, tensors: Any, rank: int, tag: int) -> Any:
        self._worker.look()
        vector = compact(tensors[0])
        message = self._comm.isend(vector, rank, tag=_tag(tag))
        return self._gathered(Message(self._worker, "send", tensors[0], message, lambda: None))

    def recv(self, tensors: Any, rank: int, tag: int) -> Any:
        self._worker.look()
        tensor = tensors[0]
        vector = compact(tensor) if tensor.is_contiguous() else torch.empty_like(compact(tensor))
        message = self._comm.irecv(vector, rank, tag=_tag(tag))
        return self._gathered(Message(self._worker, "recv", tensor, message, lambda: store(tensor, vector)))

    def recv_anysource(self, tensors: Any, tag: int) -> Any:
        return self.recv(tensors, ANY_RANK, tag)

    # ---- the barrier ------------------------------------------------------------------------------

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Rank 0 names who is missing, one or all of them; it lets the others go on when all are there. timeout: a
        timedelta, or options that have one. After a failure, whose messages stay posted, the group is of no more use."""
        self._worker.look()
        try:
            self._monitored_barrier(timeout, wait_all_ranks)
        except RuntimeError as error:
            self._worker.abort(error)
            raise

    def _monitored_barrier(self, timeout: Any, wait_all_ranks: bool) -> None:
        limit = getattr(timeout, "timeout", timeout)
        whole = self._worker.limit if limit is None else limit.total_seconds()
        end, token = time.monotonic() + whole, torch.zeros(1, dtype=torch.uint8)
        wait = functools.partial(self._token, end)
        if self._rank != 0:
            try:
                wait(self._comm.isend(token, 0, tag=_BARRIER_TAG))
                wait(self._comm.irecv(token, 0, tag=_BARRIER_TAG))
            except RuntimeError as error:
                said = "Rank %d successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0"
                raise RuntimeError("%s in %d ms: %s" % (said % self._rank, round(1e3 * whole), error)) from None
            return
        if whole <= 0:
            raise RuntimeError("Rank 0 timed out in monitoredBarrier after 0 ms")
        missing = []
        for rank in range(1, self._size):
            try:
                wait(self._comm.irecv(token, rank, tag=_BARRIER_TAG))
            except RuntimeError:
                missing.append(rank)
                if not wait_all_ranks:
                    break
        if missing:
            who = "Ranks " + ", ".join(map(str, missing)) if wait_all_ranks else "Rank %d" % missing[0]
            raise RuntimeError("%s failed to pass monitoredBarrier in %d ms" % (who, round(1e3 * whole)))
        for rank in range(1, self._size):
            wait(self._comm.isend(token, rank, tag=_BARRIER_TAG))

    def _token(self, end: float, message: Any) -> None:
        left = max(end - time.monotonic(), _SHORT)  # who has come already is heard all the same
        work = Message(self._worker, "monitoredBarrier", torch.zeros(0), message, lambda: None)
        work.wait(datetime.timedelta(seconds=left))


def _tag(tag: int) -> int:
    if not 0 <= tag < _BARRIER_TAG:
        raise ValueError("thinwire: tag %d; accepted: 0 to %d" % (tag, _BARRIER_TAG - 1))
    return tag
