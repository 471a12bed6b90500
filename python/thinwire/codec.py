# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/codec.py - codecs: numbers to bytes and back, at a fixed rate. Needs no MPI."""
import ctypes
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

from thinwire import _c
from thinwire._buffers import (
    DTYPES,
    LOSSLESS,
    OCTETS,
    RESIDUALS,
    Place,
    dtype_number,
    elements,
    new,
    new_octets,
    octets,
    same_memory,
    size_of,
)
from thinwire._context import context, error
from thinwire._library import lib
from thinwire.errors import BY_STATUS, Error, InvalidArgumentError, InvalidTypeError

_WHY = 256  # bytes for the line that says what is wrong with a spec


class Traits(NamedTuple):
    """Facts about a codec; max_error is the bound of one encoding, see tw_codec_traits_t in thinwire/codec.h."""

    name: str  # what the spec begins with: "tree8"
    isa: str  # instruction set of the kernels in use: "scalar", "avx2", ...
    id: int
    dtype: str  # "float32", "float64", "bfloat16" or "float16"
    block: int  # values per block; 1 where there are no blocks
    bytes: float  # bytes per value of a long array
    lossless: bool
    feedback: bool  # training wants error feedback with it
    max_error: float  # part of the block's, or the value's, magnitude; inf: no bound
    identity: bool  # codes are the elements' own bytes
    chooses: bool  # auto, abs: collectives choose a codec


class Codec:
    """A codec, by its spec: "tree8", "bitpack:2", "onebit:block=4096"; see thinwire(7).

    spec   the short form, as on command lines; `codec.spec` has all options written out.
    dtype  "float32"; "float64", for which only bitpack:1 to bitpack:8 and int:B exist; "bfloat16" or "float16", for which
           bf16 or fp16 (as they are) and codecs of less than 2 bytes per value exist.

    Raises SpecError, whose text names the bad part and what is accepted. Safe from any thread. Codecs are kept by
    their spec until the program ends, so making the same one again costs nothing.
    """

    __slots__ = ("spec", "dtype", "_pointer", "_number", "_sizes", "_exec", "__weakref__")

    def __init__(self, spec: str, dtype: Any = "float32") -> None:
        number = dtype_number(dtype)
        if not isinstance(spec, str):
            raise InvalidTypeError("a codec is named by a str such as 'tree8', not by a %s" % type(spec).__name__)
        pointer = _pointers.get((spec, number)) or _create(spec, number)
        self._pointer: int = pointer
        self._number: int = number
        self._sizes: Tuple[int, int] = (0, 0)
        self.dtype: str = DTYPES[number]
        self.spec: str = lib.tw_codec_spec(pointer).decode()

    def __reduce__(self) -> Tuple[Any, ...]:  # another process has another library's codec
        return Codec, (self.spec, self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codec) and other._pointer == self._pointer

    def __hash__(self) -> int:
        return hash(self._pointer)

    def __repr__(self) -> str:
        return "thinwire.Codec(%r, %r)" % (self.spec, self.dtype)

    @property
    def traits(self) -> Traits:
        """Facts about it; the same on all ranks, but for isa."""
        found = _c.CodecTraits()
        lib.tw_codec_traits(self._pointer, ctypes.byref(found))
        return Traits(
            name=found.name.decode(),
            isa=found.isa.decode(),
            id=found.id,
            dtype=self.dtype,
            block=found.block,
            bytes=found.bytes,
            lossless=bool(found.lossless),
            feedback=bool(found.feedback),
            max_error=found.max_error,
            identity=bool(found.identity),
            chooses=bool(found.chooses),
        )

    def size(self, n: int) -> int:
        """Bytes that n values take, a function of n alone."""
        n = size_of(n, "n")
        last = self._sizes
        if last[0] == n:
            return last[1]
        found = ctypes.c_size_t()
        status = lib.tw_codec_size(self._pointer, n, ctypes.byref(found))
        if status:
            raise error(status, "size of %s values as %s" % (n, self.spec))
        self._sizes = (n, found.value)
        return found.value

    def encode(self, x: Any, *, out: Any = None, residual: Any = None) -> Any:
        """The codes of x: a new array of uint8, or out.

        x         contiguous elements of the codec's dtype, any shape.
        out       size(x.size) bytes, not shared with x; returned.
        residual  as many elements as x, of its dtype or, for 16-bit ones, float32; zeros at first: what earlier
                  encodings lost is added to x, and what this one loses is left there (error feedback).
        On device memory the work is put on the array's stream and not waited for.
        """
        source, n, number, _, device, anchor = elements(x, "x")
        if number != self._number:
            raise _other_dtype("x", number, self)
        length = self.size(n)
        if out is None:
            out = new_octets(x, length, device)
        codes, room, _, _, place, kept = octets(out, "out", True)
        if room != length:
            raise InvalidArgumentError("out has %d bytes; %d values as %s take %d" % (room, n, self.spec, length))
        if device is not place:
            same_memory(device, place, "x", "out")
        if residual is None:
            status = lib.tw_codec_encode(self._pointer, None if device is None else _exec(device), source, n, codes)
        else:
            left, m, other, _, place, held = elements(residual, "residual", True)
            if other != RESIDUALS[number] or m != n:
                raise InvalidArgumentError(
                    "residual must be of %s and have as many elements as x (%d)" % (DTYPES[RESIDUALS[number]], n)
                )
            same_memory(device, place, "x", "residual")
            status = lib.tw_codec_encode_feedback(self._pointer, _exec(device), source, n, left, codes)
        if status:
            raise _failed(status, "encode", self)
        return out

    def decode(self, codes: Any, n: int, *, out: Any = None) -> Any:
        """The n values that codes (size(n) bytes, of any content) stand for: a new array of one axis, or out, which
        may have any shape of n elements."""
        n = size_of(n, "n")
        source, length, _, _, device, anchor = octets(codes, "codes")
        if length != self.size(n):
            raise InvalidArgumentError(
                "codes has %d bytes; %d values as %s take %d" % (length, n, self.spec, self.size(n))
            )
        if out is None:
            out = new(codes, n, self._number, device)
        target, m, number, _, place, kept = elements(out, "out", True)
        if number != self._number:
            raise _other_dtype("out", number, self)
        if m != n:
            raise InvalidArgumentError("out has %d elements, not %d" % (m, n))
        if device is not place:
            same_memory(device, place, "codes", "out")
        status = lib.tw_codec_decode(self._pointer, None if device is None else _exec(device), source, n, target)
        if status:
            raise _failed(status, "decode", self)
        return out


