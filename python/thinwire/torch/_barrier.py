# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_barrier.py - the barrier of the backend "thinwire" whose first rank names those that are missing."""
import datetime
import functools
import time
from typing import Any

import torch

from thinwire.messages import TAGS
from thinwire.torch._work import Message

TAG = TAGS - 1  # of monitored_barrier(): no other message has it
_SHORT = 0.05  # seconds


class Monitored:
    """Of Methods (_collectives.py), whose attributes it uses."""

    _rank: int
    _size: int
    _comm: Any
    _worker: Any

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
                wait(self._comm.isend(token, 0, tag=TAG))
                wait(self._comm.irecv(token, 0, tag=TAG))
            except RuntimeError as error:
                said = "Rank %d successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0"
                raise RuntimeError("%s in %d ms: %s" % (said % self._rank, round(1e3 * whole), error)) from None
            return
        if whole <= 0:
            raise RuntimeError("Rank 0 timed out in monitoredBarrier after 0 ms")
        missing = []
        for rank in range(1, self._size):
            try:
                wait(self._comm.irecv(token, rank, tag=TAG))
            except RuntimeError:
                missing.append(rank)
                if not wait_all_ranks:
                    break
        if missing:
            who = "Ranks " + ", ".join(map(str, missing)) if wait_all_ranks else "Rank %d" % missing[0]
            raise RuntimeError("%s failed to pass monitoredBarrier in %d ms" % (who, round(1e3 * whole)))
        for rank in range(1, self._size):
            wait(self._comm.isend(token, rank, tag=TAG))

    def _token(self, end: float, message: Any) -> None:
        left = max(end - time.monotonic(), _SHORT)  # who has come already is heard all the same
        work = Message(self._worker, "monitoredBarrier", torch.zeros(0), message, lambda: None)
        work.wait(datetime.timedelta(seconds=left))
