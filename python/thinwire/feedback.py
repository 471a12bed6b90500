# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/feedback.py - error feedback: what an encoding lost is added to the next one (Seide et al. 2014)."""
import ctypes
import struct
from typing import Any, Dict, Optional

import numpy

from thinwire import _c
from thinwire._buffers import DTYPES, ITEM, RESIDUALS, dtype_number, size_of
from thinwire._library import lib
from thinwire.errors import FormatError, InvalidArgumentError, InvalidTypeError

_HEADER, _RANK, _CHECKSUM = 88, 16, 8  # bytes; docs/wire-format.md, "Feedback stream"
_USES = {"sum": _c.FEEDBACK_SUM, "average": _c.FEEDBACK_AVERAGE}

_libc = ctypes.CDLL(None)
_libc.open_memstream.restype = ctypes.c_void_p
_libc.open_memstream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_libc.fmemopen.restype = ctypes.c_void_p
_libc.fmemopen.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
_libc.fclose.argtypes = [ctypes.c_void_p]
_libc.free.argtypes = [ctypes.c_void_p]


def _tail(text: bytes, item: int) -> int:
    """How many bytes follow a state whose elements have `item` bytes, where one begins a string. A library that reads
    streams leaves them for others; of what is cut off it finds that out itself."""
    try:
        ranks, count = struct.unpack_from("<IQ", text, 12)
        end = _HEADER
        for _ in range(ranks):
            end += _RANK + item * (count + struct.unpack_from("<QQ", text, end)[1])
    except (struct.error, OverflowError):
        return 0
    return max(0, len(text) - end - _CHECKSUM)


class Feedback:
    """The residuals of one tensor, for reductions of `count` elements with a codec that loses something.

        residual = comm.feedback("layer1.weight", gradient.size)
        comm.allreduce(gradient, "onebit", op="average", out=gradient, feedback=residual)

    Made by Comm.feedback(), on all ranks. It holds two vectors of count elements, in units of the sum; where the
    arrays are on the device, so are these. One operation at a time may use it.
    """

    __slots__ = ("name", "count", "dtype", "_comm", "_pointer", "_number", "_hows", "__weakref__")

    def __init__(self, comm: Any, name: str, count: int, dtype: Any = "float32") -> None:
        self._pointer: Optional[int] = None
        number = RESIDUALS[dtype_number(dtype)]
        if not isinstance(name, str):
            raise InvalidTypeError("a feedback is named by a str, not by a %s" % type(name).__name__)
        count = size_of(count, "count")
        pointer = ctypes.c_void_p()
        title = name.encode(errors="replace") if "\0" not in name else b""
        status = lib.tw_feedback_create(comm._pointer, title, number, count, ctypes.byref(pointer))
        if status == _c.Status.ERR_INVALID_ARG and comm._pointer is not None:
            raise InvalidArgumentError("feedback %r; accepted: 1 to 63 printable characters without blanks" % name)
        if status:
            raise comm._error(status, "feedback '%s'" % name)
        self.name: str = name
        self.count: int = count
        self.dtype: str = DTYPES[number]
        self._comm = comm
        self._pointer = pointer.value
        self._number: int = number
        self._hows: Dict[Any, Any] = {}

    def __repr__(self) -> str:
        return "thinwire.Feedback(%r, %d, %r)" % (self.name, self.count, self.dtype)

    def clear(self) -> None:
        """Set the residuals to zero; on all ranks, to be of use. BusyError while an operation uses it."""
        self._must(lib.tw_feedback_clear(self._held()))

    def norm(self) -> float:
        """Euclidean norm of the residual that the ranks hold together; the same on every rank. Collective."""
        found = ctypes.c_double()
        self._must(lib.tw_feedback_norm(self._held(), ctypes.byref(found)))
        return found.value

    def read(self) -> Any:
        """This rank's residual: a new NumPy array of count elements. Local."""
        out = numpy.empty(self.count, DTYPES[self._number])
        self._must(lib.tw_feedback_read(self._held(), out.ctypes.data))
        return out

    def state_dict(self) -> Dict[str, Any]:
        """Name, count, dtype and the residuals of all ranks, these as bytes on rank 0 and as None elsewhere: what a
        checkpoint needs that rank 0 writes. Collective."""
        text, length = ctypes.c_void_p(), ctypes.c_size_t()
        stream, residuals = None, None
        pointer = self._held()
        if self._comm.rank == 0:
            stream = _libc.open_memstream(ctypes.byref(text), ctypes.byref(length))
        status = lib.tw_feedback_save(pointer, stream)
        if stream is not None:
            _libc.fclose(stream)  # which sets text and length
            try:
                if status == 0 and text.value:  # string_at() takes lengths of an int alone
                    residuals = (ctypes.c_char * length.value).from_address(text.value).raw
            finally:
                _libc.free(text)
        self._must(status)
        return {"name": self.name, "count": self.count, "dtype": self.dtype, "residuals": residuals}

    def load_state_dict(self, state: Dict[str, Any], use: str = "sum") -> None:
        """Take back what state_dict() gave, on any number of ranks; only rank 0's residuals count, and only they need
        be there. On another number of ranks than then, use="sum" keeps the sum of the residuals over the ranks,
        "average" the pending average. FormatError, on all ranks and with nothing changed: of another name, dtype or
        count, or damaged. Collective."""
        if use not in _USES:
            raise InvalidArgumentError("use is %r; accepted: 'sum', 'average'" % (use,))
        pointer, stream, text, tail = self._held(), None, b"", 0
        if self._comm.rank == 0:
            residuals = state.get("residuals") if isinstance(state, dict) else None
            # A stream of nothing is refused by the library, on all ranks.
            text = bytes(residuals) if isinstance(residuals, (bytes, bytearray, memoryview)) else b""
            tail = _tail(text, ITEM[self._number])
            text = b"" if tail else text
            stream = _libc.fmemopen(text or b"\0", max(len(text), 1), b"rb")
        status = lib.tw_feedback_restore(pointer, stream, _USES[use])
        if stream is not None:
            _libc.fclose(stream)
        if tail and status == _c.Status.ERR_FORMAT:
            self._comm._error(status, "")  # its line is of a stream of nothing
            raise FormatError("feedback '%s': %d bytes follow the end of the state" % (self.name, tail))
        self._must(status)

    def free(self) -> None:
        """Release it; no operation or plan may use it any more. Local. One that is dropped is released by its
        communicator later."""
        if self._pointer is not None:
            lib.tw_feedback_destroy(self._pointer)
            self._pointer = None
            self._hows.clear()

    def __del__(self) -> None:
        # Any thread may come here; the communicator releases it in a call of its own.
        if self._pointer is not None:
            self._comm._dropped_feedbacks.append(self._pointer)

    def _held(self) -> int:
        if self._pointer is None:
            raise InvalidArgumentError("feedback '%s' was freed" % self.name)
        return self._pointer

    def _hows_of(self, comm: Any) -> Dict[Any, Any]:
        if self._comm is not comm:
            raise InvalidArgumentError("feedback '%s' is of another communicator" % self.name)
        self._held()
        return self._hows

    def _must(self, status: int) -> None:
        if status:
            raise self._comm._error(status, "feedback '%s'" % self.name)