_pointers: Dict[Tuple[str, int], int] = {}


def _create(spec: str, number: int) -> int:
    pointer = ctypes.c_void_p()
    why = ctypes.create_string_buffer(_WHY)
    text = spec.replace("\0", "?").encode(errors="replace")
    status = lib.tw_codec_create(context(), text, number, ctypes.byref(pointer), why, _WHY)
    if status:
        raise BY_STATUS.get(status, Error)(why.value.decode(errors="replace") or "codec '%s'" % spec)
    # Two threads may both have made it: the first stays, the other is never used.
    return _pointers.setdefault((spec, number), pointer.value or 0)


def find(codec: Union[str, Codec, None], number: int) -> Optional[int]:
    """The tw_codec_t for elements of a dtype; of nothing: one that loses nothing."""
    if codec is None:
        if number == OCTETS:
            return int(lib.tw_codec_bytes())
        return None if number == _c.F32 else Codec(LOSSLESS[number], DTYPES[number])._pointer
    if isinstance(codec, Codec):
        if codec._number != number:
            raise _other_dtype("x", number, codec)
        return codec._pointer
    return Codec(codec, DTYPES[number])._pointer


def _other_dtype(name: str, number: int, codec: Codec) -> Error:
    return InvalidTypeError("%s holds %s, the codec %s is of %s" % (name, DTYPES[number], codec.spec, codec.dtype))


def _exec(device: Optional[Place]) -> Any:
    return None if device is None else ctypes.byref(_c.Exec(_c.MEMORY_CUDA, device.stream, 0))


def _failed(status: int, what: str, codec: Codec) -> Error:
    if status == _c.Status.ERR_INVALID_ARG:
        return InvalidArgumentError("%s by %s: buffers overlap, or are not memory of this kind" % (what, codec.spec))
    return error(status, "%s by %s" % (what, codec.spec))
