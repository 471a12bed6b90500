# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/messages.py - messages of bytes between two ranks; see thinwire/message.h."""
import ctypes
from typing import Any, Optional

from thinwire import _c
from thinwire._library import lib

ANY_RANK = _c.ANY_RANK
TAGS = _c.MESSAGE_TAGS  # tags are 0 .. TAGS - 1


class Message:
    """A message that Comm.isend() or Comm.irecv() has started. Its array must be left alone until it is complete."""

    __slots__ = ("_comm", "_pointer", "_anchor", "_peer", "_what")

    def __init__(self, comm: Any, what: str, pointer: ctypes.c_void_p, anchor: Any) -> None:
        self._comm, self._what, self._pointer, self._anchor = comm, what, pointer, anchor
        self._peer: Optional[int] = None
        comm._running.add(self)

    def test(self) -> Optional[int]:
        """Advance it without blocking; the other rank once it is complete, None before."""
        if self._peer is None:
            done, peer = ctypes.c_int(), ctypes.c_int()
            status = lib.tw_message_test(ctypes.addressof(self._pointer), ctypes.byref(done), ctypes.byref(peer))
            if status:
                self._comm._running.discard(self)
                raise self._comm._lost(status, self._what, self._anchor, True)
            if done.value:
                self._comm._running.discard(self)
                self._peer, self._anchor = peer.value, None
        return self._peer
