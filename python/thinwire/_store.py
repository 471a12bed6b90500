# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_store.py - a store of Python's, such as torch.distributed's, for tw_comm_create_store()."""
import ctypes
import datetime
from typing import Any, Optional

from thinwire import _c
from thinwire._context import context, error
from thinwire._library import lib, without_mpi
from thinwire.errors import InvalidTypeError


class _Store:
    """The functions that the library calls; a failure of the store's stays in `failure`."""

    def __init__(self, store: Any) -> None:
        self.failure: Optional[BaseException] = None
        self._store = store
        self.functions = _c.Store(None, _c.STORE_PUT(self._put), _c.STORE_GET(self._get))

    def _put(self, _: Any, key: bytes, data: int, size: int) -> int:
        try:
            self._store.set(key.decode(), ctypes.string_at(data, size))
        except BaseException as failure:
            self.failure = failure
            return 1
        return 0

    def _get(self, _: Any, key: bytes, data: int, size: int, seconds: float) -> int:
        try:
            if seconds > 0 and hasattr(self._store, "wait"):
                self._store.wait([key.decode()], datetime.timedelta(seconds=seconds))
            found = bytes(self._store.get(key.decode()))
        except BaseException as failure:
            self.failure = failure
            return 1
        if len(found) != size:
            return 1
        ctypes.memmove(data, found, size)
        return 0


def _host(store: Any) -> Optional[str]:
    """Where a TCPStore of torch.distributed's is, also below PrefixStores; None: another store."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    found = getattr(store, "host", None)
    return found if isinstance(found, str) and found else None


def create(store: Any, rank: int, size: int, name: str, towards: Optional[str]) -> Optional[int]:
    """The tw_comm_t of Comm.from_store()."""
    for what in ("set", "get"):
        if not callable(getattr(store, what, None)):
            raise InvalidTypeError(
                "store is of type %s; accepted: one with set(key, bytes) and get(key)" % type(store).__name__
            )
    without_mpi()
    pointer, given = ctypes.c_void_p(), _Store(store)
    host = towards or _host(store)
    status = lib.tw_comm_create_store(
        context(),
        rank,
        size,
        ctypes.byref(given.functions),
        name.encode(),
        host.encode() if host else None,
        ctypes.byref(pointer),
    )
    if isinstance(given.failure, Exception) or given.failure is None:
        if status:
            raise error(status, "communicator") from given.failure
    else:
        raise given.failure  # KeyboardInterrupt
    return pointer.value
