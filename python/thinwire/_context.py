# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_context.py - the context of this process, and the way from a status to an exception with its line.

There is one context for all codecs and communicators. Lines of level error do not go to stderr: they wait for the
exception that the failing call raises. Most are logged inside that call, by its thread; the library's own thread
(THINWIRE_PROGRESS=thread) has no Python frame below the log function, and its lines are for whoever fails next.
"""
import collections
import ctypes
import sys
import threading
from typing import Deque, Optional

from thinwire import _c
from thinwire._library import lib
from thinwire.errors import BY_STATUS, Error

_WORDS = {_c.LOG_ERROR: "error", _c.LOG_WARN: "warning", _c.LOG_INFO: "info", _c.LOG_DEBUG: "debug"}
_KEPT = 16

_lock = threading.Lock()
_context: Optional[int] = None
_of_thread = threading.local()
_of_library: Deque[str] = collections.deque(maxlen=_KEPT)


def _lines() -> Deque[str]:
    lines: Optional[Deque[str]] = getattr(_of_thread, "lines", None)
    if lines is None:
        lines = _of_thread.lines = collections.deque(maxlen=_KEPT)
    return lines


@_c.LOG_FUNCTION
def _log(_, level, rank, line):  # type: ignore[no-untyped-def]  # called by the library
    text = line.decode(errors="replace")
    if level == _c.LOG_ERROR:
        (_lines() if sys._getframe().f_back is not None else _of_library).append(text)
    elif sys.stderr is not None:
        where = "rank %d: " % rank if rank >= 0 else ""
        sys.stderr.write("thinwire: %s%s: %s\n" % (where, _WORDS.get(level, "trace"), text))


def error(status: int, what: str) -> Error:
    """The exception for a status that `what` returned, with the lines that were logged since the last one."""
    lines = _lines() or _of_library
    text = "; ".join(lines) or lib.tw_status_text(status).decode()
    lines.clear()
    kind = BY_STATUS.get(status, Error)
    return kind(text if text.startswith(what) else what + ": " + text)


def context() -> int:
    """The tw_context_t of this process, made when first asked for; it lives as long as the process."""
    global _context
    with _lock:
        if _context is None:
            pointer = ctypes.c_void_p()
            status = lib.tw_context_create(ctypes.byref(pointer))
            if status:  # the library has no log function yet
                raise error(status, "the environment (a line on stderr says which variable)")
            lib.tw_context_set_log(pointer, _log, None)
            _context = pointer.value
    return _context  # type: ignore[return-value]
